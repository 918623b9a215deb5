# What a watermark does to panes: windows fire, blocks are forgotten.
#
# All timers that are due leave the heap at once.  Windows fire key by key, so that the blocks of
# a key are in the cache while its windows are put together: along a chain from each due
# window to its successor, as long as that has elements and is due, in runs of windows that have
# panes in common.  Then blocks are forgotten; no window that fires in this advance needs one that
# was forgotten before it, since all fire first.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.state.table cimport Table
from flinkish._core.timers.timers cimport TimerColumns, Timers

# Poll the timers due at `until`, as table_poll_timer does one by one.  0 or an errno; `out` is
# the caller's to release either way.
cdef int table_poll_due(Table* table, Timers* timers, int64_t until, TimerColumns* out) noexcept nogil

# Fire every window that is due at `watermark` and has not fired, and set the watermark.  `fired`
# counts the timers.  Rows of tumbling windows come out by time; else those of a key do.
cdef int panes_advance(Panes* panes, int64_t watermark, uint64_t* fired) noexcept nogil
