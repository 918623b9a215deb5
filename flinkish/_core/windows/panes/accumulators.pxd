# Accumulators of built-in aggregates: records of a fixed size in which zero means "nothing yet".
#
# A record starts with the number of its elements; after it each step has a place:
#
#   STEP_COUNT    8 bytes   values that are not null
#   STEP_INT     16 bytes   their sum, 128 bits in two's complement: no sum of int64 overflows
#   STEP_FLOAT   16 bytes   their sum as high part and error (Neumaier), so that the rounded sum
#                           hardly ever depends on the order in which values came
#   STEP_EXTREME  8 bytes   the greatest code of a value; codes rise with the value, or fall with it
#   STEP_PICK    16 bytes   the greatest code of an arrival, and the value (8 bytes) that had it
#
# Because zero is nothing and every step is commutative, two records are merged without asking
# what is in them, in any order, and memory that was just made is a good record.  The first and
# last value by arrival are picked by numbers that the caller gives elements, from 1 on.
#
# Values are words of eight bytes: int64, or the bits of a double.  Nothing here allocates.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    STEP_COUNT = 0
    STEP_INT = 1
    STEP_FLOAT = 2
    STEP_EXTREME = 3
    STEP_PICK = 4
    MOST_STEPS = 64
    RECORD_WORDS = 129       # of eight bytes: the longest record
    NO_GROUP = 0             # the record that takes what goes nowhere

cdef struct Step:
    uint8_t kind
    bint is_float            # what the words of the column are
    bint lowest              # the least value, the first arrival
    uint32_t column
    uint32_t offset          # in the record

cdef struct Layout:
    uint32_t count           # steps
    uint32_t stride          # bytes of a record, a multiple of 8
    uint32_t columns         # that the steps read
    Step[MOST_STEPS] steps

# A column of a batch.  `valid` is an Arrow bitmap from bit `bit` on, or NULL: no nulls.
cdef struct WordColumn:
    const uint64_t* words
    const uint8_t* valid
    int64_t bit

cdef inline bint word_is_valid(const WordColumn* column, int64_t row) noexcept nogil:
    cdef int64_t bit = column.bit + row
    return column.valid == NULL or (column.valid[bit >> 3] >> (bit & 7)) & 1

cdef inline int64_t record_elements(const char* record) noexcept nogil:
    return (<const int64_t*>record)[0]

# Take one row of the columns into a record.  `arrival` is the number of the element.
cdef void record_add(const Layout* layout, char* record, const WordColumn* columns, int64_t row,
                     uint64_t arrival) noexcept nogil

# Take `count` rows from `row` on, each into the record of its group: records[groups[i]].  The
# first of them is element number `arrival`.
cdef void records_add(const Layout* layout, char* records, const uint32_t* groups,
                      const WordColumn* columns, int64_t row, int64_t count,
                      uint64_t arrival) noexcept nogil

# Take into one record what the other has taken.
cdef void record_merge(const Layout* layout, char* into, const char* other) noexcept nogil

# Raise every arrival in a record by `by`: a record made elsewhere counted from 1.
cdef void record_shift(const Layout* layout, char* record, uint64_t by) noexcept nogil

# The last arrival in a record that was picked, or 0.
cdef uint64_t record_last(const Layout* layout, const char* record) noexcept nogil


cdef class AccumulatorLayout:
    cdef Layout layout
    cdef readonly tuple steps


# Columns of a batch as NumPy arrays, held while they are read.
cdef class WordColumns:
    cdef WordColumn[MOST_STEPS] columns
    cdef list owners
    cdef Py_ssize_t rows
