# The flusher's half of the way out: from what was put to what a socket takes.
#
# The invariants are those of `frame_buffer.pxd`: B1 to B4, B8 and B9.
#
# Ownership: __cinit__ makes lock and segments, __dealloc__ releases them.

from libc.stdint cimport uint8_t, uint32_t

from flinkish._core.memory.segment cimport Segment
from flinkish._core.memory.pthreads cimport pthread_mutex_t
from flinkish._core.rpc.framing cimport RecordSealer

cdef class FrameWriter:
    cdef pthread_mutex_t lock
    cdef Segment pending
    cdef size_t filled
    cdef Segment outgoing
    cdef size_t sent
    cdef size_t taken              # bytes in `outgoing`
    cdef RecordSealer sealer       # None while frames go out as they are
    cdef size_t bare               # bytes that go out before the first record
    cdef bint flushing
    cdef bint rung
    cdef bint closed
    cdef uint32_t generation
    cdef Py_ssize_t exports
    cdef size_t ample              # bytes on the way out from which others hold back
    cdef bint relief_due           # somebody does, and is to be told
    cdef object relieved           # called then

    # Whether others should hold back; a guess, and under the lock, with a promise to tell them.
    cdef bint is_behind(self) noexcept
    cdef bint hold_back(self) except -1
    cdef int _relieve(self) except -1
    # Put the credit that is owed to the peer, if it is worth a frame; whether it was put.
    cdef int _credit_due(self) noexcept nogil
    cdef int _take(self) noexcept nogil
    # What the flusher is to write next.
    cdef const uint8_t* _chunk(self, size_t* size) noexcept nogil
    # As the flusher, at the end of a chunk: get the next one ready.
    cdef int _load(self) except -1
    cdef bint _foreign(self) noexcept
