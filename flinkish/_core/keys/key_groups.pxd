# Key groups: Java's hash of a key, mixed by murmur3, modulo the maximum parallelism (Flink:
# KeyGroupRangeAssignment).
#
#   key --hash--> int32 --murmur_hash--> 0 ... 2^31-1 --% max_parallelism--> key group
#
# Hashes: java_hash.pxd for C values, object_hash.pxd for Python objects, column_hash.pxd and
# key_columns.pxd for whole columns.

cimport cython
from libc.stdint cimport int32_t, uint32_t

include "java_hash.pxd"
include "column_hash.pxd"
include "key_columns.pxd"
include "object_hash.pxd"

cdef enum:
    MAX_PARALLELISM_LIMIT = 32768     # largest maximum parallelism

# Flink's MathUtils.murmurHash: never negative.
@cython.overflowcheck(False)
cdef inline int32_t murmur_hash(int32_t code) noexcept nogil:
    cdef uint32_t h = <uint32_t> code
    h *= 0xCC9E2D51u
    h = (h << 15) | (h >> 17)
    h *= 0x1B873593u
    h = (h << 13) | (h >> 19)
    h = (h * 5u + 0xE6546B64u) ^ 4u
    h ^= h >> 16
    h *= 0x85EBCA6Bu
    h ^= h >> 13
    h *= 0xC2B2AE35u
    h ^= h >> 16
    # Negative numbers are negated; the smallest, which has no positive twin, becomes 0.
    return <int32_t> ((0u - h if h >> 31 else h) & 0x7FFFFFFFu)

# The key group of a hash code; 1 <= max_parallelism <= MAX_PARALLELISM_LIMIT.
@cython.cdivision(True)
cdef inline int32_t key_group_of(int32_t code, int32_t max_parallelism) noexcept nogil:
    return murmur_hash(code) % max_parallelism

# 1 ... MAX_PARALLELISM_LIMIT, else ValueError.
cdef int32_t check_max_parallelism(object value) except -1
