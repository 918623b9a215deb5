"""Byte strings of any length in one segment, with free lists by size class."""

from libc.errno cimport EBADMSG



cdef inline int _class_of(uint32_t size) noexcept nogil:
    """The class whose blocks are the smallest that hold `size` bytes."""
    cdef int exponent
    cdef uint64_t step
    if size <= 256:
        return (size + 15) // 16 - 1 if size else 0
    # 256 < size: four classes for each power of two.
    exponent = 8
    while (<uint64_t>2 << exponent) < size:
        exponent += 1
    step = (<uint64_t>1 << exponent) // 4
    return 16 + (exponent - 8) * 4 + <int>((size - (<uint64_t>1 << exponent) - 1) // step)


cdef inline uint64_t _block_bytes(int size_class) noexcept nogil:
    cdef int exponent
    if size_class < 16:
        return (<uint64_t>size_class + 1) * 16
    exponent = 8 + (size_class - 16) // 4
    return (<uint64_t>1 << exponent) + ((size_class - 16) % 4 + 1) * ((<uint64_t>1 << exponent) // 4)


cdef int slab_init(Segment* slab) noexcept nogil:
    cdef int status = segment_reserve(slab, sizeof(SlabHeader) + 256)
    if status != 0:
        return status
    (<SlabHeader*>slab.base).top = (sizeof(SlabHeader) + 15) // 16 * 16
    return 0


cdef bint slab_valid(const Segment* slab) noexcept nogil:
    if slab.size < sizeof(SlabHeader):
        return False
    cdef SlabHeader* header = <SlabHeader*>slab.base
    return sizeof(SlabHeader) <= header.top <= slab.size and header.top % 16 == 0 \
        and header.live <= header.top


cdef inline bint _inside(const SlabHeader* header, uint64_t place, uint64_t bytes) noexcept nogil:
    """Whether a block of so many bytes can be at `place`."""
    return place % 16 == 0 and sizeof(SlabHeader) <= place <= header.top \
        and bytes <= header.top - place


cdef bint slab_holds(const Segment* slab, uint64_t place, uint32_t size) noexcept nogil:
    return _inside(<SlabHeader*>slab.base, place, _block_bytes(_class_of(size)))


cdef int slab_take(Segment* slab, uint32_t size, uint64_t* place) noexcept nogil:
    cdef int size_class = _class_of(size)
    cdef uint64_t bytes = _block_bytes(size_class)
    cdef SlabHeader* header = <SlabHeader*>slab.base
    cdef uint64_t taken = header.free[size_class]
    cdef int status
    if taken != 0:
        if not _inside(header, taken, bytes):
            return EBADMSG
        header.free[size_class] = (<uint64_t*>(slab.base + taken))[0]
    else:
        taken = header.top
        status = segment_reserve(slab, taken + bytes)
        if status != 0:
            return status
        header = <SlabHeader*>slab.base
        header.top = taken + bytes
    header.live += bytes
    place[0] = taken
    return 0


cdef bint slab_free(Segment* slab, uint64_t place, uint32_t size) noexcept nogil:
    cdef int size_class = _class_of(size)
    cdef SlabHeader* header = <SlabHeader*>slab.base
    cdef uint64_t bytes = _block_bytes(size_class)
    if not _inside(header, place, bytes):
        return 0
    (<uint64_t*>(slab.base + place))[0] = header.free[size_class]
    header.free[size_class] = place
    header.live -= bytes
    return 1


cdef uint64_t slab_capacity(uint32_t size) noexcept nogil:
    return _block_bytes(_class_of(size))
