# A segment is one growable vector of bytes: on the heap, or the image of a file.
#
# Everything that the floor keeps lives in segments and refers to other things by index or
# offset, never by pointer, so that the same code serves process memory and a mapped file.
#
# Ownership: the code that opened a segment releases it, once.  `segment_release` of a zeroed or
# released segment does nothing.
#
# Growth: `segment_reserve` and `segment_grow` may move `base`: fetch pointers again after every
# call that can grow.  New bytes are zero.  A segment that could not grow is as it was.
#
# A full disk is no SIGBUS later, since a file is allocated before it is mapped, and no error: a
# segment whose file cannot grow goes on on the heap, with `fd` -1 from then on.
#
# Heap segments of 1 MiB and more are pages of their own: they grow by moving pages, not by
# copying.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef struct Segment:
    char* base        # first byte, NULL while empty
    size_t size       # usable bytes
    int fd            # the mapped file, or -1 for heap memory

# Make an empty heap segment of an uninitialised struct.
cdef void segment_init(Segment* segment) noexcept nogil

# Map the open file `fd`, taken over: release closes it, after a failure too.  0, or an errno.
# With -1 for `fd` it is an empty heap segment.
cdef int segment_map(Segment* segment, int fd) noexcept nogil

# No segment grows past this.  Lowered by tests only, to see growth fail.
cdef size_t SEGMENT_LIMIT

# At least `size` usable bytes.  What must grow grows by half as much again, or by a sixteenth
# from 1 MiB on.  0, or an errno: EOVERFLOW past the limit.
cdef int segment_reserve(Segment* segment, size_t size) noexcept nogil

# The same, but by no more than whole pages need: for a caller that has a share of growth of its
# own.
cdef int segment_grow(Segment* segment, size_t size) noexcept nogil

# Free or unmap, close the file; the struct is empty afterwards.
cdef void segment_release(Segment* segment) noexcept nogil

# Raise MemoryError or OSError for a status of the calls above, or of those built on them;
# DamagedTable for EBADMSG.
cdef int segment_raise(int status) except -1

# Mix 64 bits so that every input bit reaches every output bit (Stafford's variant 13).  It wraps.
@cython.overflowcheck(False)
cdef inline uint64_t mix64(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)

include "slab.pxd"
include "node_heap.pxd"
include "id_set.pxd"
