# The Python face of a table of keyed state, and the one owner of its memory.

from libc.stdint cimport uint32_t

from flinkish._core.memory cimport Segment
from flinkish._core.state_rows cimport Table
from flinkish._core.timers cimport Timers


cdef class StateTable:
    cdef Table table
    cdef bint ready                         # segments are open
    cdef readonly list cells                # descriptions given to `add_cell`, by cell
    cdef public long long processing_time   # ms; decides what has outlived its time
    cdef public long long watermark         # ms
    cdef uint32_t current                   # row of the current key, or NO_ROW

    # Make `key` (within `namespace`, unless that is None) the current key.
    cdef int select(self, object key, object namespace, uint32_t key_group) except -1

    # Put mapped segments (nodes, slots, set) under initialised timers.
    cdef void take_timers(self, Timers* timers, Segment* segments) noexcept
