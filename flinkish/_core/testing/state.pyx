"""A door for tests into memory, slabs and values; nothing else imports it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cimport flinkish._core.memory.segment as memory
from flinkish._core.memory.segment cimport (
    SlabHeader, segment_init, segment_map, segment_raise, segment_release, segment_reserve,
    slab_capacity, slab_free, slab_init, slab_take, slab_valid,
)
from flinkish._core.values.values cimport (
    Encoded, decode_key, decode_namespace, decode_value, encode_key, encode_scoped, encode_value,
    hash_bytes,
)


def limit_segments(size):
    """No segment grows past `size` bytes from now on; None takes the limit away."""
    memory.SEGMENT_LIMIT = <size_t>1 << 46 if size is None else size


def encode(value, *, bint as_key=False, namespace=None):
    """(tag, bytes) of a value, a key, or a key within a namespace."""
    cdef Encoded out
    cdef object owner
    if namespace is not None:
        owner = encode_scoped(value, namespace, &out)
    else:
        owner = encode_key(value, &out) if as_key else encode_value(value, &out)
    return out.tag, PyBytes_FromStringAndSize(out.data, out.size)


def decode(uint8_t tag, bytes data not None, *, part=None):
    """The value of (tag, bytes), or the "key" or "namespace" of a scoped key."""
    cdef const char* at = PyBytes_AS_STRING(data)
    cdef uint32_t size = <uint32_t>PyBytes_GET_SIZE(data)
    if part == "key":
        return decode_key(tag, size, at)
    return decode_namespace(tag, size, at) if part == "namespace" else decode_value(tag, size, at)


def hash_of(uint8_t tag, bytes data not None):
    """The hash under which an index keeps (tag, bytes)."""
    return hash_bytes(tag, <uint32_t>PyBytes_GET_SIZE(data), PyBytes_AS_STRING(data))


cdef class SegmentDoor:
    """A segment on the heap, or over the file of an open descriptor; also as a slab."""

    def __cinit__(self):
        segment_init(&self.segment)

    def __init__(self, file=None):
        if file is not None:
            segment_raise(segment_map(&self.segment, file))

    def __dealloc__(self):
        segment_release(&self.segment)

    @property
    def size(self):
        return self.segment.size

    def reserve(self, size_t size):
        segment_raise(segment_reserve(&self.segment, size))

    def release(self):
        segment_release(&self.segment)

    def read(self, size_t at, size_t size):
        if at + size > self.segment.size:
            raise IndexError
        return PyBytes_FromStringAndSize(self.segment.base + at, size)

    def write(self, size_t at, bytes data not None):
        if at + PyBytes_GET_SIZE(data) > self.segment.size:
            raise IndexError
        memcpy(self.segment.base + at, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    # --- as a slab

    def init(self):
        segment_raise(slab_init(&self.segment))

    def take(self, uint32_t size):
        cdef uint64_t place = 0
        segment_raise(slab_take(&self.segment, size, &place))
        return place

    def free(self, uint64_t place, uint32_t size):
        slab_free(&self.segment, place, size)

    @property
    def live(self):
        return (<SlabHeader*>self.segment.base).live

    @property
    def top(self):
        return (<SlabHeader*>self.segment.base).top

    @property
    def valid(self):
        return slab_valid(&self.segment)


def capacity(uint32_t size):
    """Bytes of a slab's block for `size` bytes."""
    return slab_capacity(size)
