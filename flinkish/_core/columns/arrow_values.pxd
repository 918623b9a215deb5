# Values of Arrow columns -> Python objects, one loop a type.
#
# A `Column` lends what its two Arrow structs contain; the owner of those keeps them alive.
# Buffers may lie at any address (a payload that Spark hands over starts anywhere), so every
# value is loaded by memcpy.

from libc.stdint cimport (
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
)
from libc.string cimport memcpy

# How the values of a column become Python objects.
cdef enum Kind:
    AS_NONE             # the null type
    AS_BOOL             # bits
    AS_INT8
    AS_INT16
    AS_INT32
    AS_INT64
    AS_UINT8
    AS_UINT16
    AS_UINT32
    AS_UINT64
    AS_FLOAT
    AS_DOUBLE
    AS_STR              # 32-bit offsets
    AS_LARGE_STR        # 64-bit offsets
    AS_BYTES
    AS_LARGE_BYTES
    AS_DATE             # int32 days
    AS_TIMESTAMP        # int64 units since the epoch
    AS_DECIMAL          # 128 bits
    AS_OTHER            # nested or rare: not for column_values

cdef struct Column:
    const ArrowArray* array   # lent
    Kind kind
    int64_t per_second        # timestamps: units in a second
    bint aware                # timestamps: with a time zone
    int scale                 # decimals: digits after the point

ctypedef fused Number:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

ctypedef fused Offset:
    int32_t
    int64_t

# Describe a column by its two structs, which must outlive it.
cdef void column_describe(Column* column, const ArrowSchema* schema,
                         const ArrowArray* array) noexcept nogil

# Rows `start` to `stop` as Python objects, None for a null; any kind but AS_OTHER.
# ValueError for a value that its Python type cannot hold, naming the row.
cdef list column_values(const Column* column, int64_t start, int64_t stop)

# The value of a row in the data buffer; `kind` only names its type.
cdef inline Number column_load(const ArrowArray* array, int64_t row, Number kind) noexcept nogil:
    cdef Number value
    memcpy(&value, <const char*>array.buffers[1] + (array.offset + row) * <int64_t>sizeof(Number),
           sizeof(Number))
    return value

# The validity bits, NULL when no row is null.
cdef inline const uint8_t* column_validity(const ArrowArray* array) noexcept nogil:
    if array.null_count == 0:
        return NULL
    return <const uint8_t*>array.buffers[0]
