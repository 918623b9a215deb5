# Timers of one named service, which may be of a key within a namespace.
#
# A row of the table is a key, or a key within a namespace: state and timers of windows are in
# rows of their own.  The `ns` of a timer is the number of its service.  So a timer is known by
# (timestamp, key, namespace) within its service (Flink: InternalTimerServiceImpl), and each row
# counts its timers, whatever their service.
#
# The current row says whose timers are meant: of its key, whatever its namespace.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.state.table cimport StateTable
from flinkish._core.timers.timers cimport Timers


cdef class NamedTimers:
    cdef StateTable table
    cdef readonly uint32_t service      # the number of the service
    cdef object on_earlier              # called with the new head of the processing timers

    # The row of the current key within `namespace`; NO_ROW if there is none and it is not made.
    cdef uint32_t row(self, object namespace, bint make) except? 0xFFFFFFFE
    cdef Timers* of(self, bint event) noexcept
