# A slab holds byte strings of any length in one segment.
#
# Places are offsets from the segment's base and never 0.  A block keeps its size class for
# life: freeing chains it to the other free blocks of that class, taking prefers the chain.
# Classes rise by 16 bytes up to 256 and by a quarter of a power of two above, so at most a
# fifth of a large block is idle.  Blocks are neither split nor joined: states of one kind
# come in like sizes, and a compaction of the log builds a fresh slab.

from libc.stdint cimport uint32_t, uint64_t


cdef enum:
    SLAB_CLASSES = 160

# First bytes of the segment.
cdef struct SlabHeader:
    uint64_t top                    # first byte that was never taken
    uint64_t live                   # bytes in blocks that are taken
    uint64_t free[SLAB_CLASSES]     # place of the first free block of a class, or 0

# Make ready an empty segment; 0 or an errno.
cdef int slab_init(Segment* slab) noexcept nogil

# Whether a mapped segment can be a slab: 1 or 0.
cdef bint slab_valid(const Segment* slab) noexcept nogil

# Whether `place` can be that of a block for `size` bytes: one from a damaged file need not.
cdef bint slab_holds(const Segment* slab, uint64_t place, uint32_t size) noexcept nogil

# Take a block for `size` bytes; 0 or an errno, EBADMSG when a free block leads outside.
cdef int slab_take(Segment* slab, uint32_t size, uint64_t* place) noexcept nogil

# Give back the block at `place` that was taken for `size` bytes: 1, or 0 when there can be none.
cdef bint slab_free(Segment* slab, uint64_t place, uint32_t size) noexcept nogil

# Bytes that a block for `size` bytes really has: a value may grow to this in place.
cdef uint64_t slab_capacity(uint32_t size) noexcept nogil
