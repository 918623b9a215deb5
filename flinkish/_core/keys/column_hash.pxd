# Java hash codes of the rows of an Arrow array, without the GIL.
#
# Free functions on structs that somebody else owns; KeyColumn (key_columns.pxd) is the owner.
# A range of rows is (start, rows): row `start` + i of the array, its `offset` not counted in.
# `mask` has a byte for each of these rows, not 0 = null; NULL = no nulls.  What lies under a null
# may be anything, so it is never looked at where that could matter.

from libc.stdint cimport int32_t, int64_t, uint8_t

from flinkish._core.columns.records cimport ArrowArray, ArrowSchema

# The Java types that a key, a field of a key or a column can have.
cdef enum KeyKind:
    KIND_ANY          # not said: a Python value goes by its Python type
    KIND_BOOL         # Boolean
    KIND_INT          # Byte, Short, Integer: the value itself
    KIND_LONG         # Long
    KIND_FLOAT        # Float
    KIND_DOUBLE       # Double
    KIND_STR          # String
    KIND_BYTES        # byte[] through Arrays.hashCode
    KIND_DATE         # java.time.LocalDate
    KIND_TIMESTAMP    # java.time.Instant
    KIND_DECIMAL      # BigDecimal
    KIND_TUPLE        # Flink's Tuple of fields
    KIND_NULL         # nothing but nulls
    KIND_WIDENED      # Integer where 32 bits hold the value, else Long

# What a call came to.
cdef enum HashStatus:
    HASH_OK
    HASH_NO_MEMORY
    HASH_BAD_TEXT         # a row is not UTF-8
    HASH_TOO_WIDE         # a number does not fit the Java type
    HASH_BAD_INDEX        # a dictionary index outside the dictionary

cdef struct ColumnType:
    int layout            # Layout
    int kind              # KeyKind by which it is hashed unless told otherwise
    int32_t width         # bytes a row where all have as many, else 0
    int64_t detail        # LAYOUT_EPOCH: parts of a second; LAYOUT_DECIMAL: scale

# Describe a type; of a dictionary, that of its values.  LAYOUT_UNKNOWN, also returned, when it
# or a type inside it has no Java hash.
cdef int column_type(const ArrowSchema* schema, ColumnType* out) noexcept nogil

# False where no row can be null.
cdef bint column_may_have_nulls(
    const ArrowSchema* schema, const ArrowArray* array
) noexcept nogil

# Set mask[i] for every null row (a struct is null when any of its fields is); leave the others.
cdef int column_mark_nulls(
    const ArrowSchema* schema, const ArrowArray* array, int64_t start, int64_t rows,
    uint8_t* mask
) noexcept nogil

# codes[i] = hash of row i as `kind`, which must be one that column_type's kind can be hashed as:
# itself, KIND_INT, KIND_LONG and KIND_WIDENED for integers, KIND_FLOAT or KIND_DOUBLE for float32.  On failure
# `bad` is the first row that it is about, or -1 for a value of a dictionary.
cdef int column_hash(
    const ArrowSchema* schema, const ArrowArray* array, int64_t start, int64_t rows, int kind,
    const uint8_t* mask, int32_t* codes, int64_t* bad
) noexcept nogil
