# Places in the order of their rows: what concerns a row comes together, and its state is looked
# for once.
#
# A pair is a row in the upper half of 64 bits and a place in the lower one.  They are sorted by row,
# equal rows as they came, eight bits at a time from the lowest on (a radix sort): a pass over the
# pairs for each eight bits in which rows differ.  Nothing here allocates.

from libc.stdint cimport uint32_t, uint64_t

cdef inline uint64_t row_pair(uint32_t row, uint32_t place) noexcept nogil:
    return <uint64_t>row << 32 | place

cdef inline uint32_t pair_row(uint64_t pair) noexcept nogil:
    return <uint32_t>(pair >> 32)

cdef inline uint32_t pair_place(uint64_t pair) noexcept nogil:
    return <uint32_t>pair

# The sorted pairs: in `pairs` or in `room`, which has space for as many.
cdef uint64_t* sort_pairs(uint64_t* pairs, uint64_t* room, size_t count) noexcept nogil
