# Keyed state as flat memory: keys, their cells, entries of lists and maps, their timers.
#
#   key ──index──▶ row ─┬─ cell 0      one value: inline, or a place in the slab
#                       ├─ cell 1      head of a chain of entries (list or map state)
#                       └─ timers      counted here, held in two timer heaps by row id
#
# A row belongs to one key (or to one key in one namespace).  Row ids, entry ids and timer
# slots are stable while their owner lives, and the log (`state_log`) names things by them.
# Everything is in segments: on the heap for a whole operator, or in mapped files for one
# key group on Spark.  What only lives between two commits (what was touched) is on the heap.
#
# Invariants, checked by `_check()`:
#   * a live row is found by the index, and by nothing else twice;
#   * a chain visits exactly the entries whose (row, cell) it heads, `size` of them;
#   * every map entry is found by the map index;
#   * row.timers is the number of its timers in both heaps;
#   * ROW_TOUCHED is set on exactly the rows in `touched`, ENTRY_DIRTY only on entries in
#     `dirty_entries`.
#
# A call that fails has changed nothing that the log would have to hold: first room is made in
# the lists of changes, then in the table, then the change is done.
#
# A mapped table may be damaged: any bit of its files may have flipped while nobody looked.  Its
# headers were verified when it was mapped, and are believed.  Every id, place, size and link of
# the other bytes is compared with its bounds where it is used, and every walk has an end.  What
# leads outside sets `damaged`, and in its stead there is a blank row or entry, or an EBADMSG; from
# then on `StateTable.check_open` refuses, and so do commit and dump.  So nothing that was read
# beside the table gets into a log.  What is within bounds is believed: another value is that value,
# and a key whose slot is damaged is not found.  A dump also compares keys with their hashes.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment
from flinkish._core.timers.timers cimport Timer, Timers

cdef enum:
    NO_ROW = 0xFFFFFFFF         # also: no entry
    ROW_TOUCHED = 1             # in `touched`
    ROW_FRESH = 2               # made since the last commit
    CELL_DIRTY = 1              # changed since the last commit
    CELL_CLEARED = 2            # its chain was emptied since the last commit
    ENTRY_DIRTY = 1
    ENTRY_FRESH = 2
    TABLE_SEGMENTS = 12         # files of a mapped table
    TABLE_CELLS = 0xFFFF        # cells in a row at most
    LAYOUT_VERSION = 4

cdef struct Cell:               # 16 bytes
    uint64_t word               # bytes of the value, or their place; of a chain: its ends
    uint32_t size               # bytes; of a chain: entries
    uint8_t tag
    uint8_t flags
    uint16_t spare

cdef struct Row:                # 24 bytes, then `stride` cells
    uint64_t word               # bytes of the key, or their place in the slab
    uint32_t size
    uint32_t hash
    uint32_t timers             # of a free row: the next free one, plus one
    uint16_t key_group
    uint8_t tag                 # TAG_EMPTY: the row is free
    uint8_t flags

cdef struct Entry:              # 56 bytes
    int64_t time                # last access in ms, for states with a time to live
    uint64_t word               # the value
    uint64_t key_word           # the map key
    uint32_t size
    uint32_t key_size
    uint32_t row                # of a free entry: the next free one, plus one
    uint32_t next               # in its chain, NO_ROW at the end
    uint32_t previous
    uint32_t hash               # of (row, cell, map key)
    uint16_t cell
    uint8_t tag                 # TAG_EMPTY: the entry is free
    uint8_t key_tag             # TAG_EMPTY: an element of a list
    uint8_t flags
    uint8_t spare[3]

cdef struct TableHeader:
    uint64_t magic
    uint32_t layout
    uint32_t stride             # cells in a row
    uint32_t first_key_group
    uint32_t last_key_group
    uint32_t rows               # ids ever used
    uint32_t live_rows
    uint32_t free_row           # plus one
    uint32_t index_size         # slots, a power of two
    uint32_t entries
    uint32_t live_entries
    uint32_t free_entry
    uint32_t map_index_size
    uint32_t map_entries        # entries in the map index
    uint32_t changing           # 1 from the first tracked change to the commit after it
    uint64_t index_sum          # of its slots, see `index_insert`
    uint64_t map_index_sum
    uint64_t[2] state           # of which state this is the table, as `table_seal` was told
    uint64_t checksum           # of all above, of the other headers and of the sizes of all files

cdef struct Ids:                # a growing vector on the heap
    Segment segment
    uint32_t count

cdef struct Table:
    Segment header
    Segment rows
    Segment index
    Segment slab
    Segment entries
    Segment map_index
    Timers event
    Timers processing
    Ids touched                 # rows, once each
    Ids dirty_entries           # in order of change; an id may come twice
    Ids removed_entries         # that the log knows
    bint tracking               # whether the three above are kept
    bint damaged                # something led outside

cdef inline TableHeader* header_of(Table* table) noexcept nogil:
    return <TableHeader*>table.header.base

# For an id beyond the table: note the damage and give zeros, as long as any row or entry, whose
# contents mean nothing and may be written to.
cdef char* table_outside(Table* table) noexcept nogil

# Whether anything led outside, in the timers too.
cdef inline bint table_damaged(const Table* table) noexcept nogil:
    return table.damaged | table.event.damaged | table.processing.damaged

# A row by its id, which may be new: the rows have room for it.
cdef inline Row* row_place(Table* table, uint32_t row) noexcept nogil:
    return <Row*>(table.rows.base
                  + <size_t>row * (sizeof(Row) + header_of(table).stride * sizeof(Cell)))

cdef inline Row* row_at(Table* table, uint32_t row) noexcept nogil:
    if row >= header_of(table).rows:
        return <Row*>table_outside(table)
    return row_place(table, row)

cdef inline Cell* cell_at(Table* table, uint32_t row, uint32_t cell) noexcept nogil:
    if cell >= header_of(table).stride:
        return <Cell*>table_outside(table)
    return <Cell*>(<char*>row_at(table, row) + sizeof(Row) + cell * sizeof(Cell))

cdef inline Entry* entry_at(Table* table, uint32_t entry) noexcept nogil:
    if entry >= header_of(table).entries:
        return <Entry*>table_outside(table)
    return (<Entry*>table.entries.base) + entry

cdef inline uint32_t chain_head(const Cell* cell) noexcept nogil:
    return <uint32_t>cell.word

cdef inline uint32_t chain_tail(const Cell* cell) noexcept nogil:
    return <uint32_t>(cell.word >> 32)

# The entry of a chain that comes after `at`, or its first one after NO_ROW; NO_ROW at the end.
# A walk by these comes to an end: each entry has to name the one before it, so none can
# be come to from two.
cdef inline uint32_t chain_next(Table* table, const Cell* head, uint32_t at) noexcept nogil:
    cdef uint32_t next = chain_head(head) if at == NO_ROW else entry_at(table, at).next
    if next == NO_ROW or entry_at(table, next).previous == at:
        return next
    table.damaged = True
    return NO_ROW

# Append; or make room, so that the next append cannot fail.  0 or an errno.
cdef int ids_push(Ids* ids, uint32_t value) noexcept nogil
cdef int ids_reserve(Ids* ids) noexcept nogil
cdef inline uint32_t* ids_at(Ids* ids) noexcept nogil:
    return <uint32_t*>ids.segment.base

# Statuses are 0 or an errno, EBADMSG for a damaged table; results of that kind come through
# pointers.

# --- rows

# The row of a key, or NO_ROW.
cdef uint32_t table_find(Table* table, uint8_t tag, uint32_t size, const char* data,
                         uint32_t hash) noexcept nogil

# The row of a key, made when there is none.  `hash` is its hash_bytes.
cdef int table_intern_hashed(Table* table, uint8_t tag, uint32_t size, const char* data,
                             uint32_t hash, uint16_t key_group, uint32_t* row) noexcept nogil
cdef int table_intern(Table* table, uint8_t tag, uint32_t size, const char* data,
                      uint16_t key_group, uint32_t* row) noexcept nogil

# Make a row with exactly this id, which must be free (replay of a log).
cdef int table_restore_row(Table* table, uint32_t row, uint8_t tag, uint32_t size,
                           const char* data, uint16_t key_group) noexcept nogil

# Take a row whose cells are empty out of the index and chain it to the free ones.
cdef void table_drop_row(Table* table, uint32_t row) noexcept nogil

# Room for this many rows in all, the index at its final size.
cdef int table_reserve_rows(Table* table, uint32_t rows) noexcept nogil

cdef bint row_is_empty(Table* table, uint32_t row) noexcept nogil

# Note a row as touched since the last commit.
cdef int table_touch(Table* table, uint32_t row) noexcept nogil

# Room for this many cells in every row; EOVERFLOW past TABLE_CELLS.
cdef int table_widen(Table* table, uint32_t stride) noexcept nogil

# --- values.  `data` must not point into the table: it may move.

# Put bytes into a (word, size) pair that holds `old_size` bytes; the slab block is kept,
# exchanged, taken or freed as needed.
cdef int table_put_bytes(Table* table, uint64_t* word, uint32_t old_size, uint32_t size,
                         const char* data, uint64_t* result) noexcept nogil

# Give back the bytes of a (word, size) pair.
cdef void table_free_bytes(Table* table, uint64_t word, uint32_t size) noexcept nogil

# The local key group of a row for the timers: 0 or EBADMSG.
cdef int table_group(Table* table, uint32_t row, const Timers* timers,
                     uint32_t* group) noexcept nogil

# Put a value into a cell; EDOM when it heads a chain.
cdef int table_set(Table* table, uint32_t row, uint32_t cell, uint8_t tag, uint32_t size,
                   const char* data) noexcept nogil

# --- timers: like those of timer_heap, keeping row.timers

# 1 added, 0 there already, or a negative errno.
cdef int table_add_timer(Table* table, Timers* timers, int64_t timestamp, uint32_t row,
                         uint32_t service) noexcept nogil

# 1 removed, 0 not there, or a negative errno.
cdef int table_remove_timer(Table* table, Timers* timers, int64_t timestamp, uint32_t row,
                            uint32_t service) noexcept nogil

# Take out the earliest timer at or before `until`: 1, 0 when there is none, negative errno.
cdef int table_poll_timer(Table* table, Timers* timers, int64_t until, Timer* out) noexcept nogil
