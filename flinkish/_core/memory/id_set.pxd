# A set of ids by hash in one segment: SetHeader, then `capacity` entries of 64 bits.
#
# An entry is hash << 32 | id + 1, and 0 when empty.  Open addressing with linear probing; the
# home of a hash is hash * capacity >> 32, so any capacity will do and hashes ascend through the
# table: growing walks once through the old and the new one and looks at no id.  Erasing moves
# the entries after it back, so there are no tombstones.  At most four entries in five are taken.
#
# What an id stands for, and whether two of them are equal, only the caller knows: it walks from
# set_home to the first empty entry, compares the 32 bits of hash, then what the ids stand for.
# A segment without memory is an empty set with no entry to look at.
#
# A mapped set may be damaged: no walk goes around it more than once.
#
# Status: 0, or -errno of segment_reserve with the set as it was.

from libc.stdint cimport uint32_t, uint64_t


cdef struct SetHeader:
    uint32_t capacity            # entries
    uint32_t count               # taken entries

cdef inline uint64_t* set_entries(const Segment* ids) noexcept nogil:
    return <uint64_t*>(ids.base + sizeof(SetHeader))

cdef inline uint32_t set_capacity(const Segment* ids) noexcept nogil:
    return (<SetHeader*>ids.base).capacity if ids.base != NULL else 0

cdef inline uint32_t set_count(const Segment* ids) noexcept nogil:
    return (<SetHeader*>ids.base).count if ids.base != NULL else 0

cdef inline uint32_t set_home(uint32_t hash, uint32_t capacity) noexcept nogil:
    return <uint32_t>((<uint64_t>hash * capacity) >> 32)

cdef inline uint64_t set_entry(uint32_t hash, uint32_t id) noexcept nogil:
    return (<uint64_t>hash << 32) | (id + 1)

# How many entries may be taken before the set must grow.
cdef inline uint32_t set_limit(const Segment* ids) noexcept nogil:
    cdef uint32_t capacity = set_capacity(ids)
    return capacity - capacity // 5 - 1 if capacity != 0 else 0

# Room for `count` ids in all.
cdef int set_reserve(Segment* ids, size_t count) noexcept nogil

# Whether a mapped segment can be a set of `count` ids, by its header: 1 or 0.
cdef bint set_valid(const Segment* ids, uint32_t count) noexcept nogil

# Add an id at the empty entry that a walk from its home came to; there must be room.
cdef inline void set_take(Segment* ids, uint32_t at, uint32_t hash, uint32_t id) noexcept nogil:
    set_entries(ids)[at] = set_entry(hash, id)
    (<SetHeader*>ids.base).count += 1

# Index of the entry of an id that is in the set; its capacity when a damaged one lacks it.
cdef uint32_t set_index(const Segment* ids, uint32_t hash, uint32_t id) noexcept nogil

# An id of this hash, or 0: a hint, good for asking for memory ahead.
cdef uint32_t set_guess(const Segment* ids, uint32_t hash) noexcept nogil

# Erase an id: 1, or 0 when a damaged set lacks it.
cdef bint set_remove(Segment* ids, uint32_t hash, uint32_t id) noexcept nogil

# Erase the entry at an index; entries after it may move.
cdef void set_erase(Segment* ids, uint32_t at) noexcept nogil

# Erase all; the memory stays.
cdef void set_clear(Segment* ids) noexcept nogil
