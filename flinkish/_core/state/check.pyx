"""The invariants of `state/rows.pxd`, checked one by one."""

from libc.stdint cimport uint32_t

from flinkish._core.timers.timers cimport Timer, Timers, timers_fault, timers_get, timers_header
from flinkish._core.values.values cimport TAG_CHAIN, TAG_EMPTY, bytes_of, hash_bytes


cdef int check_table(Table* table) except -1:
    check_rows(table)
    check_chains(table)
    check_free(table)
    check_timers(table)
    check_touched(table)
    return 0


cdef int check_rows(Table* table) except -1:
    cdef TableHeader* header = header_of(table)
    cdef uint32_t at, live = 0
    cdef Row* row
    cdef const char* key
    for at in range(header.rows):
        row = row_at(table, at)
        if row.tag == TAG_EMPTY:
            continue
        live += 1
        key = bytes_of(row.size, &row.word, &table.slab)
        assert key != NULL, f"the key of row {at} is outside"
        assert row.hash == hash_bytes(row.tag, row.size, key), f"row {at} has a wrong hash"
        assert table_find(table, row.tag, row.size, key, row.hash) == at, f"row {at} is not found"
        assert header.first_key_group <= row.key_group <= header.last_key_group
    assert live == header.live_rows, f"{live} live rows, the header says {header.live_rows}"
    assert sum_of_slots(&table.index, header.index_size) == header.index_sum
    assert sum_of_slots(&table.map_index, header.map_index_size) == header.map_index_sum
    return 0


cdef int check_chains(Table* table) except -1:
    cdef TableHeader* header = header_of(table)
    cdef uint32_t row, at, entry, previous, length, seen = 0, in_map = 0
    cdef Cell* cell
    cdef Entry* found
    for row in range(header.rows):
        if row_at(table, row).tag == TAG_EMPTY:
            continue
        for at in range(header.stride):
            cell = cell_at(table, row, at)
            if cell.tag != TAG_CHAIN:
                continue
            previous, length, entry = NO_ROW, 0, chain_head(cell)
            while entry != NO_ROW:
                found = entry_at(table, entry)
                assert found.tag != TAG_EMPTY and found.row == row and found.cell == at
                assert found.previous == previous, f"entry {entry} points back wrongly"
                assert bytes_of(found.size, &found.word, &table.slab) != NULL
                if found.key_tag != TAG_EMPTY:
                    assert bytes_of(found.key_size, &found.key_word, &table.slab) != NULL
                    in_map += 1
                    assert entry == table_find_entry(
                        table, row, at, found.key_tag, found.key_size,
                        bytes_of(found.key_size, &found.key_word, &table.slab),
                    ), f"map entry {entry} is not found"
                previous, entry = entry, found.next
                length += 1
                assert length <= cell.size, f"the chain of row {row} is longer than it says"
            assert length == cell.size and previous == chain_tail(cell)
            seen += length
    assert seen == header.live_entries, f"{seen} entries, the header says {header.live_entries}"
    assert in_map == header.map_entries
    return 0


cdef int check_free(Table* table) except -1:
    cdef TableHeader* header = header_of(table)
    cdef uint32_t chain, length = 0
    chain = header.free_row
    while chain:
        assert row_at(table, chain - 1).tag == TAG_EMPTY
        chain = row_at(table, chain - 1).timers
        length += 1
        assert length <= header.rows, "free rows go in a circle"
    assert length == header.rows - header.live_rows, "free rows are lost"
    chain, length = header.free_entry, 0
    while chain:
        assert entry_at(table, chain - 1).tag == TAG_EMPTY
        chain = entry_at(table, chain - 1).row
        length += 1
        assert length <= header.entries, "free entries go in a circle"
    assert length == header.entries - header.live_entries, "free entries are lost"
    return 0


cdef int check_timers(Table* table) except -1:
    cdef list counts = [0] * header_of(table).rows
    cdef uint32_t at
    cdef const char* fault
    for which in range(2):
        timers = &table.processing if which else &table.event
        fault = timers_fault(timers)
        assert fault == NULL, fault.decode()
        count_timers(timers, counts)
    for at in range(header_of(table).rows):
        if row_at(table, at).tag != TAG_EMPTY:
            assert row_at(table, at).timers == counts[at], f"row {at} counts its timers wrongly"
        else:
            assert counts[at] == 0, f"the free row {at} has timers"
    return 0


cdef int count_timers(Timers* timers, list counts) except -1:
    cdef uint32_t slot
    cdef Timer timer
    for slot in range(timers_header(timers).used):
        if timers_get(timers, slot, &timer):
            assert timer.key < <uint32_t>len(counts), f"a timer of row {timer.key}"
            counts[timer.key] += 1
    return 0


cdef int check_touched(Table* table) except -1:
    cdef set listed = {ids_at(&table.touched)[at] for at in range(table.touched.count)}
    cdef set dirty = {ids_at(&table.dirty_entries)[at] for at in range(table.dirty_entries.count)}
    cdef uint32_t row, cell, entry
    assert len(listed) == table.touched.count, "a row was touched twice"
    assert table.tracking or not listed, "changes are kept though nobody asked for them"
    assert header_of(table).changing or not listed, "changes that a crash would hide"
    for row in range(header_of(table).rows):
        if row_at(table, row).tag == TAG_EMPTY:
            continue
        assert bool(row_at(table, row).flags & ROW_TOUCHED) == (row in listed)
        if row not in listed:
            assert row_at(table, row).flags == 0, f"row {row} has flags of an earlier interval"
            for cell in range(header_of(table).stride):
                assert cell_at(table, row, cell).flags == 0, f"row {row} has a stale cell {cell}"
    for entry in range(header_of(table).entries):
        if entry_at(table, entry).tag != TAG_EMPTY:
            assert entry_at(table, entry).flags == 0 or entry in dirty, f"entry {entry} is stale"
    return 0
