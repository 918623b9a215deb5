"""A set of ids by hash in one segment; described in ``id_set.pxd``."""

from libc.errno cimport ENOMEM
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from flinkish._core.memory cimport segment_reserve

cdef size_t FEWEST = 14  # entries of the smallest set: with its header it fills 120 bytes


cdef int set_reserve(Segment* ids, size_t count) noexcept nogil:
    cdef size_t before = set_capacity(ids)
    cdef size_t wanted = count + count // 4 + 2
    cdef uint64_t* old = NULL
    cdef size_t i
    cdef int status
    if set_limit(ids) >= count:
        return 0
    if before != 0:
        old = <uint64_t*>malloc(before * sizeof(uint64_t))
        if old == NULL:
            return -ENOMEM
        memcpy(old, set_entries(ids), before * sizeof(uint64_t))
    if wanted < FEWEST:
        wanted = FEWEST
    status = segment_reserve(ids, sizeof(SetHeader) + wanted * sizeof(uint64_t))
    if status != 0:
        free(old)
        return -status
    # All that the segment has, up to what 32 bits can count.
    wanted = (ids.size - sizeof(SetHeader)) // sizeof(uint64_t)
    (<SetHeader*>ids.base).capacity = <uint32_t>min(wanted, <size_t>0xFFFFFFFF)
    (<SetHeader*>ids.base).count = 0
    memset(set_entries(ids), 0, before * sizeof(uint64_t))
    for i in range(before):
        if old[i] != 0:
            set_insert(ids, <uint32_t>(old[i] >> 32), <uint32_t>old[i] - 1)
    free(old)
    return 0


cdef bint set_valid(const Segment* ids, uint32_t count) noexcept nogil:
    if ids.size == 0:
        return count == 0
    if ids.size < sizeof(SetHeader):
        return 0
    if set_capacity(ids) > (ids.size - sizeof(SetHeader)) // sizeof(uint64_t):
        return 0
    return set_capacity(ids) != 0 and set_count(ids) == count and count <= set_limit(ids)


cdef void set_insert(Segment* ids, uint32_t hash, uint32_t id) noexcept nogil:
    cdef SetHeader* header = <SetHeader*>ids.base
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t i = set_home(hash, header.capacity)
    while entries[i] != 0:
        i += 1
        if i == header.capacity:
            i = 0
    entries[i] = set_entry(hash, id)
    header.count += 1


cdef uint32_t set_index(const Segment* ids, uint32_t hash, uint32_t id) noexcept nogil:
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t capacity = set_capacity(ids)
    cdef uint64_t entry = set_entry(hash, id)
    cdef uint32_t i = set_home(hash, capacity)
    while entries[i] != entry:
        i += 1
        if i == capacity:
            i = 0
    return i


cdef uint32_t set_guess(const Segment* ids, uint32_t hash) noexcept nogil:
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t capacity = set_capacity(ids)
    cdef uint32_t i = set_home(hash, capacity)
    if capacity == 0:
        return 0
    while entries[i] != 0:
        if <uint32_t>(entries[i] >> 32) == hash:
            return <uint32_t>entries[i] - 1
        i += 1
        if i == capacity:
            i = 0
    return 0


cdef void set_erase(Segment* ids, uint32_t at) noexcept nogil:
    cdef SetHeader* header = <SetHeader*>ids.base
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t capacity = header.capacity
    cdef uint32_t hole = at
    cdef uint32_t i = at
    cdef uint32_t home, from_home, from_hole
    header.count -= 1
    while True:
        i += 1
        if i == capacity:
            i = 0
        if entries[i] == 0:
            break
        # An entry may move back into the hole unless that is before its home.
        home = set_home(<uint32_t>(entries[i] >> 32), capacity)
        from_home = i - home if i >= home else i + (capacity - home)
        from_hole = i - hole if i >= hole else i + (capacity - hole)
        if from_home >= from_hole:
            entries[hole] = entries[i]
            hole = i
    entries[hole] = 0


cdef void set_clear(Segment* ids) noexcept nogil:
    if set_count(ids) != 0:
        memset(set_entries(ids), 0, set_capacity(ids) * sizeof(uint64_t))
        (<SetHeader*>ids.base).count = 0
