# Entries: the elements of list states and the pairs of map states.
#
# The cell of such a state heads a doubly linked chain in order of arrival; map entries are
# found through one open-addressing index for the whole table.  `data` and `key` must not
# point into the table: it may move.

from libc.stdint cimport int64_t, uint8_t, uint32_t


# The entry of a map key, or NO_ROW.
cdef uint32_t table_find_entry(Table* table, uint32_t row, uint32_t cell, uint8_t key_tag,
                               uint32_t key_size, const char* key) noexcept nogil

# The same in parts, for a caller that looks for many: their hashes first; then for each of a few
# the memory asked for, in three steps, each of which needs what the one before it asked for; then
# found.
cdef uint32_t hash_entry(uint32_t row, uint32_t cell, uint8_t key_tag, uint32_t key_size,
                         const char* key) noexcept nogil
cdef void table_fetch_entry(Table* table, uint32_t hash, int step) noexcept nogil
cdef uint32_t table_find_hashed(Table* table, uint32_t hash, uint32_t row, uint32_t cell,
                                uint8_t key_tag, uint32_t key_size, const char* key) noexcept nogil

# Append an entry to a chain, with exactly the id `wanted` unless that is NO_ROW.  For an
# element of a list `key_tag` is TAG_EMPTY.  0 or an errno: EDOM when the cell has a single value.
cdef int table_append(Table* table, uint32_t row, uint32_t cell, uint8_t key_tag,
                      uint32_t key_size, const char* key, uint8_t tag, uint32_t size,
                      const char* data, int64_t time, uint32_t wanted) noexcept nogil
cdef int table_set_entry(Table* table, uint32_t entry, uint8_t tag, uint32_t size,
                         const char* data, int64_t time) noexcept nogil
cdef int table_touch_entry(Table* table, uint32_t entry, int64_t time) noexcept nogil
cdef int table_remove_entry(Table* table, uint32_t entry) noexcept nogil

# Empty a cell, chain and all.
cdef int table_clear(Table* table, uint32_t row, uint32_t cell) noexcept nogil

# Room for this many map entries without growing the index again.
cdef int table_reserve_map(Table* table, uint32_t entries) noexcept nogil

# Free a row with everything in its cells.  Its timers must be gone.
cdef void table_free_row(Table* table, uint32_t row) noexcept nogil

# Chain all free rows and entries again after a replay chose their ids.
cdef void table_rebuild_free(Table* table) noexcept nogil

# Forget what changed since the last commit; rows among it that are empty are freed.
cdef void table_end_interval(Table* table) noexcept nogil
