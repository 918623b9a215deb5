# An index of (id, hash): linear probing, backward shift, no tombstones.

from libc.stdint cimport uint32_t, uint64_t

cdef struct Slot:
    uint32_t id                 # plus one; all is 0 of an empty one
    uint32_t hash

# 1, or 0 without change in one that is full, or that does not have the id: it is damaged.  `total`
# is the sum of its slots: where a slot is does not matter, but a bit that flips makes another sum.
cdef bint index_insert(Slot* index, uint32_t mask, uint32_t identifier, uint32_t hash,
                       uint64_t* total) noexcept nogil
cdef bint index_remove(Slot* index, uint32_t mask, uint32_t identifier, uint32_t hash,
                       uint64_t* total) noexcept nogil
