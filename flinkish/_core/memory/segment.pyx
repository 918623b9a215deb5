# cython: freethreading_compatible=True
"""Growable segments of flat memory, on the heap or over a mapped file."""

import os

from libc.errno cimport EBADMSG, EDOM, ENOMEM, EOVERFLOW, errno
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset
from posix.mman cimport (
    MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MAP_SHARED, PROT_READ, PROT_WRITE, mmap, munmap,
)
from posix.stat cimport fstat, struct_stat
from posix.unistd cimport close

cdef extern from "<fcntl.h>" nogil:
    int posix_fallocate(int fd, long offset, long length)

cdef extern from "<sys/mman.h>" nogil:
    """
    #include <stdint.h>
    #ifndef MREMAP_MAYMOVE
    #include <sys/types.h>
    #define FLINKISH_NO_MREMAP
    #define FLINKISH_LARGE SIZE_MAX
    #else
    #define FLINKISH_LARGE ((size_t)1 << 20)
    #endif
    static void *flinkish_remap(void *base, size_t old_size, size_t size, int fd) {
    #ifdef FLINKISH_NO_MREMAP
        void *made = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (made != MAP_FAILED && base) munmap(base, old_size);
        return made;
    #else
        return mremap(base, old_size, size, MREMAP_MAYMOVE);
    #endif
    }
    /* One call instead of a fault for each page.  A kernel without it leaves that to the faults. */
    static void flinkish_populate(void *base, size_t size) {
    #ifdef MADV_POPULATE_WRITE
        madvise(base, size, MADV_POPULATE_WRITE);
    #endif
    }
    """
    void* flinkish_remap(void* base, size_t old_size, size_t size, int fd)
    # Take the memory of whole pages now.
    void flinkish_populate(void* base, size_t size)
    # From here on memory is in pages of its own, which move without being copied; where pages
    # do not move, nothing is so large.
    const size_t LARGE "FLINKISH_LARGE"

cdef size_t PAGE = 4096


class DamagedTable(RuntimeError):
    """A mapped table whose files are not as flinkish left them; build it again from its log."""


SEGMENT_LIMIT = <size_t>1 << 46


cdef void segment_init(Segment* segment) noexcept nogil:
    segment.base = NULL
    segment.size = 0
    segment.fd = -1


cdef int segment_map(Segment* segment, int fd) noexcept nogil:
    cdef struct_stat status
    cdef void* base
    segment_init(segment)
    if fd < 0:
        return 0
    segment.fd = fd
    if fstat(fd, &status) != 0:
        return errno
    if status.st_size == 0:
        return 0
    base = mmap(NULL, <size_t>status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
    if base == MAP_FAILED:
        return errno
    segment.base = <char*>base
    segment.size = <size_t>status.st_size
    return 0


cdef int segment_reserve(Segment* segment, size_t size) noexcept nogil:
    # What is large grows often and by little, since moving its pages costs next to nothing.
    cdef size_t share = 16 if segment.size >= LARGE else 2
    if size <= segment.size:
        return 0
    return segment_grow(segment, max(size, segment.size + segment.size // share))


cdef int segment_grow(Segment* segment, size_t size) noexcept nogil:
    if size <= segment.size:
        return 0
    if size > SEGMENT_LIMIT:
        return EOVERFLOW
    if segment.fd >= 0:
        return 0 if _grow_file(segment, _pages(size)) == 0 else _leave_file(segment, size)
    if size >= LARGE:
        return _grow_pages(segment, _pages(size))
    return _grow_heap(segment, size)


cdef inline size_t _pages(size_t size) noexcept nogil:
    return (size + PAGE - 1) // PAGE * PAGE


cdef int _grow_heap(Segment* segment, size_t size) noexcept nogil:
    cdef char* base = <char*>realloc(segment.base, size)
    if base == NULL:
        return ENOMEM
    memset(base + segment.size, 0, size - segment.size)
    segment.base = base
    segment.size = size
    return 0


cdef int _grow_pages(Segment* segment, size_t size) noexcept nogil:
    cdef void* base
    cdef size_t before
    if segment.size >= LARGE:
        base = flinkish_remap(segment.base, segment.size, size, -1)
    else:
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if base == MAP_FAILED:
        return ENOMEM
    if segment.size != 0 and segment.size < LARGE:
        memcpy(base, segment.base, segment.size)
        free(segment.base)
    before = segment.size if segment.size >= LARGE else 0
    flinkish_populate(<char*>base + before, size - before)
    segment.base = <char*>base
    segment.size = size
    return 0


cdef int _grow_file(Segment* segment, size_t size) noexcept nogil:
    cdef void* base
    cdef int status = posix_fallocate(segment.fd, <long>segment.size, <long>(size - segment.size))
    if status != 0:
        return status
    if segment.base == NULL:
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd, 0)
    else:
        base = flinkish_remap(segment.base, segment.size, size, segment.fd)
    if base == MAP_FAILED:
        return errno
    segment.base = <char*>base
    segment.size = size
    return 0


cdef int _leave_file(Segment* segment, size_t size) noexcept nogil:
    """Go on in process memory; the file keeps what it held and is closed."""
    cdef Segment memory
    cdef int status
    segment_init(&memory)
    status = segment_grow(&memory, size)
    if status != 0:
        return status
    if segment.size != 0:
        memcpy(memory.base, segment.base, segment.size)
    segment_release(segment)
    segment[0] = memory
    return 0


cdef void segment_release(Segment* segment) noexcept nogil:
    if segment.fd < 0 and segment.size < LARGE:
        free(segment.base)
    elif segment.base != NULL:
        munmap(segment.base, segment.size)
    if segment.fd >= 0:
        close(segment.fd)
    segment_init(segment)


cdef int segment_raise(int status) except -1:
    if status == 0:
        return 0
    if status == ENOMEM:
        raise MemoryError("no memory left to grow a table of flinkish")
    if status == EDOM:
        raise ValueError("a cell that heads a chain cannot take a single value, nor the reverse")
    if status == EBADMSG:
        raise DamagedTable(
            "a table of state is damaged: an id, a place or a size in it leads outside; throw its "
            "files away and have it built again from its log"
        )
    if status == EOVERFLOW:
        raise MemoryError(
            "a table of flinkish would outgrow what its ids can count (2**32 - 2 keys or entries, "
            "2**31 - 1 timers); raise max_parallelism, so that more tables share the keys"
        )
    raise OSError(status, f"cannot grow or map a table file of flinkish: {os.strerror(status)}")


include "slab.pyx"
include "node_heap.pyx"
include "id_set.pyx"
