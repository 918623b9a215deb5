# An index of (id, hash): linear probing, backward shift, no tombstones.

from libc.stdint cimport uint32_t, uint64_t

cdef struct Slot:
    uint32_t id                 # plus one; all is 0 of an empty one
    uint32_t hash

# 1, or 0 without change in one that is full, or that does not have the id: it is damaged.
cdef bint index_insert(Slot* index, uint32_t mask, uint32_t identifier, uint32_t hash) noexcept nogil
cdef bint index_remove(Slot* index, uint32_t mask, uint32_t identifier, uint32_t hash) noexcept nogil

# Keep the sum of an index's slots as one is taken, or freed.  Where a slot is does not matter, but
# a bit that flips in one makes another sum.
cdef void sum_slot(uint64_t* total, uint32_t identifier, uint32_t hash, bint taken) noexcept nogil
