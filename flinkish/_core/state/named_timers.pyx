# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""Timers of named services, within namespaces; described in ``named_timers.pxd``."""

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.keyed_state cimport pieces_of, same_piece, scoped_row
from flinkish._core.state.table cimport (
    NO_ROW, Row, header_of, row_at, table_add_timer, table_group, table_poll_timer,
    table_remove_timer,
)
from flinkish._core.timers.timers cimport (
    Timer, timers_contains, timers_get, timers_header, timers_peek,
)
from flinkish._core.values.values cimport (
    TAG_EMPTY, Encoded, Piece, bytes_of, decode_key, decode_namespace, encode_key,
)

cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF


cdef class NamedTimers:
    """Timers of one service of an operator; `event` chooses the heap.

    A namespace is None, or what a key may be.  `on_earlier(timestamp)` is called when a
    processing-time timer becomes the earliest of all services.
    """

    def __init__(self, StateTable table not None, uint32_t service, on_earlier=None):
        self.table = table
        self.service = service
        self.on_earlier = on_earlier

    cdef Timers* of(self, bint event) noexcept:
        return &self.table.table.event if event else &self.table.table.processing

    cdef uint32_t row(self, object namespace, bint make) except? 0xFFFFFFFE:
        cdef uint32_t current = self.table.current, found
        cdef Encoded scope
        cdef Piece piece
        cdef object owner
        if current == NO_ROW or self.table.is_elsewhere():
            self.table.check_alone()
            self.table.check_place("the timer service")
            raise self.table.illegal_state(
                "timers can only be used with a current key: set the key before them"
            )
        piece.tag = TAG_EMPTY
        if namespace is not None:
            owner = encode_key(namespace, &scope)
            self.table.check_open()  # encoding runs code of the namespace's class
            piece.tag, piece.size, piece.data = scope.tag, scope.size, scope.data
        segment_raise(scoped_row(&self.table.table, current, &piece, make, &found))
        return found

    def add(self, bint event, int64_t timestamp, namespace=None):
        """Register a timer of the current key; False when it was there.

        As in Flink's InternalTimerServiceImpl.
        """
        cdef uint32_t row = self.row(namespace, True)
        cdef Timer head
        cdef int added
        if event or not timers_peek(self.of(event), &head):
            head.timestamp = NEVER
        added = table_add_timer(&self.table.table, self.of(event), timestamp, row, self.service)
        if added < 0:
            segment_raise(-added)
        if added and not event and self.on_earlier is not None and timestamp < head.timestamp:
            self.on_earlier(timestamp)
        return added == 1

    def remove(self, bint event, int64_t timestamp, namespace=None):
        """Delete a timer of the current key; False when it was not there."""
        cdef uint32_t row = self.row(namespace, False)
        cdef int removed
        if row == NO_ROW:
            return False
        removed = table_remove_timer(&self.table.table, self.of(event), timestamp, row,
                                     self.service)
        if removed < 0:
            segment_raise(-removed)
        return removed == 1

    def count(self, bint event):
        """How many timers there are, of all keys and namespaces."""
        return len(self.timers(event))

    def count_in(self, bint event, namespace):
        """How many timers of all keys are within one namespace, which may be None."""
        cdef Encoded scope
        cdef Piece piece, key, held
        cdef object owner
        cdef Py_ssize_t found = 0
        cdef uint32_t slot
        cdef Timer timer
        self.table.check_open()
        piece.tag, piece.size, piece.data = TAG_EMPTY, 0, NULL
        if namespace is not None:
            owner = encode_key(namespace, &scope)
            self.table.check_open()
            piece.tag, piece.size, piece.data = scope.tag, scope.size, scope.data
        for slot in range(timers_header(self.of(event)).used):
            if timers_get(self.of(event), slot, &timer) and timer.ns == self.service:
                pieces_of(&self.table.table, timer.key, &key, &held)
                found += same_piece(&held, &piece)
        return found

    def timers(self, bint event):
        """(timestamp, row) of every timer, in no order; see `use`."""
        cdef list found = []
        cdef uint32_t slot
        cdef Timer timer
        self.table.check_open()
        for slot in range(timers_header(self.of(event)).used):
            if timers_get(self.of(event), slot, &timer) and timer.ns == self.service:
                found.append((timer.timestamp, timer.key))
        return found

    def use(self, bint event, int64_t timestamp, uint32_t row):
        """Make the row of a timer from `timers` current: its (key, namespace).

        None, and nothing changes, when the timer is no longer there.
        """
        cdef uint32_t group = 0
        self.table.check_open()
        if row >= header_of(&self.table.table).rows \
                or row_at(&self.table.table, row).tag == TAG_EMPTY:
            return None
        segment_raise(table_group(&self.table.table, row, self.of(event), &group))
        if not timers_contains(self.of(event), timestamp, row, self.service, group):
            return None
        self.table.use_row(row)
        return key_and_namespace(self.table, row)


cdef tuple key_and_namespace(StateTable table, uint32_t at):
    cdef Row* row = row_at(&table.table, at)
    cdef const char* data = bytes_of(row.size, &row.word, &table.table.slab)
    return decode_key(row.tag, row.size, data), decode_namespace(row.tag, row.size, data)


def next_timer(StateTable table not None, bint event):
    """Timestamp (ms) of the earliest timer of all services, or None."""
    cdef Timer timer
    table.check_open()
    if timers_peek(&table.table.event if event else &table.table.processing, &timer):
        return timer.timestamp
    return None


def poll_timer(StateTable table not None, bint event, int64_t until):
    """Take out the earliest timer at or before `until` (ms) and make its key current.

    (service, timestamp, key, namespace), or None; equal timestamps in order of registration.
    The timer is gone before anybody hears of it.
    """
    cdef Timer timer
    cdef int polled
    table.check_open()
    polled = table_poll_timer(
        &table.table, &table.table.event if event else &table.table.processing, until, &timer)
    if polled < 0:
        segment_raise(-polled)
    if polled == 0:
        return None
    table.use_row(timer.key)
    return (timer.ns, timer.timestamp, *key_and_namespace(table, timer.key))
