"""Rows of keyed state: an index of keys, cells of values, counts of timers."""

cimport cython
from libc.errno cimport EBADMSG, EDOM, EINVAL, EOVERFLOW
from libc.stdint cimport UINT32_MAX
from libc.string cimport memcpy, memmove, memset

from flinkish._core.memory.segment cimport (
    segment_reserve, slab_capacity, slab_free, slab_holds, slab_take,
)
from flinkish._core.timers.timers cimport (
    Timer, Timers, timers_add, timers_peek, timers_poll, timers_remove,
)
from flinkish._core.values.values cimport TAG_CHAIN, TAG_EMPTY, hash_bytes, same_bytes

# Of all tables: any may scribble here.
cdef Cell[TABLE_CELLS + 2] BLANK  # as long as the longest row


cdef inline size_t row_bytes(Table* table) noexcept nogil:
    return sizeof(Row) + header_of(table).stride * sizeof(Cell)


cdef char* table_outside(Table* table) noexcept nogil:
    table.damaged = True
    memset(BLANK, 0, max(sizeof(Entry), row_bytes(table)))
    return <char*>BLANK


cdef int ids_reserve(Ids* ids) noexcept nogil:
    if ids.count == UINT32_MAX:
        return EOVERFLOW
    return segment_reserve(&ids.segment, (<size_t>ids.count + 1) * sizeof(uint32_t))


cdef int ids_push(Ids* ids, uint32_t value) noexcept nogil:
    cdef int status = ids_reserve(ids)
    if status != 0:
        return status
    ids_at(ids)[ids.count] = value
    ids.count += 1
    return 0


# --- rows --------------------------------------------------------------------------------

cdef uint32_t table_find(Table* table, uint8_t tag, uint32_t size, const char* data,
                         uint32_t hash) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef Slot* index = <Slot*>table.index.base
    cdef uint32_t mask, at, left
    cdef Row* row
    if header.live_rows == 0:
        return NO_ROW
    mask = left = header.index_size - 1
    at = hash & mask
    while index[at].id != 0:
        if index[at].hash == hash:
            row = row_at(table, index[at].id - 1)
            if row.tag == tag and row.size == size \
                    and same_bytes(size, &row.word, &table.slab, data):
                return index[at].id - 1
        if left == 0:
            table.damaged = True
            break
        left -= 1
        at = (at + 1) & mask
    return NO_ROW


cdef int fill_row(Table* table, uint32_t row, uint8_t tag, uint32_t size, const char* data,
                  uint32_t hash, uint16_t key_group) noexcept nogil:
    """Write the key into the free row `row` and enter it into the index."""
    cdef TableHeader* header
    cdef uint64_t word = 0
    cdef Row* made
    cdef int status = index_reserve(table, header_of(table).live_rows + 1)
    if status != 0:
        return status
    status = table_put_bytes(table, &word, 0, size, data, &word)
    if status != 0:
        return status
    header = header_of(table)
    made = row_place(table, row)
    memset(made, 0, row_bytes(table))
    made.word = word
    made.size = size
    made.hash = hash
    made.key_group = key_group
    made.tag = tag
    made.flags = ROW_FRESH if table.tracking else 0
    if not index_insert(<Slot*>table.index.base, header.index_size - 1, row, hash,
                        &header.index_sum):
        table.damaged = True
        return EBADMSG
    header.live_rows += 1
    return 0


cdef int table_intern(Table* table, uint8_t tag, uint32_t size, const char* data,
                      uint16_t key_group, uint32_t* row) noexcept nogil:
    return table_intern_hashed(table, tag, size, data, hash_bytes(tag, size, data), key_group, row)


cdef int table_intern_hashed(Table* table, uint8_t tag, uint32_t size, const char* data,
                             uint32_t hash, uint16_t key_group, uint32_t* row) noexcept nogil:
    cdef uint32_t found = table_find(table, tag, size, data, hash)
    cdef TableHeader* header
    cdef uint32_t next_free
    cdef int status
    row[0] = found
    if found != NO_ROW:
        return 0
    if table.tracking:
        status = ids_reserve(&table.touched)
        if status != 0:
            return status
    header = header_of(table)
    if header.free_row != 0:
        found = header.free_row - 1
        if row_at(table, found).tag != TAG_EMPTY or table.damaged:
            table.damaged = True
            return EBADMSG
        next_free = row_at(table, found).timers
        status = fill_row(table, found, tag, size, data, hash, key_group)
        if status == 0:
            header_of(table).free_row = next_free
    else:
        found = header.rows
        if found == NO_ROW - 1:
            return EOVERFLOW
        status = segment_reserve(&table.rows, (<size_t>found + 1) * row_bytes(table))
        if status != 0:
            return status
        status = fill_row(table, found, tag, size, data, hash, key_group)
        if status == 0:
            header_of(table).rows = found + 1
    if status != 0:
        return status
    row[0] = found
    return table_touch(table, found)


cdef int table_restore_row(Table* table, uint32_t row, uint8_t tag, uint32_t size,
                           const char* data, uint16_t key_group) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef uint32_t hash = hash_bytes(tag, size, data)
    cdef int status
    if row < header.rows and row_at(table, row).tag != TAG_EMPTY:
        return EINVAL
    if table_find(table, tag, size, data, hash) != NO_ROW:
        return EINVAL
    status = segment_reserve(&table.rows, (<size_t>row + 1) * row_bytes(table))
    if status != 0:
        return status
    status = fill_row(table, row, tag, size, data, hash, key_group)
    if status == 0 and header_of(table).rows <= row:
        header_of(table).rows = row + 1
    return status


cdef void table_drop_row(Table* table, uint32_t row) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef Row* gone = row_at(table, row)
    if gone.tag == TAG_EMPTY \
            or not index_remove(<Slot*>table.index.base, header.index_size - 1, row, gone.hash,
                                &header.index_sum):
        table.damaged = True
        return
    table_free_bytes(table, gone.word, gone.size)
    memset(gone, 0, row_bytes(table))
    gone.timers = header.free_row
    header.free_row = row + 1
    header.live_rows -= 1


cdef int table_reserve_rows(Table* table, uint32_t rows) noexcept nogil:
    cdef int status = segment_reserve(&table.rows, <size_t>rows * row_bytes(table))
    if status != 0:
        return status
    return index_reserve(table, rows)


cdef bint row_is_empty(Table* table, uint32_t row) noexcept nogil:
    cdef uint32_t cell
    if row_at(table, row).timers != 0:
        return False
    for cell in range(header_of(table).stride):
        if cell_at(table, row, cell).tag != TAG_EMPTY:
            return False
    return True


cdef int table_touch(Table* table, uint32_t row) noexcept nogil:
    cdef int status
    if not table.tracking or row_at(table, row).flags & ROW_TOUCHED:
        return 0
    status = ids_push(&table.touched, row)
    if status == 0:
        row_at(table, row).flags |= ROW_TOUCHED
        header_of(table).changing = 1
    return status


cdef int table_widen(Table* table, uint32_t stride) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef size_t old = row_bytes(table)
    cdef size_t new = sizeof(Row) + stride * sizeof(Cell)
    cdef uint32_t row = header.rows
    cdef int status
    if stride <= header.stride:
        return 0
    if stride > TABLE_CELLS:
        return EOVERFLOW
    status = segment_reserve(&table.rows, row * new)
    if status != 0:
        return status
    # From the last row down, so that no row is overwritten before it has moved.
    while row > 0:
        row -= 1
        memmove(table.rows.base + row * new, table.rows.base + row * old, old)
        memset(table.rows.base + row * new + old, 0, new - old)
    # What lay beyond the last row is expected to be zero.
    header.stride = stride
    return 0


# --- values ------------------------------------------------------------------------------

cdef void table_free_bytes(Table* table, uint64_t word, uint32_t size) noexcept nogil:
    if size > 8 and not slab_free(&table.slab, word, size):
        table.damaged = True


cdef int table_put_bytes(Table* table, uint64_t* word, uint32_t old_size, uint32_t size,
                         const char* data, uint64_t* result) noexcept nogil:
    cdef uint64_t place = word[0] if old_size > 8 else 0
    cdef uint64_t small = 0
    cdef int status
    if old_size > 8 and not slab_holds(&table.slab, place, old_size):
        table.damaged = True
        return EBADMSG
    if size <= 8:
        if place != 0:
            slab_free(&table.slab, place, old_size)
        memcpy(&small, data, size)
        result[0] = small
        return 0
    if place == 0 or slab_capacity(old_size) != slab_capacity(size):
        status = slab_take(&table.slab, size, &small)
        if status != 0:
            return status
        if place != 0:
            slab_free(&table.slab, place, old_size)
        place = small
    memcpy(table.slab.base + place, data, size)
    result[0] = place
    return 0


cdef int table_set(Table* table, uint32_t row, uint32_t cell, uint8_t tag, uint32_t size,
                   const char* data) noexcept nogil:
    cdef Cell* target = cell_at(table, row, cell)
    cdef int status
    if target.tag == TAG_CHAIN:
        return EDOM
    status = table_touch(table, row)
    if status != 0:
        return status
    if size <= 8 and target.size <= 8:
        target.word = 0
        memcpy(&target.word, data, size)
    else:
        status = table_put_bytes(table, &target.word, target.size, size, data, &target.word)
        if status != 0:
            return status
    target.size = size
    target.tag = tag
    if table.tracking:
        target.flags |= CELL_DIRTY
    return 0


# --- timers ------------------------------------------------------------------------------

cdef inline int reserve_touch(Table* table) noexcept nogil:
    """Let the next `table_touch` succeed.  0, or -errno as timers have it."""
    return -ids_reserve(&table.touched) if table.tracking else 0


@cython.overflowcheck(False)
cdef int table_group(Table* table, uint32_t row, const Timers* timers,
                     uint32_t* group) noexcept nogil:
    # Below the first group this wraps around and is out of range as well.
    group[0] = row_at(table, row).key_group - header_of(table).first_key_group
    if group[0] < timers.groups:
        return 0
    table.damaged = True
    return EBADMSG


cdef int table_add_timer(Table* table, Timers* timers, int64_t timestamp, uint32_t row,
                         uint32_t service) noexcept nogil:
    cdef uint32_t group = 0
    cdef int added = -table_group(table, row, timers, &group) or reserve_touch(table)
    if added == 0:
        added = timers_add(timers, timestamp, row, service, group)
    if added > 0:
        row_at(table, row).timers += 1
        table_touch(table, row)
    return added


cdef int table_remove_timer(Table* table, Timers* timers, int64_t timestamp, uint32_t row,
                            uint32_t service) noexcept nogil:
    cdef uint32_t group = 0
    cdef int removed = -table_group(table, row, timers, &group) or reserve_touch(table)
    if removed == 0:
        removed = timers_remove(timers, timestamp, row, service, group)
    if removed > 0:
        row_at(table, row).timers -= 1
        table_touch(table, row)
    return removed


cdef int table_poll_timer(Table* table, Timers* timers, int64_t until, Timer* out) noexcept nogil:
    cdef int polled
    if not timers_peek(timers, out) or out.timestamp > until:
        return -EBADMSG if timers.damaged else 0
    polled = reserve_touch(table)
    if polled == 0:
        polled = timers_poll(timers, out)
    if polled > 0:
        row_at(table, out.key).timers -= 1
        table_touch(table, out.key)
    return polled
