# The life of a table: on the heap, or over the files of one key group.
#
# A table is empty (nothing is owned), then open, then empty again.  `table_init` makes it empty
# the first time; after any failure of the others `table_release` does.

from libc.stdint cimport uint32_t, uint64_t


cdef enum:
    STATE_BYTES = 16            # that name a state

# These bytes as words, written to `words`; ValueError if they are not so many.
cdef uint64_t* state_words(bytes state, uint64_t* words) except NULL

cdef void table_init(Table* table) noexcept nogil

# Free all memory and close all files; an empty table may be released again.
cdef void table_release(Table* table) noexcept nogil

# Open an empty table on the heap, for these key groups.
cdef int table_open(Table* table, uint32_t first_key_group, uint32_t last_key_group) except -1

# Open an empty table over TABLE_SEGMENTS files, which are taken over, after a failure too.  They
# are empty with `create`, else ValueError unless they hold a committed table of `key_group` and,
# if `state` is not NULL, were sealed as the table of that state.  -1 for a file stands for memory.
cdef int table_map(Table* table, const int* files, uint32_t key_group, bint create,
                   const uint64_t* state) except -1

# Write into the header which state an open table holds.  It is not to be changed afterwards.
cdef void table_seal(Table* table, const uint64_t* state) noexcept nogil

# Whether all of an open table is in files.
cdef bint table_in_files(Table* table) noexcept nogil
