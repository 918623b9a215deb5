"""Chains of entries: list and map states."""

from libc.errno cimport EBADMSG, EDOM, EINVAL, EOVERFLOW
from libc.stdint cimport uint16_t, uint64_t
from libc.string cimport memset

from flinkish._core.memory.segment cimport mix64, prefetch, segment_reserve
from flinkish._core.timers.timers cimport timers_clear_changes
from flinkish._core.values.values cimport TAG_CHAIN, TAG_EMPTY, hash_bytes, same_bytes


cdef inline void set_chain(Cell* cell, uint32_t head, uint32_t tail) noexcept nogil:
    cell.word = head | (<uint64_t>tail << 32)


cdef uint32_t hash_entry(uint32_t row, uint32_t cell, uint8_t key_tag, uint32_t key_size,
                         const char* key) noexcept nogil:
    cdef uint64_t mixed = mix64((<uint64_t>row << 32) | (cell << 8) | 1)
    mixed = mix64(mixed ^ hash_bytes(key_tag, key_size, key))
    return <uint32_t>mixed


# --- the map index -----------------------------------------------------------------------

cdef int map_resize(Table* table, uint32_t slots) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef Entry* entry
    cdef uint32_t at, left = header.map_entries
    cdef int status = segment_reserve(&table.map_index, <size_t>slots * sizeof(Slot))
    if status != 0:
        return status
    memset(table.map_index.base, 0, <size_t>slots * sizeof(Slot))
    header.map_index_sum = 0
    for at in range(header.entries):
        entry = entry_at(table, at)
        if entry.tag != TAG_EMPTY and entry.key_tag != TAG_EMPTY:
            if left == 0:
                table.damaged = True
                break
            left -= 1
            index_insert(<Slot*>table.map_index.base, slots - 1, at, entry.hash,
                         &header.map_index_sum)
    header.map_index_size = slots
    return EBADMSG if table.damaged else 0


cdef int table_reserve_map(Table* table, uint32_t entries) noexcept nogil:
    cdef uint64_t slots = slots_for(header_of(table).map_index_size, entries)
    if slots == header_of(table).map_index_size:
        return 0
    return map_resize(table, <uint32_t>slots) if slots <= MOST_SLOTS else EOVERFLOW


cdef uint32_t table_find_entry(Table* table, uint32_t row, uint32_t cell, uint8_t key_tag,
                               uint32_t key_size, const char* key) noexcept nogil:
    return table_find_hashed(table, hash_entry(row, cell, key_tag, key_size, key), row, cell,
                             key_tag, key_size, key)


cdef void table_fetch_entry(Table* table, uint32_t hash, int step) noexcept nogil:
    cdef Slot* slot
    cdef Entry* entry
    if header_of(table).map_entries == 0:
        return
    slot = (<Slot*>table.map_index.base) + (hash & (header_of(table).map_index_size - 1))
    if step == 0:
        prefetch(slot)
    elif slot.id != 0 and slot.hash == hash:
        entry = entry_at(table, slot.id - 1)
        if step == 1:
            prefetch(entry)
            prefetch(<char*>entry + sizeof(Entry) - 1)
        elif entry.size > 8 and entry.word < table.slab.size:
            prefetch(table.slab.base + entry.word)


cdef uint32_t table_find_hashed(Table* table, uint32_t hash, uint32_t row, uint32_t cell,
                                uint8_t key_tag, uint32_t key_size, const char* key) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef Slot* index = <Slot*>table.map_index.base
    cdef uint32_t mask, at, left
    cdef Entry* entry
    if header.map_entries == 0:
        return NO_ROW
    mask = left = header.map_index_size - 1
    at = hash & mask
    while index[at].id != 0:
        if index[at].hash == hash:
            entry = entry_at(table, index[at].id - 1)
            if entry.row == row and entry.cell == cell and entry.key_tag == key_tag \
                    and entry.key_size == key_size \
                    and same_bytes(key_size, &entry.key_word, &table.slab, key):
                return index[at].id - 1
        if left == 0:
            table.damaged = True
            break
        left -= 1
        at = (at + 1) & mask
    return NO_ROW


# --- entries -----------------------------------------------------------------------------

cdef int take_entry(Table* table, uint32_t wanted, uint32_t* taken) noexcept nogil:
    """A free entry: `wanted`, or the first of the free chain, or a new one."""
    cdef TableHeader* header = header_of(table)
    cdef uint32_t entry = wanted
    cdef int status
    if wanted == NO_ROW:
        if header.free_entry != 0:
            entry = header.free_entry - 1
            if entry_at(table, entry).tag != TAG_EMPTY or table.damaged:
                table.damaged = True
                return EBADMSG
            header.free_entry = entry_at(table, entry).row
            taken[0] = entry
            return 0
        entry = header.entries
        if entry == NO_ROW - 1:
            return EOVERFLOW
    elif entry < header.entries:
        taken[0] = entry
        return 0 if entry_at(table, entry).tag == TAG_EMPTY else EINVAL
    status = segment_reserve(&table.entries, (<size_t>entry + 1) * sizeof(Entry))
    if status != 0:
        return status
    header_of(table).entries = entry + 1
    memset(entry_at(table, entry), 0, sizeof(Entry))
    taken[0] = entry
    return 0


cdef inline void give_back(Table* table, uint32_t entry) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    memset(entry_at(table, entry), 0, sizeof(Entry))
    entry_at(table, entry).row = header.free_entry
    header.free_entry = entry + 1


cdef int note_entry(Table* table, uint32_t entry) noexcept nogil:
    """Note an entry, and so its row, as changed since the last commit."""
    cdef int status
    if not table.tracking or entry_at(table, entry).flags & ENTRY_DIRTY:
        return 0
    status = table_touch(table, entry_at(table, entry).row)
    if status == 0:
        status = ids_push(&table.dirty_entries, entry)
    if status == 0:
        entry_at(table, entry).flags |= ENTRY_DIRTY
    return status


cdef int table_append(Table* table, uint32_t row, uint32_t cell, uint8_t key_tag,
                      uint32_t key_size, const char* key, uint8_t tag, uint32_t size,
                      const char* data, int64_t time, uint32_t wanted) noexcept nogil:
    cdef uint32_t at, tail
    cdef uint64_t word = 0, key_word = 0
    cdef Entry* entry
    cdef Cell* head
    cdef int status
    head = cell_at(table, row, cell)
    if head.tag != TAG_CHAIN and head.tag != TAG_EMPTY:
        return EDOM
    status = table_touch(table, row)
    if status == 0 and table.tracking:
        status = ids_reserve(&table.dirty_entries)
    if status == 0 and key_tag != TAG_EMPTY:
        status = table_reserve_map(table, header_of(table).map_entries + 1)
    if status == 0:
        status = take_entry(table, wanted, &at)
    if status != 0:
        return status
    status = table_put_bytes(table, &word, 0, size, data, &word)
    if status == 0:
        status = table_put_bytes(table, &key_word, 0, key_size, key, &key_word)
        if status != 0:
            table_free_bytes(table, word, size)
    if status != 0:
        give_back(table, at)
        return status
    entry = entry_at(table, at)
    entry.time = time
    entry.word = word
    entry.key_word = key_word
    entry.size = size
    entry.key_size = key_size
    entry.row = row
    entry.next = NO_ROW
    entry.cell = <uint16_t>cell
    entry.tag = tag
    entry.key_tag = key_tag
    entry.flags = ENTRY_FRESH if table.tracking else 0
    if head.tag == TAG_EMPTY:
        entry.previous = NO_ROW
        head.tag = TAG_CHAIN
        head.size = 1
        set_chain(head, at, at)
    else:
        tail = chain_tail(head)
        entry.previous = tail
        entry_at(table, tail).next = at
        head.size += 1
        set_chain(head, chain_head(head), at)
    if key_tag != TAG_EMPTY:
        entry.hash = hash_entry(row, cell, key_tag, key_size, key)
        if not index_insert(<Slot*>table.map_index.base, header_of(table).map_index_size - 1, at,
                            entry.hash, &header_of(table).map_index_sum):
            table.damaged = True
        header_of(table).map_entries += 1
    header_of(table).live_entries += 1
    return EBADMSG if table.damaged else note_entry(table, at)


cdef int table_set_entry(Table* table, uint32_t entry, uint8_t tag, uint32_t size,
                         const char* data, int64_t time) noexcept nogil:
    cdef Entry* target = entry_at(table, entry)
    cdef int status = note_entry(table, entry)
    if status == 0:
        status = table_put_bytes(table, &target.word, target.size, size, data, &target.word)
    if status != 0:
        return status
    target.size = size
    target.tag = tag
    target.time = time
    return 0


cdef int table_touch_entry(Table* table, uint32_t entry, int64_t time) noexcept nogil:
    cdef int status = note_entry(table, entry)
    if status == 0:
        entry_at(table, entry).time = time
    return status


cdef void drop_entry(Table* table, uint32_t at) noexcept nogil:
    """Free an entry that its chain has let go."""
    cdef TableHeader* header = header_of(table)
    cdef Entry* entry = entry_at(table, at)
    if entry.tag == TAG_EMPTY:
        table.damaged = True
        return
    if entry.key_tag != TAG_EMPTY:
        if header.map_entries == 0 or not index_remove(
                <Slot*>table.map_index.base, header.map_index_size - 1, at, entry.hash,
                &header.map_index_sum):
            table.damaged = True
            return
        header.map_entries -= 1
    table_free_bytes(table, entry.word, entry.size)
    table_free_bytes(table, entry.key_word, entry.key_size)
    header.live_entries -= 1
    give_back(table, at)


cdef int table_remove_entry(Table* table, uint32_t at) noexcept nogil:
    cdef Entry* entry = entry_at(table, at)
    cdef Cell* head = cell_at(table, entry.row, entry.cell)
    cdef uint32_t first = chain_head(head), last = chain_tail(head)
    cdef int status = 0
    if head.tag != TAG_CHAIN or entry.tag == TAG_EMPTY or table.damaged:
        table.damaged = True
        return EBADMSG
    if table.tracking:
        status = table_touch(table, entry.row)
        if status == 0 and not entry.flags & ENTRY_FRESH:
            status = ids_push(&table.removed_entries, at)
        if status != 0:
            return status
    if entry.previous == NO_ROW:
        first = entry.next
    else:
        entry_at(table, entry.previous).next = entry.next
    if entry.next == NO_ROW:
        last = entry.previous
    else:
        entry_at(table, entry.next).previous = entry.previous
    head.size -= 1
    if head.size == 0:
        head.tag = TAG_EMPTY
        head.word = 0
    else:
        set_chain(head, first, last)
    drop_entry(table, at)
    return EBADMSG if table.damaged else 0


cdef void drop_chain(Table* table, Cell* head) noexcept nogil:
    cdef uint32_t entry = chain_next(table, head, NO_ROW)
    cdef uint32_t following
    while entry != NO_ROW:
        following = chain_next(table, head, entry)
        drop_entry(table, entry)
        entry = following
    head.word = 0
    head.size = 0
    head.tag = TAG_EMPTY


cdef int table_clear(Table* table, uint32_t row, uint32_t cell) noexcept nogil:
    cdef Cell* target = cell_at(table, row, cell)
    cdef int status
    if target.tag == TAG_EMPTY:
        return 0
    status = table_touch(table, row)
    if status != 0:
        return status
    if target.tag == TAG_CHAIN:
        drop_chain(table, target)
        if table.tracking:
            target.flags |= CELL_CLEARED
        return EBADMSG if table.damaged else 0
    table_free_bytes(table, target.word, target.size)
    target.word = 0
    target.size = 0
    target.tag = TAG_EMPTY
    if table.tracking:
        target.flags |= CELL_DIRTY
    return EBADMSG if table.damaged else 0


# --- rows as a whole ---------------------------------------------------------------------

cdef void table_free_row(Table* table, uint32_t row) noexcept nogil:
    cdef uint32_t cell
    cdef Cell* target
    for cell in range(header_of(table).stride):
        target = cell_at(table, row, cell)
        if target.tag == TAG_CHAIN:
            drop_chain(table, target)
        else:
            table_free_bytes(table, target.word, target.size)
    table_drop_row(table, row)


cdef void table_rebuild_free(Table* table) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    cdef uint32_t at
    # Down, so that the lowest ids are taken first.
    header.free_row = 0
    at = header.rows
    while at > 0:
        at -= 1
        if row_at(table, at).tag == TAG_EMPTY:
            row_at(table, at).timers = header.free_row
            header.free_row = at + 1
    header.free_entry = 0
    at = header.entries
    while at > 0:
        at -= 1
        if entry_at(table, at).tag == TAG_EMPTY:
            entry_at(table, at).row = header.free_entry
            header.free_entry = at + 1


cdef void table_end_interval(Table* table) noexcept nogil:
    cdef uint32_t at, row, cell
    for at in range(table.dirty_entries.count):
        entry_at(table, ids_at(&table.dirty_entries)[at]).flags = 0
    for at in range(table.touched.count):
        row = ids_at(&table.touched)[at]
        row_at(table, row).flags &= ~(ROW_TOUCHED | ROW_FRESH)
        for cell in range(header_of(table).stride):
            cell_at(table, row, cell).flags = 0
        if row_is_empty(table, row):
            table_drop_row(table, row)
    table.touched.count = 0
    table.dirty_entries.count = 0
    table.removed_entries.count = 0
    header_of(table).changing = 0
    timers_clear_changes(&table.event)
    timers_clear_changes(&table.processing)
