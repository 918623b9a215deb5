# What the vectorised window operator calls: batches of rows in, fired windows out.
#
# An engine has one cell of a table, and takes the numbers of rows as the key column's interning
# gave them.  Batches are worked on without the GIL.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.state.table cimport StateTable

include "shapes.pxd"
include "accumulators.pxd"
include "groups.pxd"
include "output.pxd"
include "row_order.pxd"
include "panes.pxd"
include "firing.pxd"
include "sessions.pxd"
include "combiner.pxd"

cdef enum:
    BLOCK = 1024            # rows of which groups and values are worked on in the cache

# Fill a shape; ValueError for lengths that make none.
cdef int read_shape(Shape* shape, object size, object unit, object offset, object cycle,
                    object lateness) except -1

# ValueError for elements without a good time each, or without a column that is accumulated.
cdef int check_elements(AccumulatorLayout layout, const int64_t[::1] times,
                        WordColumns columns) except -1


cdef class WindowEngine:
    cdef StateTable table
    cdef AccumulatorLayout layout
    cdef uint64_t arrivals          # number of the last element
    cdef readonly uint64_t processed
    cdef readonly uint64_t dropped
    cdef readonly uint64_t fired_timers

    cdef Fired* fired(self) except NULL
    cdef uint64_t number_elements(self, uint64_t count) noexcept
    cdef int check_rows(self, const uint32_t[::1] rows, Py_ssize_t count) except -1
    cdef int add(self, const uint32_t* rows, const int64_t* times, WordColumns columns) except -1
    cdef int advance(self, int64_t watermark) except -1


cdef class PaneWindows(WindowEngine):
    cdef Panes panes
    cdef Groups groups
    cdef int take_rows(self, const uint32_t* rows, const int64_t* times, WordColumns columns,
                       uint64_t arrival) noexcept nogil


cdef class SessionWindows(WindowEngine):
    cdef Sessions sessions
