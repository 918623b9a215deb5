# What triggers, evictors and window functions see of the operator that runs them.
#
# The current row of the table is that of the key and window in question while any of them runs;
# state and timers are of that row, global state of its key.  A context serves all windows and
# is good during the call only.

from flinkish._core.operators.keyed_process cimport KeyedTimerService
from flinkish._core.state.table cimport StateTable


cdef class WindowTriggerContext:
    cdef StateTable table
    cdef readonly KeyedTimerService timers
    cdef object state_of            # makes a handle of a descriptor
    cdef object metrics
    cdef dict handles               # of descriptors seen: id to (descriptor, handle)
    cdef list merged                # rows of the windows that are being merged, or None

    cdef object state(self, object descriptor)


cdef class WindowContext:
    cdef StateTable table
    cdef object current             # the window
    cdef object window_store
    cdef object global_store
