# A door for tests into memory, slabs and values; nothing else imports it.

from flinkish._core.memory.segment cimport Segment

cdef class SegmentDoor:
    cdef Segment segment
