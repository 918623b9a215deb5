"""Places in the order of their rows; described in ``row_order.pxd``."""

from libc.string cimport memset

cdef enum:
    DIGITS = 4
    VALUES = 256       # of a digit


cdef inline uint32_t digit_of(uint64_t pair, int digit) noexcept nogil:
    return (pair_row(pair) >> (8 * digit)) & (VALUES - 1)


cdef uint64_t* sort_pairs(uint64_t* pairs, uint64_t* room, size_t count) noexcept nogil:
    cdef size_t[DIGITS * VALUES] places
    cdef size_t* mine
    cdef uint64_t* sorted = pairs
    cdef size_t at, before, size
    cdef uint32_t value
    cdef int digit
    memset(places, 0, sizeof(places))
    for at in range(count):
        for digit in range(DIGITS):
            places[digit * VALUES + digit_of(pairs[at], digit)] += 1
    for digit in range(DIGITS):
        mine = places + digit * VALUES
        if count == 0 or mine[digit_of(sorted[0], digit)] == count:
            continue
        before = 0
        for value in range(VALUES):
            size = mine[value]
            mine[value] = before
            before += size
        for at in range(count):
            value = digit_of(sorted[at], digit)
            room[mine[value]] = sorted[at]
            mine[value] += 1
        sorted, room = room, sorted
    return sorted
