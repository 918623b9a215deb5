"""Windows that merge; described in ``windows/elements/merging.pxd``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EBADMSG
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.keyed_state cimport scoped_row
from flinkish._core.state.table cimport NO_ROW, Cell, cell_at, table_clear, table_set
from flinkish._core.windows.time_window cimport TimeWindow, time_window
from flinkish._core.timers.timers cimport Timer
from flinkish._core.values.values cimport (
    TAG_BYTES, TAG_EMPTY, Encoded, bytes_of, decode_value, encode_value,
)

cdef struct Pair:                   # a window of time and its state window
    int64_t start
    int64_t end
    int64_t state_start
    int64_t state_end


cdef class MergingWindowedProcess(WindowedProcess):
    """Runs windows that merge over a table.

    Parameters
    ----------
    plan: as for `WindowedProcess`, with `merge_windows` (None for windows of time that merge when
        they overlap or touch) and `unsupported`, the class of the error for a merge that comes
        too late.
    set_cell: the cell of key rows for the windows of a key.
    """

    def __init__(self, table, timers, type tag_type, event_domain, processing_domain, contents,
                 triggers, windows, plan, uint32_t set_cell):
        super().__init__(table, timers, tag_type, event_domain, processing_domain, contents,
                         triggers, windows, plan)
        self.merging = MergingWindowSet(plan.merge_windows)
        self.set_cell = set_cell
        self.unsupported = plan.unsupported

    # --- the windows of a key

    cdef int load(self, uint32_t key) except -1:
        cdef Cell* cell
        cdef const char* data
        cdef list windows = [], states = []
        cdef Pair pair
        cdef uint32_t at
        self.table.check_open()  # code of the assigner has run
        cell = cell_at(&self.table.table, key, self.set_cell)
        data = bytes_of(cell.size, &cell.word, &self.table.table.slab)
        if data == NULL:
            segment_raise(EBADMSG)
        if cell.tag == TAG_BYTES and self.to_key is None:
            for at in range(cell.size // sizeof(Pair)):
                memcpy(&pair, data + at * sizeof(Pair), sizeof(Pair))
                windows.append(time_window(pair.start, pair.end))
                states.append(time_window(pair.state_start, pair.state_end))
        elif cell.tag != TAG_EMPTY:
            for window, state in decode_value(cell.tag, cell.size, data):
                windows.append(self.from_key(window))
                states.append(self.from_key(state))
        return self.merging.load(windows, states)

    cdef int store(self, uint32_t key) except -1:
        cdef Encoded out
        cdef object owner
        cdef list windows = self.merging.windows, states = self.merging.states
        cdef TimeWindow window, state
        cdef Pair pair
        cdef Py_ssize_t at
        if not self.merging.changed:
            return 0
        if not windows:
            segment_raise(table_clear(&self.table.table, key, self.set_cell))
        elif self.to_key is None:
            owner = PyBytes_FromStringAndSize(NULL, len(windows) * sizeof(Pair))
            for at in range(len(windows)):
                window, state = windows[at], states[at]
                pair.start, pair.end = window.start, window.end
                pair.state_start, pair.state_end = state.start, state.end
                memcpy(PyBytes_AS_STRING(owner) + at * sizeof(Pair), &pair, sizeof(Pair))
            segment_raise(table_set(
                &self.table.table, key, self.set_cell, TAG_BYTES,
                <uint32_t>(len(windows) * sizeof(Pair)), PyBytes_AS_STRING(owner)))
        else:
            owner = encode_value(
                tuple([(self.to_key(one), self.to_key(other))
                       for one, other in zip(windows, states, strict=True)]), &out)
            self.table.check_open()
            segment_raise(table_set(&self.table.table, key, self.set_cell, out.tag, out.size,
                                    out.data))
        return 0

    cdef uint32_t contents_of(self, uint32_t key, object state_window) except? 0xFFFFFFFF:
        """The row that a state window's contents are in; the window at work stays."""
        cdef object window = self.window
        cdef Window at = self.at
        cdef uint32_t row
        self.choose_object(key, state_window)
        row = self.at.row
        self.at = at
        self.window = window
        self.table.current = self.at.row
        return row

    # --- elements

    cdef bint insert(self, uint32_t key, int64_t start, int64_t end, object value,
                     int64_t time) except -1:
        return self.insert_into(key, time_window(start, end), value, time)

    cdef bint insert_into(self, uint32_t key, object window, object value,
                          int64_t time) except -1:
        cdef list merges = []
        cdef Py_ssize_t place
        self.load(key)
        window = self.merging.add(window, merges)
        for result, merged, state, others in merges:
            self.merge(key, result, merged, state, others)
        place = self.merging.find(window)
        if self.is_late(self.last_of(window)):
            self.merging.retire(place)
            self.store(key)
            return False
        self.store(key)
        self.choose_object(key, window)
        self.at.contents = self.contents_of(key, self.merging.states[place])
        self.accept(value, time)
        return True

    cdef int merge(self, uint32_t key, object result, list merged, object state,
                   list others) except -1:
        """Have a window take the place of others (Flink: MergingWindowSet)."""
        cdef int64_t last = self.last_of(result), end
        cdef list rows = []
        cdef uint32_t row = NO_ROW
        if self.is_late(last) or (not self.event and last <= self.table.processing_time):
            clock = "watermark" if self.event else "processing time"
            now = self.table.watermark if self.event else self.table.processing_time
            raise self.unsupported(
                f"merging {merged!r} gave {result!r}, which ends at or before the current {clock} "
                f"{now}: a window cannot become shorter by merging"
            )
        if self.speaks == SPEAKS_ASKED:
            for one in merged:
                self.choose_object(key, one)
                rows.append(self.at.row)
        self.choose_object(key, result)
        if self.speaks == SPEAKS_ASKED:
            self.triggers.call_on_merge(self.asked_merge, result, rows)
        elif last > (self.table.watermark if self.speaks == SPEAKS_EVENT
                     else self.table.processing_time):
            self.timers.register(self.speaks == SPEAKS_EVENT, last, self.at.row)
        for one in merged:
            self.choose_object(key, one)
            row = self.at.row
            self.clear_trigger()
            end = self.cleanup_time()
            if end != HIGHEST:
                self.timers.delete(self.event, end, row)
        if others:
            self.contents.merge(self.contents_of(key, state),
                                [self.contents_of(key, other) for other in others])
        # Of the windows that were, at most one holds contents; the last may serve the next one.
        self.spare = row
        return 0

    # --- timers

    cdef int turn(self, Timer* timer, bint event) except -1:
        cdef uint32_t key
        cdef Py_ssize_t place
        self.choose_row(timer.key)
        segment_raise(scoped_row(&self.table.table, timer.key, NULL, True, &key))
        self.load(key)
        place = self.merging.find(self.window_object())
        if place < 0:
            return 0  # of a window that was merged away (Flink: WindowOperator)
        self.at.contents = self.contents_of(key, self.merging.states[place])
        self.conclude(self.on_time(timer.timestamp, event))
        if event == self.event and timer.timestamp == self.cleanup_time():
            self.clear_all()
            self.merging.retire(place)
            self.store(key)
        return 0
