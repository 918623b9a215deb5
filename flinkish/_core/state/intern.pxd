# Rows for whole columns of keys: the same rows as one by one, with the memory fetched ahead.
#
# Finding a key costs three reads of memory that no cache holds once there are many keys: its
# slot of the index, its row, and the bytes of a long key.  The column is taken in blocks; each
# read is asked for in the whole block before the first key of it needs it.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t


# `count` keys; `numbers` or `offsets` with `text`, the others NULL.  Nothing here is owned.
cdef struct KeyColumn:
    Py_ssize_t count
    uint8_t tag                 # of every key; TAG_EMPTY: each key's first byte is its own
    const int64_t* numbers      # keys of eight bytes
    const int32_t* offsets      # count + 1 of them: key i is text[offsets[i]:offsets[i + 1]]
    const char* text
    Py_ssize_t text_size
    const int32_t* key_groups   # or NULL: all keys are of the table's first

cdef enum KeyFault:
    KEYS_GOOD = 0
    KEY_OUTSIDE = 1             # its offsets descend or leave the text
    KEY_UNTAGGED = 2            # it is empty, or its own tag is none that it could have
    KEY_FOREIGN = 3             # its key group is not the table's

# Whether every key can be a key of this table; where not, `at` is the first that cannot.
cdef KeyFault check_column(Table* table, const KeyColumn* keys, Py_ssize_t* at) noexcept nogil

# The error for a fault at key `at`, other than KEY_FOREIGN.
cdef int raise_fault(KeyFault fault, const KeyColumn* keys, Py_ssize_t at) except -1

# Write the row of each key of a good column, made when there is none.  0 or an errno; then the
# rows of some keys have been made.
cdef int intern_column(Table* table, const KeyColumn* keys, uint32_t* rows) noexcept nogil
