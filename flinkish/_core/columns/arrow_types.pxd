# Types of Arrow arrays, by their format strings: how the rows of an array lie in memory.

from libc.stdint cimport int32_t, int64_t

cdef enum Layout:
    LAYOUT_UNKNOWN
    LAYOUT_NULL
    LAYOUT_BITS           # a bit a boolean
    LAYOUT_FLAGS          # a byte a boolean: format "?", ours, for NumPy
    LAYOUT_INT
    LAYOUT_UINT
    LAYOUT_FLOAT
    LAYOUT_OFFSETS_32     # strings and binary
    LAYOUT_OFFSETS_64
    LAYOUT_VIEWS
    LAYOUT_FIXED
    LAYOUT_DAYS
    LAYOUT_EPOCH
    LAYOUT_DECIMAL
    LAYOUT_STRUCT

cdef struct ArrowType:
    int layout            # Layout
    bint flag             # strings, not binary; LAYOUT_EPOCH: with a time zone
    int32_t width         # bytes a row where all have as many, else 0
    int64_t detail        # LAYOUT_EPOCH: parts of a second; LAYOUT_DECIMAL: digits after the point

# Describe one level of a type; of a dictionary, its indices.  Its layout is returned, too.
cdef int arrow_type(const ArrowSchema* schema, ArrowType* out) noexcept nogil
