# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""The vectorised window operator's engines: batches of rows in, fired windows out."""

from libc.errno cimport EBADMSG, EINVAL
from libc.string cimport memcpy, memset

import numpy as np

from flinkish._core.memory.segment cimport (
    Segment, segment_init, segment_raise, segment_release, segment_reserve,
)
from flinkish._core.state.table cimport header_of, ids_push
from flinkish._core.timers.timers cimport Timer, timers_peek

include "shapes.pyx"
include "accumulators.pyx"
include "groups.pyx"
include "output.pyx"
include "row_order.pyx"
include "panes.pyx"
include "firing.pyx"
include "sessions.pyx"
include "combiner.pyx"

cdef enum:
    ARRIVAL_BITS = 22       # elements numbered in a millisecond before numbers run ahead of it

cdef int64_t LOWEST = <int64_t>(<uint64_t>1 << 63)
cdef int64_t LIMIT = <int64_t>SHAPE_LIMIT
cdef int64_t MOST_BLOCK = 64   # panes


cdef int read_shape(Shape* shape, object size, object unit, object offset, object cycle,
                    object lateness) except -1:
    memset(shape, 0, sizeof(Shape))
    if not (0 < size < LIMIT and 0 < unit < LIMIT and 0 <= cycle < LIMIT):
        raise ValueError(f"windows of {size} ms each {unit} ms, cycle {cycle}: lengths are from 1 on")
    if not 0 <= offset < (cycle or unit) or lateness < 0:
        raise ValueError(f"the offset {offset} or the lateness {lateness} is out of range")
    if cycle and (cycle % unit or cycle != size):
        raise ValueError(f"steps of {unit} ms do not fill a cycle of {cycle} ms")
    shape.size = size
    shape.unit = unit
    shape.offset = offset
    shape.cut = 0 if cycle else size % unit
    shape.cycle = cycle
    shape.lateness = lateness
    shape.inverse = 1.0 / unit
    return 0


cdef int raise_status(int status) except -1:
    """The error for a status of the panes and sessions."""
    if status == EINVAL:
        raise ValueError("a row is of no key; intern the keys after the last commit")
    if status == EBADMSG:
        raise ValueError("the state of windows is not theirs: it is damaged, or of other windows")
    return segment_raise(status)


cdef object outside(object times, Py_ssize_t count):
    """The error for the first of the times that is none."""
    at = int(np.flatnonzero(np.abs(np.asarray(times).astype(np.float64)) >= <double>LIMIT)[0])
    return ValueError(
        f"row {at} has the time {times[at]}; times of windows are ms within 2**60 of 1970, and "
        "-2**63 says that an element has none"
    )


cdef int check_elements(AccumulatorLayout layout, const int64_t[::1] times,
                        WordColumns columns) except -1:
    cdef Py_ssize_t at, count = columns.rows
    cdef bint good = True
    if times.shape[0] != count:
        raise ValueError(f"{count} elements came with {times.shape[0]} times")
    if len(columns.owners) < layout.layout.columns and count:
        raise ValueError(
            f"the accumulators read {layout.layout.columns} columns, and "
            f"{len(columns.owners)} came"
        )
    for at in range(count):
        good &= -LIMIT < times[at] < LIMIT
    if not good:
        raise outside(times, count)
    return 0


cdef class WindowEngine:
    """One window operator's state in a cell of a table.

    `process` takes rows, `advance_watermark` fires what is due, `take` gives what has fired; rows
    of keys are good until the table's next commit, so take before it.
    """

    cdef Fired* fired(self) except NULL:
        raise TypeError("a WindowEngine alone has no windows; make PaneWindows or SessionWindows")

    cdef int add(self, const uint32_t* rows, const int64_t* times, WordColumns columns) except -1:
        return 0

    cdef int advance(self, int64_t watermark) except -1:
        return 0

    cdef uint64_t number_elements(self, uint64_t count) noexcept:
        """The number before that of the next element; the last ones' are `count` further on.

        Numbers rise over restarts too, since they follow the clock of the table.
        """
        cdef uint64_t before = self.arrivals
        if self.table.processing_time > 0:
            before = max(before, <uint64_t>self.table.processing_time << ARRIVAL_BITS)
        self.arrivals = before + count
        return before

    cdef int check_rows(self, const uint32_t[::1] rows, Py_ssize_t count) except -1:
        cdef Py_ssize_t at
        cdef uint32_t highest = 0
        self.table.check_open()
        if rows.shape[0] != count:
            raise ValueError(f"{count} elements came with {rows.shape[0]} rows of keys")
        for at in range(count):
            highest = max(highest, rows[at])
        if count and highest >= header_of(&self.table.table).rows:
            raise ValueError(f"row {highest} is of no key; intern the keys after the last commit")
        return 0

    def process(self, const uint32_t[::1] rows not None, const int64_t[::1] times not None,
                WordColumns columns not None):
        """Take in elements: rows of their keys, times in ms, and the columns of the steps.

        The numbers of those that came too late for all their windows, as uint32.
        """
        cdef Py_ssize_t count = columns.rows
        cdef Fired* fired = self.fired()
        self.check_rows(rows, count)
        check_elements(self.layout, times, columns)
        fired.late.count = 0
        if count:
            self.add(&rows[0], &times[0], columns)
        self.processed += count
        self.dropped += fired.late.count
        if fired.late.count == 0:
            return np.empty(0, np.uint32)
        return np.array(<uint32_t[:fired.late.count]><uint32_t*>fired.late.segment.base)

    def advance_watermark(self, int64_t watermark):
        """Fire every window that is due at `watermark` (ms), and keep it as the table's."""
        self.table.check_open()
        self.table.watermark = watermark
        self.advance(watermark)

    def take(self):
        """(rows, begins, ends, records) of the windows that have fired since the last call."""
        self.table.check_alone()
        return fired_take(self.fired())

    @property
    def waiting(self):
        """Windows that have fired and have not been taken."""
        self.table.check_alone()
        return self.fired().count

    def next_event_timer(self):
        """When the watermark may next fire something, in ms, or None."""
        cdef Timer timer
        self.table.check_open()
        return timer.timestamp if timers_peek(&self.table.table.event, &timer) else None


cdef class PaneWindows(WindowEngine):
    """Tumbling, sliding and cumulative windows.

    Parameters
    ----------
    table, cell: where the state lives.
    layout: what is accumulated.
    size, unit: length of a window and distance of their ends, in ms.
    offset: of the windows, below the unit, or below the cycle if there is one.
    cycle: 0, or the size of the longest of cumulative windows.
    lateness: how long after its end a window takes elements, in ms.
    """

    def __cinit__(self, StateTable table not None, uint32_t cell, AccumulatorLayout layout not None,
                  *, size, unit, offset=0, cycle=0, lateness=0):
        cdef int64_t spanned
        memset(&self.panes, 0, sizeof(self.panes))
        segment_init(&self.panes.nothing)
        segment_init(&self.panes.pairs)
        fired_init(&self.panes.fired, layout.layout.stride)
        groups_init(&self.groups, layout.layout.stride)
        read_shape(&self.panes.shape, size, unit, offset, cycle, lateness)
        table.check_cell(cell)
        self.table = table
        self.layout = layout
        self.panes.layout = &layout.layout
        self.panes.table = &table.table
        self.panes.cell = cell
        self.panes.single = size == unit or (not cycle and size < unit)
        # Blocks of about the square root of a window's panes: as many whole blocks as panes in one.
        spanned = size // unit * (2 if self.panes.shape.cut else 1)
        while not self.panes.single and (<int64_t>1 << (2 * self.panes.shift)) < spanned \
                and (1 << self.panes.shift) < MOST_BLOCK:
            self.panes.shift += 1
        self.panes.block_bytes = layout.layout.stride
        if self.panes.shift:
            self.panes.block_bytes *= (1 << self.panes.shift) + 1
        segment_raise(segment_reserve(&self.panes.nothing, self.panes.block_bytes))

    def __dealloc__(self):
        segment_release(&self.panes.nothing)
        segment_release(&self.panes.pairs)
        fired_release(&self.panes.fired)
        groups_release(&self.groups)

    cdef Fired* fired(self) except NULL:
        return &self.panes.fired

    cdef int add(self, const uint32_t* rows, const int64_t* times, WordColumns columns) except -1:
        cdef uint64_t arrival = self.number_elements(columns.rows) + 1
        cdef int status
        self.panes.watermark = max(self.table.watermark, -2 * LIMIT)
        self.table.hold()
        with nogil:
            status = self.take_rows(rows, times, columns, arrival)
        self.table.let_go()
        raise_status(status)
        return 0

    cdef int take_rows(self, const uint32_t* rows, const int64_t* times, WordColumns columns,
                       uint64_t arrival) noexcept nogil:
        """Take in all rows: into groups first, those of windows that have been due one by one."""
        cdef int64_t[BLOCK] panes
        cdef char[BLOCK] skip
        cdef uint32_t[BLOCK] groups
        cdef Shape* shape = &self.panes.shape
        cdef int64_t live = first_live(shape, self.panes.watermark)
        cdef int64_t ahead = first_ahead(shape, self.panes.watermark)
        cdef bint firing = shape.lateness != 0, gaps = shape.size < shape.unit
        cdef Py_ssize_t start = 0, at
        cdef uint32_t count, i
        cdef int status = groups_begin(&self.groups)
        while start < columns.rows and status == 0:
            count = <uint32_t>min(columns.rows - start, <Py_ssize_t>BLOCK)
            for i in range(count):
                at = start + i
                panes[i] = pane_of(shape, times[at])
                skip[i] = 0
                if panes[i] >= ahead and not gaps:
                    continue
                if gaps and panes[i] & 1:
                    # In no window; late by its own time only (Flink: WindowOperator).
                    skip[i] = 1
                    if cleanup_time(shape, times[at] + 1) <= self.panes.watermark:
                        status = ids_push(&self.panes.fired.late, <uint32_t>at)
                elif panes[i] < live:
                    skip[i] = 1
                    status = ids_push(&self.panes.fired.late, <uint32_t>at)
                elif firing and panes[i] < ahead:
                    skip[i] = 1
                    status = pane_add_late(&self.panes, rows[at], panes[i], columns.columns, at,
                                           arrival + at)
                if status != 0:
                    return status
            status = groups_find(&self.groups, rows + start, panes, skip, count, <uint32_t>start,
                                 groups)
            if status == 0:
                records_add(&self.layout.layout, self.groups.records.base, groups,
                            columns.columns, start, count, arrival + start)
            start += count
        return panes_merge_groups(&self.panes, &self.groups) if status == 0 else status

    def merge(self, const uint32_t[::1] rows not None, const int64_t[::1] begins not None,
              const unsigned char[:, ::1] records not None):
        """Take in what a PaneCombiner made: rows of the keys, begins of the panes, and records.

        Only for windows without lateness, where all elements of a pane have the same fate.  The
        numbers of the panes that came too late, as uint32.
        """
        cdef Py_ssize_t at, count = rows.shape[0]
        cdef uint32_t stride = self.layout.layout.stride
        cdef Segment room
        cdef int64_t live, pane
        cdef uint64_t before, last = 0
        cdef list late = []
        self.check_rows(rows, count)
        if begins.shape[0] != count or records.shape[0] != count or records.shape[1] != stride:
            raise ValueError(f"{count} panes need as many begins and records of {stride} bytes")
        if self.panes.shape.lateness or self.panes.shape.size < self.panes.shape.unit:
            raise ValueError("elements of a pane of these windows may have different fates")
        self.panes.watermark = max(self.table.watermark, -2 * LIMIT)
        live = first_live(&self.panes.shape, self.panes.watermark)
        for at in range(count):
            last = max(last, record_last(&self.layout.layout, <const char*>&records[at, 0]))
        before = self.number_elements(last)
        segment_init(&room)
        try:
            segment_raise(segment_reserve(&room, stride))
            for at in range(count):
                if not -LIMIT < begins[at] < LIMIT:
                    raise outside(begins, count)
                memcpy(room.base, &records[at, 0], stride)
                pane = pane_of(&self.panes.shape, begins[at])
                self.processed += record_elements(room.base)
                if pane < live:
                    self.dropped += record_elements(room.base)
                    late.append(at)
                    continue
                record_shift(&self.layout.layout, room.base, before)
                raise_status(pane_merge(&self.panes, rows[at], pane, room.base))
        finally:
            segment_release(&room)
        return np.array(late, np.uint32)

    cdef int advance(self, int64_t watermark) except -1:
        cdef int status
        self.table.hold()
        with nogil:
            status = panes_advance(&self.panes, watermark, &self.fired_timers)
        self.table.let_go()
        raise_status(status)
        return 0


cdef class SessionWindows(WindowEngine):
    """Sessions with a fixed gap.

    Parameters as of `PaneWindows`; ``gap`` is in ms.
    """

    def __cinit__(self, StateTable table not None, uint32_t cell, AccumulatorLayout layout not None,
                  *, gap, lateness=0):
        memset(&self.sessions, 0, sizeof(self.sessions))
        segment_init(&self.sessions.nothing)
        fired_init(&self.sessions.fired, layout.layout.stride)
        if not 0 < gap < LIMIT or lateness < 0:
            raise ValueError(f"a gap of {gap} ms or a lateness of {lateness} ms is out of range")
        table.check_cell(cell)
        self.table = table
        self.layout = layout
        self.sessions.layout = &layout.layout
        self.sessions.table = &table.table
        self.sessions.cell = cell
        self.sessions.gap = gap
        self.sessions.lateness = lateness
        segment_raise(segment_reserve(&self.sessions.nothing,
                                      sizeof(Session) + layout.layout.stride))

    def __dealloc__(self):
        segment_release(&self.sessions.nothing)
        fired_release(&self.sessions.fired)

    cdef Fired* fired(self) except NULL:
        return &self.sessions.fired

    cdef int add(self, const uint32_t* rows, const int64_t* times, WordColumns columns) except -1:
        cdef uint64_t arrival = self.number_elements(columns.rows) + 1
        cdef Py_ssize_t at
        cdef int status = 0
        self.sessions.watermark = self.table.watermark
        self.table.hold()
        with nogil:
            for at in range(columns.rows):
                status = session_add(&self.sessions, rows[at], times[at], columns.columns,
                                     <uint32_t>at, arrival + at)
                if status != 0:
                    break
        self.table.let_go()
        raise_status(status)
        return 0

    cdef int advance(self, int64_t watermark) except -1:
        cdef int status
        self.table.hold()
        with nogil:
            status = sessions_advance(&self.sessions, watermark, &self.fired_timers)
        self.table.let_go()
        raise_status(status)
        return 0
