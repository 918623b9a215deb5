"""Write the log of a table; `state/log.pxd` describes the form.

What a damaged table holds is not written, lest the log be damaged, too: EBADMSG.
"""

from libc.errno cimport EBADMSG
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memmove

from flinkish._core.state.table cimport (
    CELL_CLEARED, CELL_DIRTY, ENTRY_DIRTY, ENTRY_FRESH, NO_ROW, ROW_FRESH, Cell, Entry, Row,
    cell_at, chain_next, entry_at, hash_entry, header_of, ids_at, row_at, row_is_empty,
)
from flinkish._core.timers.timers cimport (
    Timer, Timers, timers_get, timers_next_fresh, timers_removed,
)
from flinkish._core.values.values cimport (
    TAG_CHAIN, TAG_EMPTY, TAG_FLOAT, TAG_INT, bytes_of, hash_bytes, value_fits,
)


cdef int compare_ids(const void* a, const void* b) noexcept nogil:
    cdef uint32_t left = (<const uint32_t*>a)[0], right = (<const uint32_t*>b)[0]
    return (left > right) - (left < right)


cdef inline void need(bint sound, Writer* writer) noexcept nogil:
    """Write no more unless what is to be written is sound."""
    if not sound and writer.status == 0:
        writer.status = EBADMSG


cdef uint32_t place_of(const Ids* rows, uint32_t row, Writer* writer) noexcept nogil:
    """Where `row` is among the sorted `rows`."""
    cdef const uint32_t* ids = <const uint32_t*>rows.segment.base
    cdef uint32_t low = 0, high = rows.count, middle
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < row:
            low = middle + 1
        else:
            high = middle
    need(low < rows.count and ids[low] == row, writer)
    return low


cdef int write_changes(Table* table, Writer* writer) noexcept nogil:
    cdef Ids* rows = &table.touched
    cdef uint32_t at, kept = 0, row
    cdef uint32_t* ids = ids_at(rows)
    qsort(ids, rows.count, sizeof(uint32_t), compare_ids)
    # Rows that came and went leave no trace; here they move after the others.
    for at in range(rows.count):
        row = ids[at]
        if not (row_at(table, row).flags & ROW_FRESH and row_is_empty(table, row)):
            ids[at] = ids[kept]
            ids[kept] = row
            kept += 1
    qsort(ids, kept, sizeof(uint32_t), compare_ids)
    if kept == 0:
        return 0
    at, rows.count = rows.count, kept
    put_byte(writer, LOG_CHANGES)
    write_rows(table, rows, False, writer)
    write_cells(table, rows, False, writer)
    write_cleared(table, rows, writer)
    write_removed_entries(table, writer)
    write_changed_entries(table, rows, writer)
    write_changed_timers(&table.event, rows, writer)
    write_changed_timers(&table.processing, rows, writer)
    rows.count = at
    return writer.status


cdef int write_whole(Table* table, Ids* rows, bint first, const Ids* event, const Ids* processing,
                     Writer* writer) noexcept nogil:
    put_byte(writer, LOG_WHOLE if first else LOG_CHANGES)
    write_rows(table, rows, True, writer)
    write_cells(table, rows, True, writer)
    put_number(writer, 0)
    put_number(writer, 0)
    write_all_entries(table, rows, writer)
    write_all_timers(&table.event, rows, event, writer)
    write_all_timers(&table.processing, rows, processing, writer)
    return writer.status


cdef int write_timers(Table* table, Ids* rows, const Ids* event, const Ids* processing,
                      Writer* writer) noexcept nogil:
    cdef uint32_t at, kept = 0
    for at in range(rows.count):
        if row_at(table, ids_at(rows)[at]).timers != 0:
            ids_at(rows)[kept] = ids_at(rows)[at]
            kept += 1
    rows.count = kept
    put_byte(writer, LOG_CHANGES)
    write_ids(rows, writer)
    for at in range(rows.count):
        put_byte(writer, 0)
    for _ in range(4):  # cells, chains that were emptied, entries removed, entries put
        put_number(writer, 0)
    write_all_timers(&table.event, rows, event, writer)
    write_all_timers(&table.processing, rows, processing, writer)
    return writer.status


cdef uint64_t bytes_of_row(Table* table, uint32_t row) noexcept nogil:
    cdef uint64_t found = <uint64_t>row_at(table, row).size + 2
    cdef uint32_t number, entry, left
    cdef Cell* cell
    for number in range(header_of(table).stride):
        cell = cell_at(table, row, number)
        left = cell.size
        if cell.tag != TAG_CHAIN:
            found += left
            continue
        entry = chain_next(table, cell, NO_ROW)
        while entry != NO_ROW and left != 0:
            found += <uint64_t>entry_at(table, entry).size + entry_at(table, entry).key_size + 8
            entry = chain_next(table, cell, entry)
            left -= 1
    return found


cdef void write_ids(const Ids* rows, Writer* writer) noexcept nogil:
    cdef const uint32_t* ids = <const uint32_t*>rows.segment.base
    cdef int64_t previous = -1
    cdef uint32_t at
    put_number(writer, rows.count)
    for at in range(rows.count):
        put_number(writer, <uint64_t>(ids[at] - previous - 1))
        previous = ids[at]


cdef void write_rows(Table* table, Ids* rows, bint whole, Writer* writer) noexcept nogil:
    cdef uint32_t at
    cdef Row* row
    cdef const char* key
    cdef uint8_t flags
    write_ids(rows, writer)
    for at in range(rows.count):
        row = row_at(table, ids_at(rows)[at])
        flags = ROW_IS_NEW if whole or row.flags & ROW_FRESH else 0
        if not whole and row_is_empty(table, ids_at(rows)[at]):
            flags |= ROW_IS_GONE
        put_byte(writer, flags)
    for at in range(rows.count):
        row = row_at(table, ids_at(rows)[at])
        if whole or row.flags & ROW_FRESH:
            key = bytes_of(row.size, &row.word, &table.slab)
            need(row.tag != TAG_EMPTY and value_fits(row.tag, row.size) and key != NULL
                 and (not whole or row.hash == hash_bytes(row.tag, row.size, key)), writer)
            put_byte(writer, row.tag)
            put_number(writer, row.size)
            put_bytes(writer, key, row.size)


cdef inline bint cell_counts(const Cell* cell, bint whole) noexcept nogil:
    """Whether a cell's value belongs in the log."""
    if cell.tag == TAG_CHAIN:
        return False
    return cell.tag != TAG_EMPTY if whole else cell.flags & CELL_DIRTY


cdef void write_cells(Table* table, Ids* rows, bint whole, Writer* writer) noexcept nogil:
    cdef uint32_t number, at, count, previous
    cdef int64_t last
    cdef Cell* cell
    put_number(writer, header_of(table).stride)
    for number in range(header_of(table).stride):
        count = 0
        for at in range(rows.count):
            count += cell_counts(cell_at(table, ids_at(rows)[at], number), whole)
        put_number(writer, count)
        previous = 0
        for at in range(rows.count):
            if cell_counts(cell_at(table, ids_at(rows)[at], number), whole):
                put_number(writer, at - previous)
                previous = at
        for at in range(rows.count):
            cell = cell_at(table, ids_at(rows)[at], number)
            if cell_counts(cell, whole):
                put_byte(writer, cell.tag)
        last = 0
        for at in range(rows.count):
            cell = cell_at(table, ids_at(rows)[at], number)
            if cell_counts(cell, whole):
                write_value(table, cell.tag, cell.size, &cell.word, &last, writer)


cdef void write_value(Table* table, uint8_t tag, uint32_t size, const uint64_t* word,
                      int64_t* last, Writer* writer) noexcept nogil:
    need(value_fits(tag, size), writer)
    if tag == TAG_INT:
        put_difference(writer, <int64_t>word[0], last[0])
        last[0] = <int64_t>word[0]
    elif tag == TAG_FLOAT:
        put_bytes(writer, word, 8)
    else:
        put_number(writer, size)
        put_bytes(writer, bytes_of(size, word, &table.slab), size)


cdef void write_cleared(Table* table, Ids* rows, Writer* writer) noexcept nogil:
    cdef uint32_t number, at, count = 0
    for at in range(rows.count):
        for number in range(header_of(table).stride):
            count += (cell_at(table, ids_at(rows)[at], number).flags & CELL_CLEARED) != 0
    put_number(writer, count)
    if count == 0:
        return
    for at in range(rows.count):
        for number in range(header_of(table).stride):
            if cell_at(table, ids_at(rows)[at], number).flags & CELL_CLEARED:
                put_number(writer, at)
                put_number(writer, number)


cdef void write_removed_entries(Table* table, Writer* writer) noexcept nogil:
    cdef uint32_t at
    cdef int64_t previous = 0
    put_number(writer, table.removed_entries.count)
    for at in range(table.removed_entries.count):
        put_difference(writer, ids_at(&table.removed_entries)[at], previous)
        previous = ids_at(&table.removed_entries)[at]


cdef struct EntryBefore:            # what the next entry is written as a difference to
    int64_t id
    int64_t place
    int64_t time
    int64_t value


cdef void write_entry(Table* table, uint32_t id, Ids* rows, bint whole, EntryBefore* before,
                      Writer* writer) noexcept nogil:
    cdef Entry* entry = entry_at(table, id)
    cdef uint32_t place = place_of(rows, entry.row, writer)
    cdef const char* key
    cdef bint new = whole or entry.flags & ENTRY_FRESH
    need(entry.tag != TAG_EMPTY and entry.cell < header_of(table).stride, writer)
    put_byte(writer, ENTRY_IS_NEW if new else 0)
    put_difference(writer, id, before.id)
    put_difference(writer, place, before.place)
    put_number(writer, entry.cell)
    put_difference(writer, entry.time, before.time)
    if new:
        key = bytes_of(entry.key_size, &entry.key_word, &table.slab)
        need(value_fits(entry.key_tag, entry.key_size) and key != NULL and (
            not whole or entry.key_tag == TAG_EMPTY or entry.hash == hash_entry(
                entry.row, entry.cell, entry.key_tag, entry.key_size, key)), writer)
        put_byte(writer, entry.key_tag)
        put_number(writer, entry.key_size)
        put_bytes(writer, key, entry.key_size)
    put_byte(writer, entry.tag)
    write_value(table, entry.tag, entry.size, &entry.word, &before.value, writer)
    before.id = id
    before.place = place
    before.time = entry.time


cdef void write_changed_entries(Table* table, Ids* rows, Writer* writer) noexcept nogil:
    cdef Ids* dirty = &table.dirty_entries
    cdef uint32_t* ids = ids_at(dirty)
    cdef uint32_t at = dirty.count, kept = dirty.count, entry
    cdef EntryBefore before = EntryBefore(0, 0, 0, 0)
    # An id may come twice, when an entry was removed and its id taken again: the last time is
    # its place in the chain.  So go from the end, keep the first seen, and forget the rest.
    while at > 0:
        at -= 1
        entry = ids[at]
        if entry_at(table, entry).flags & ENTRY_DIRTY:
            entry_at(table, entry).flags &= ~ENTRY_DIRTY
            kept -= 1
            ids[kept] = entry
    dirty.count -= kept
    put_number(writer, dirty.count)
    if dirty.count == 0:
        return
    memmove(ids, ids + kept, dirty.count * sizeof(uint32_t))
    for at in range(dirty.count):
        entry = ids[at]
        entry_at(table, entry).flags |= ENTRY_DIRTY
        write_entry(table, entry, rows, False, &before, writer)


cdef void write_all_entries(Table* table, Ids* rows, Writer* writer) noexcept nogil:
    cdef uint32_t at, number, entry
    cdef uint64_t count = 0
    cdef EntryBefore before = EntryBefore(0, 0, 0, 0)
    cdef Cell* cell
    for at in range(rows.count):
        for number in range(header_of(table).stride):
            cell = cell_at(table, ids_at(rows)[at], number)
            count += cell.size if cell.tag == TAG_CHAIN else 0
    put_number(writer, count)
    for at in range(rows.count):
        for number in range(header_of(table).stride):
            cell = cell_at(table, ids_at(rows)[at], number)
            if cell.tag != TAG_CHAIN:
                continue
            entry = chain_next(table, cell, NO_ROW)
            while entry != NO_ROW and count != 0:
                write_entry(table, entry, rows, True, &before, writer)
                entry = chain_next(table, cell, entry)
                count -= 1
            need(entry == NO_ROW, writer)
    need(count == 0, writer)


cdef struct TimerBefore:
    int64_t slot
    int64_t place
    int64_t timestamp


cdef void write_timer(const Timer* timer, Ids* rows, TimerBefore* before, Writer* writer) noexcept nogil:
    cdef uint32_t place = place_of(rows, timer.key, writer)
    put_difference(writer, timer.slot, before.slot)
    put_difference(writer, timer.timestamp, before.timestamp)
    put_difference(writer, place, before.place)
    put_number(writer, timer.ns)
    before.slot = timer.slot
    before.timestamp = timer.timestamp
    before.place = place


cdef void write_changed_timers(Timers* timers, Ids* rows, Writer* writer) noexcept nogil:
    cdef uint32_t* removed = <uint32_t*>timers_removed(timers)
    cdef TimerBefore before = TimerBefore(0, 0, 0)
    cdef size_t cursor = 0, at
    cdef uint32_t count = 0
    cdef int64_t previous = 0
    cdef Timer timer
    put_number(writer, timers.removed_count)
    if timers.removed_count:
        qsort(removed, timers.removed_count, sizeof(uint32_t), compare_ids)
    for at in range(timers.removed_count):
        put_difference(writer, removed[at], previous)
        previous = removed[at]
    while timers_next_fresh(timers, &cursor, &timer):
        count += 1
    put_number(writer, count)
    cursor = 0
    while timers_next_fresh(timers, &cursor, &timer):
        write_timer(&timer, rows, &before, writer)


cdef void write_all_timers(Timers* timers, Ids* rows, const Ids* slots, Writer* writer) noexcept nogil:
    cdef const uint32_t* slot = <const uint32_t*>slots.segment.base
    cdef TimerBefore before = TimerBefore(0, 0, 0)
    cdef uint32_t at
    cdef Timer timer
    put_number(writer, 0)
    put_number(writer, slots.count)
    for at in range(slots.count):
        need(timers_get(timers, slot[at], &timer), writer)
        if writer.status == 0:
            write_timer(&timer, rows, &before, writer)
