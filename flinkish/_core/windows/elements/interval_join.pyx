# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""The inner loop of an interval join; described in ``interval_join.pxd``."""

from libc.stdint cimport uint64_t

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.table cimport (
    NO_ROW, Cell, Entry, Table, cell_at, chain_next, entry_at, table_append, table_remove_entry,
)
from flinkish._core.windows.time_window cimport later
from flinkish._core.timers.timers cimport Timer
from flinkish._core.values.values cimport TAG_CHAIN, TAG_EMPTY, Encoded, bytes_of


cdef class JoinContext:
    """Flink's ProcessJoinFunction.Context: the times of the pair that is joined."""

    def get_left_timestamp(self):
        """Event time of the left element, ms."""
        return self.left

    def get_right_timestamp(self):
        """Event time of the right element, ms."""
        return self.right

    def get_timestamp(self):
        """Event time of the pair: the later of the two, ms."""
        return max(self.left, self.right)


cdef class JoinInput:
    """One input: the cell in which its elements are kept, and who may join them.

    A partner's event time minus that of an element of this input is from `lower` to `upper` (ms,
    both included).  Rows with the fields `names` are kept without them.
    """

    def __init__(self, uint32_t cell, int64_t lower, int64_t upper, late_tag=None, names=None):
        self.cell = cell
        self.values = WindowValues(names)
        self.late_tag = late_tag
        self.lower = lower
        self.upper = upper
        self.stay = max(upper, 0)


cdef class IntervalJoin(KeyedProcess):
    """Calls a ProcessJoinFunction for each pair, as soon as the later of the two has come.

    Parameters
    ----------
    table, timers, tag_type, event_domain, processing_domain: as for `KeyedProcess`.
    process_element: called with the left value, the right value and a context.
    left, right: the inputs, of which `right` sees the bounds of `left` mirrored.
    """

    def __init__(self, table, timers, process_element, type tag_type, event_domain,
                 processing_domain, JoinInput left not None, JoinInput right not None):
        super().__init__(table, timers, process_element, None, tag_type, event_domain,
                         processing_domain)
        for one in (left, right):
            self.table.check_cell((<JoinInput>one).cell)
        self.left = left
        self.right = right
        self.pair = JoinContext()

    cdef int call(self, object value, int64_t timestamp, bint timed) except -1:
        cdef JoinInput own = self.left if self.input == 1 else self.right
        cdef JoinInput other = self.right if self.input == 1 else self.left
        self.processed += 1
        self.context.time = timestamp
        self.context.timed = timed
        if not timed:
            raise self.table.illegal_argument(
                f"an interval join needs event time, and the element {value!r} of input "
                f"{self.input} has none: call assign_timestamps_and_watermarks on both streams"
            )
        if timestamp < self.table.watermark:
            self.late += 1
            if own.late_tag is None:
                self.dropped += 1
            else:
                self.collect([(own.late_tag, value)], timestamp, "process_element")
            self.context.timed = False
            return 0
        self.keep(own, value, timestamp)
        self.join(own, other, value, timestamp)
        self.timers.register(True, later(timestamp, own.stay), self.table.current)
        self.context.timed = False
        return 0

    cdef int keep(self, JoinInput own, object value, int64_t time) except -1:
        cdef Encoded out
        cdef object owner
        try:
            owner = own.values.encode(value, &out)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            raise self.table.unkeepable("a join", value, error) from error
        self.table.check_open()
        segment_raise(table_append(&self.table.table, self.table.current, own.cell, TAG_EMPTY, 0,
                                   b"", out.tag, out.size, out.data, time, NO_ROW))
        return 0

    cdef int join(self, JoinInput own, JoinInput other, object value, int64_t time) except -1:
        cdef Table* table = &self.table.table
        cdef Cell* head = cell_at(table, self.table.current, other.cell)
        cdef bint left = own is self.left
        cdef uint32_t at
        cdef Entry* entry
        cdef object partner, result
        if head.tag != TAG_CHAIN:
            return 0
        at = chain_next(table, head, NO_ROW)
        while at != NO_ROW:
            # The function may have state of its own, so the table may have moved; and other threads
            # run while it does.
            self.table.check_open()
            entry = entry_at(table, at)
            at = chain_next(table, head, at)
            if not within(entry.time, time, own.lower, own.upper):
                continue
            self.pair.left = time if left else entry.time
            self.pair.right = entry.time if left else time
            partner = other.values.decode(
                entry.tag, entry.size, bytes_of(entry.size, &entry.word, &table.slab))
            if left:
                result = self.process_element(value, partner, self.pair)
            else:
                result = self.process_element(partner, value, self.pair)
            if result is not None:
                self.collect(result, max(self.pair.left, self.pair.right), "process_element")
        return 0

    cdef int turn(self, Timer* timer, bint event) except -1:
        self.forget(self.left, timer.timestamp)
        self.forget(self.right, timer.timestamp)
        return 0

    cdef int forget(self, JoinInput own, int64_t time) except -1:
        """Let go of the elements that nothing at or before the watermark `time` can join."""
        cdef Table* table = &self.table.table
        cdef Cell* head = cell_at(table, self.table.current, own.cell)
        cdef uint32_t at, following
        if head.tag != TAG_CHAIN:
            return 0
        at = chain_next(table, head, NO_ROW)
        while at != NO_ROW:
            following = chain_next(table, head, at)
            if later(entry_at(table, at).time, own.stay) <= time:
                segment_raise(table_remove_entry(table, at))
            at = following
        return 0


cdef inline bint within(int64_t other, int64_t own, int64_t lower, int64_t upper) noexcept:
    """Whether other - own is from lower to upper; times may be of any 64 bits."""
    # Unsigned, since a difference of two times need not fit.
    cdef uint64_t apart
    if other >= own:
        apart = <uint64_t>other - <uint64_t>own
        return upper >= 0 and apart <= <uint64_t>upper and (lower <= 0 or apart >= <uint64_t>lower)
    apart = <uint64_t>own - <uint64_t>other
    return lower < 0 and apart <= -<uint64_t>lower and (upper >= 0 or apart >= -<uint64_t>upper)
