"""A set of ids by hash in one segment; described in ``id_set.pxd``."""

from libc.string cimport memcpy, memset


cdef size_t FEWEST = 14  # entries of the smallest set: with its header it fills 120 bytes


cdef int set_reserve(Segment* ids, size_t count) noexcept nogil:
    cdef size_t before = set_capacity(ids)
    cdef size_t wanted = max(count + count // 4 + 2, FEWEST)
    cdef Segment old
    cdef int status
    if set_limit(ids) >= count:
        return 0
    # By three eighths: between moving entries often and letting memory lie idle.
    wanted = sizeof(SetHeader) + max(wanted, before + before * 3 // 8) * sizeof(uint64_t)
    status = _renew(ids, wanted, &old)
    if status != 0:
        return -status
    # All that the segment has, up to what 32 bits can count.
    wanted = (ids.size - sizeof(SetHeader)) // sizeof(uint64_t)
    (<SetHeader*>ids.base).capacity = <uint32_t>min(wanted, <size_t>0xFFFFFFFF)
    if before != 0:
        (<SetHeader*>ids.base).count = set_count(&old)
        _move(set_entries(ids), set_capacity(ids), set_entries(&old), before)
    segment_release(&old)
    return 0


cdef void _move(uint64_t* entries, uint32_t capacity, uint64_t* old, size_t size) noexcept nogil:
    """Put the entries of a table into an empty one; nothing is left of the old one."""
    cdef size_t at, count = 0
    cdef uint32_t i
    # First closed up, without branches: whether a place is taken cannot be predicted.
    for at in range(size):
        old[count] = old[at]
        count += old[at] != 0
    for at in range(count):
        i = set_home(<uint32_t>(old[at] >> 32), capacity)
        while entries[i] != 0:
            i += 1
            if i == capacity:
                i = 0
        entries[i] = old[at]


cdef int _renew(Segment* ids, size_t size, Segment* old) noexcept nogil:
    """Make `ids` all zero and of `size` bytes; what it was goes into `old`.  0 or an errno."""
    cdef size_t before = ids.size
    cdef int status
    segment_init(old)
    if ids.fd < 0:
        old[0] = ids[0]
        segment_init(ids)
        status = segment_grow(ids, size)
        if status != 0:
            ids[0] = old[0]
        return status
    # A file stays what it is: its contents go and come back.
    status = segment_grow(old, before)
    if status == 0:
        status = segment_grow(ids, size)
    if status != 0:
        segment_release(old)
        return status
    if before != 0:
        memcpy(old.base, ids.base, before)
        memset(ids.base, 0, before)
    return 0


cdef bint set_valid(const Segment* ids, uint32_t count) noexcept nogil:
    if ids.size == 0:
        return count == 0
    if ids.size < sizeof(SetHeader):
        return 0
    if set_capacity(ids) > (ids.size - sizeof(SetHeader)) // sizeof(uint64_t):
        return 0
    return set_capacity(ids) != 0 and set_count(ids) == count and count <= set_limit(ids)


cdef uint32_t set_index(const Segment* ids, uint32_t hash, uint32_t id) noexcept nogil:
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t capacity = set_capacity(ids)
    cdef uint64_t entry = set_entry(hash, id)
    cdef uint32_t i = set_home(hash, capacity)
    cdef uint32_t left
    for left in range(capacity):
        if entries[i] == entry:
            return i
        i += 1
        if i == capacity:
            i = 0
    return capacity


cdef uint32_t set_guess(const Segment* ids, uint32_t hash) noexcept nogil:
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t capacity = set_capacity(ids)
    cdef uint32_t i = set_home(hash, capacity)
    cdef uint32_t left
    for left in range(capacity):
        if entries[i] == 0:
            break
        if <uint32_t>(entries[i] >> 32) == hash:
            return <uint32_t>entries[i] - 1
        i += 1
        if i == capacity:
            i = 0
    return 0


cdef bint set_remove(Segment* ids, uint32_t hash, uint32_t id) noexcept nogil:
    cdef uint32_t at = set_index(ids, hash, id)
    if at == set_capacity(ids):
        return 0
    set_erase(ids, at)
    return 1


cdef void set_erase(Segment* ids, uint32_t at) noexcept nogil:
    cdef SetHeader* header = <SetHeader*>ids.base
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t capacity = header.capacity
    cdef uint32_t hole = at
    cdef uint32_t i = at
    cdef uint32_t home, from_home, from_hole, left
    header.count -= 1
    for left in range(capacity):
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
