# Time to live: what has outlived it, and a sweep that takes all of that away.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.state.table cimport Table

# Whether what was last accessed at `time` has, after `ttl`, expired by `now` (all in ms): an
# access at t expires at t + ttl, that instant included.  Nothing expires before time began.
cdef inline bint has_outlived(int64_t time, int64_t ttl, int64_t now) noexcept nogil:
    if now < <int64_t>(<unsigned long long>1 << 63) + ttl:
        return False
    return time <= now - ttl

# A state with a time to live: the first of its cells.  A chain has the times in its entries, a
# single value in the cell after its own.
cdef struct Expiry:
    int64_t ttl
    uint32_t cell
    bint is_chain

# Remove from a row what the states have outlived; how much, or -errno.
cdef int64_t row_expire(Table* table, uint32_t row, const Expiry* expiries, size_t count,
                        int64_t now) noexcept nogil
