"""Panes of keys in a table; described in ``windows/panes/panes.pxd``."""

from libc.errno cimport EBADMSG, EINVAL
from libc.stdint cimport INT64_MAX
from libc.string cimport memset

from flinkish._core.memory.segment cimport prefetch, slab_holds
from flinkish._core.state.table cimport (
    NO_ROW, Cell, Entry, cell_at, chain_next, chain_tail, entry_at, hash_entry, row_at,
    table_add_timer, table_append, table_fetch_entry, table_find_hashed, table_remove_entry,
    table_touch_entry,
)
from flinkish._core.values.values cimport TAG_BYTES, TAG_CHAIN, TAG_EMPTY, TAG_INT, bytes_of

cdef enum:
    AHEAD = 24  # groups whose memory is asked for at once


# --- blocks --------------------------------------------------------------------------------------

cdef inline uint32_t hash_block(Panes* panes, uint32_t row, int64_t block) noexcept nogil:
    return hash_entry(row, panes.cell, TAG_INT, 8, <const char*>&block)


cdef inline uint32_t entry_of(Panes* panes, uint32_t row, int64_t block, uint32_t hash) noexcept nogil:
    return table_find_hashed(panes.table, hash, row, panes.cell, TAG_INT, 8, <const char*>&block)


cdef inline char* records_of(Panes* panes, uint32_t entry) noexcept nogil:
    cdef Entry* found = entry_at(panes.table, entry)
    return <char*>bytes_of(found.size, &found.word, &panes.table.slab)


cdef inline bint is_block(Panes* panes, uint32_t entry) noexcept nogil:
    """Whether an entry has the size of a block; one from a damaged log or table may not."""
    # A lone count, of eight bytes, lies in the entry itself.
    return entry_at(panes.table, entry).size == panes.block_bytes and (
        panes.block_bytes <= 8
        or slab_holds(&panes.table.slab, entry_at(panes.table, entry).word, panes.block_bytes))


cdef inline char* pane_in(Panes* panes, char* block, int64_t pane) noexcept nogil:
    if panes.shift == 0:
        return block
    return block + (1 + (pane & ((1 << panes.shift) - 1))) * panes.layout.stride


cdef inline char* find_block(Panes* panes, uint32_t row, int64_t block) noexcept nogil:
    """A block to read, or NULL; remembered."""
    cdef uint32_t place = <uint32_t>(block & (NEAR - 1)), entry
    cdef uint64_t bit = <uint64_t>1 << place
    if not panes.near_known & bit or panes.near_numbers[place] != block:
        entry = entry_of(panes, row, block, hash_block(panes, row, block))
        panes.near_blocks[place] = NULL
        if entry != NO_ROW and is_block(panes, entry):
            panes.near_blocks[place] = records_of(panes, entry)
        panes.near_numbers[place] = block
        panes.near_known |= bit
    return <char*>panes.near_blocks[place]


cdef inline int64_t block_cleanup(Panes* panes, int64_t block) noexcept nogil:
    """When the last window of the last pane of a block is forgotten."""
    cdef int64_t last = ((block + 1) << panes.shift) - 1
    return cleanup_time(&panes.shape, last_end(&panes.shape, last))


cdef int make_block(Panes* panes, uint32_t row, int64_t block, uint32_t* entry) noexcept nogil:
    cdef int64_t cleanup = block_cleanup(panes, block)
    cdef int status = table_append(
        panes.table, row, panes.cell, TAG_INT, 8, <const char*>&block, TAG_BYTES,
        panes.block_bytes, panes.nothing.base, 0, NO_ROW)
    if status != 0:
        return status
    entry[0] = chain_tail(cell_at(panes.table, row, panes.cell))
    if cleanup == INT64_MAX or (panes.single and panes.shape.lateness == 0):
        return 0
    status = table_add_timer(panes.table, &panes.table.event, cleanup, row, CLEANUP)
    return -status if status < 0 else 0


cdef inline bint leads_on(Panes* panes, char* block, int64_t pane) noexcept nogil:
    """Whether the first window of the pane before, in the same block, is still to fire."""
    return pane & ((1 << panes.shift) - 1) != 0 \
        and record_elements(pane_in(panes, block, pane - 1)) != 0 \
        and first_end(&panes.shape, pane - 1) - 1 > panes.watermark


cdef int open_block(Panes* panes, uint32_t row, int64_t number, uint32_t hash,
                    char** block) noexcept nogil:
    """A block to change; made when there is none."""
    cdef uint32_t entry
    cdef int status
    if row_at(panes.table, row).tag == TAG_EMPTY:
        return EINVAL
    entry = entry_of(panes, row, number, hash)
    if entry == NO_ROW:
        status = make_block(panes, row, number, &entry)
    elif not is_block(panes, entry):
        return EBADMSG
    else:
        status = table_touch_entry(panes.table, entry, 0)
    if status == 0:
        block[0] = records_of(panes, entry)
    return status


cdef int open_pane(Panes* panes, uint32_t row, int64_t pane, char* block) noexcept nogil:
    """Have a pane of a block, about to be changed, lead to its windows.

    If it was empty it gets the timer of its first window that is not due, unless the pane before
    it leads there.
    """
    cdef int64_t end
    cdef int status
    if record_elements(pane_in(panes, block, pane)) != 0:
        return 0
    end = first_end(&panes.shape, pane)
    if end - 1 <= panes.watermark:
        end = due_end(&panes.shape, last_end(&panes.shape, pane), panes.watermark) \
            + panes.shape.unit
        if end > last_end(&panes.shape, pane):
            return 0
    elif leads_on(panes, block, pane):
        return 0
    # Timers are in other segments: the block stays where it is.
    status = table_add_timer(panes.table, &panes.table.event, end - 1, row, FIRE)
    return -status if status < 0 else 0


cdef int merge_pane(Panes* panes, uint32_t row, int64_t pane, char* block,
                    const char* record) noexcept nogil:
    cdef int status = open_pane(panes, row, pane, block)
    if status != 0:
        return status
    record_merge(panes.layout, pane_in(panes, block, pane), record)
    if panes.shift:
        record_merge(panes.layout, block, record)
    return 0


cdef int pane_merge(Panes* panes, uint32_t row, int64_t pane, const char* record) noexcept nogil:
    cdef int64_t number = pane >> panes.shift
    cdef char* block
    cdef int status = open_block(panes, row, number, hash_block(panes, row, number), &block)
    return merge_pane(panes, row, pane, block, record) if status == 0 else status


cdef int panes_merge_groups(Panes* panes, Groups* groups) noexcept nogil:
    # In the order of rows, where panes of a block mostly follow one another: it is looked for once.
    cdef uint64_t* pairs
    cdef uint32_t[AHEAD] hashes
    cdef bint[AHEAD] other           # than the block of the one before
    cdef uint32_t start = 1, group, count, i
    cdef GroupName* name
    cdef GroupName* before = NULL
    cdef char* block = NULL
    cdef int step, status = panes_reserve_pairs(panes, groups.count)
    if status != 0:
        return status
    pairs = <uint64_t*>panes.pairs.base
    for group in range(1, groups.count):
        pairs[group - 1] = row_pair(group_name(groups, group).row, group)
    pairs = sort_pairs(pairs, pairs + groups.count, groups.count - 1)
    while start < groups.count:
        count = min(groups.count - start, <uint32_t>AHEAD)
        for i in range(count):
            name = group_name(groups, pair_place(pairs[i]))
            other[i] = before == NULL or name.row != before.row \
                or name.pane >> panes.shift != before.pane >> panes.shift
            if other[i]:
                hashes[i] = hash_block(panes, name.row, name.pane >> panes.shift)
                prefetch(row_at(panes.table, name.row))
            before = name
        for step in range(3):
            for i in range(count):
                if other[i]:
                    table_fetch_entry(panes.table, hashes[i], step)
        for i in range(count):
            group = pair_place(pairs[i])
            name = group_name(groups, group)
            if other[i]:
                status = open_block(panes, name.row, name.pane >> panes.shift, hashes[i], &block)
                if status != 0:
                    return status
            status = merge_pane(panes, name.row, name.pane, block, group_record(groups, group))
            if status != 0:
                return status
        pairs += count
        start += count
    return 0


cdef int forget_block(Panes* panes, uint32_t row, int64_t block) noexcept nogil:
    cdef uint32_t entry = entry_of(panes, row, block, hash_block(panes, row, block))
    return 0 if entry == NO_ROW else table_remove_entry(panes.table, entry)


cdef int forget_blocks(Panes* panes, uint32_t row, int64_t time) noexcept nogil:
    # Panes that share this cleanup time are those whose last window has this end.
    cdef int64_t end = time - panes.shape.lateness + 1
    cdef int64_t begin = window_begin(&panes.shape, end)
    cdef int64_t block = pane_of(&panes.shape, begin) >> panes.shift
    cdef int64_t last = pane_of(&panes.shape, end - 1) >> panes.shift
    cdef int status
    while block <= last:
        if block_cleanup(panes, block) > time:
            break
        if block_cleanup(panes, block) == time:
            status = forget_block(panes, row, block)
            if status != 0:
                return status
        block += 1
    return 0


cdef void fetch_blocks(Panes* panes, uint32_t row, int64_t end) noexcept nogil:
    cdef uint32_t[AHEAD] hashes
    cdef int64_t block = pane_of(&panes.shape, window_begin(&panes.shape, end)) >> panes.shift
    cdef int64_t last = pane_of(&panes.shape, end - 1) >> panes.shift
    cdef int64_t count = min(last - block + 1, <int64_t>AHEAD), i
    cdef int step
    for i in range(count):
        hashes[i] = hash_block(panes, row, block + i)
    for step in range(3):
        for i in range(count):
            table_fetch_entry(panes.table, hashes[i], step)


# --- windows -------------------------------------------------------------------------------------

cdef bint merge_block(Panes* panes, char* block, int64_t number, int64_t pane, int64_t after,
                      char* record) noexcept nogil:
    """Merge those panes of a block that are from `pane` to `after`; whether one has elements.

    Without a record only say so.
    """
    cdef int64_t first = number << panes.shift, next = (number + 1) << panes.shift
    cdef bint found = False
    if record_elements(block) == 0:
        return False
    if pane <= first and next <= after:
        if record != NULL:
            record_merge(panes.layout, record, block)
        return True
    for pane in range(max(pane, first), min(next, after)):
        if record_elements(pane_in(panes, block, pane)) != 0:
            found = True
            if record == NULL:
                break
            record_merge(panes.layout, record, pane_in(panes, block, pane))
    return found


cdef bint merge_time(Panes* panes, uint32_t row, int64_t begin, int64_t end,
                     char* record) noexcept nogil:
    cdef int64_t pane = pane_of(&panes.shape, begin), after = pane_of(&panes.shape, end)
    cdef int64_t number = pane >> panes.shift, last = (after - 1) >> panes.shift
    cdef Cell* head = cell_at(panes.table, row, panes.cell)
    cdef uint32_t entry
    cdef char* block
    cdef bint found = False
    if head.tag == TAG_CHAIN and head.size < <uint64_t>(last - number + 1):
        # Of a long time most blocks are not there: go through those that are.
        entry = chain_next(panes.table, head, NO_ROW)
        while entry != NO_ROW and not (found and record == NULL):
            number = <int64_t>entry_at(panes.table, entry).key_word
            if is_block(panes, entry) and pane >> panes.shift <= number <= last:
                found |= merge_block(panes, records_of(panes, entry), number, pane, after, record)
            entry = chain_next(panes.table, head, entry)
        return found
    while number <= last and not (found and record == NULL):
        block = find_block(panes, row, number)
        if block != NULL:
            found |= merge_block(panes, block, number, pane, after, record)
        number += 1
    return found


cdef void window_record(Panes* panes, uint32_t row, int64_t end, char* record) noexcept nogil:
    memset(record, 0, panes.layout.stride)
    merge_time(panes, row, window_begin(&panes.shape, end), end, record)


cdef bint window_has_elements(Panes* panes, uint32_t row, int64_t end) noexcept nogil:
    return merge_time(panes, row, window_begin(&panes.shape, end), end, NULL)


cdef int pane_add_late(Panes* panes, uint32_t row, int64_t pane, const WordColumn* columns,
                       int64_t at, uint64_t arrival) noexcept nogil:
    cdef int64_t first = first_end(&panes.shape, pane)
    cdef int64_t last, end
    cdef char* block
    cdef char* record
    cdef int64_t number = pane >> panes.shift
    cdef int status = open_block(panes, row, number, hash_block(panes, row, number), &block)
    if status == 0:
        status = open_pane(panes, row, pane, block)
    if status != 0:
        return status
    record_add(panes.layout, pane_in(panes, block, pane), columns, at, arrival)
    if panes.shift:
        record_add(panes.layout, block, columns, at, arrival)
    panes_forget_near(panes)
    last = due_end(&panes.shape, last_end(&panes.shape, pane), panes.watermark)
    while first <= last and cleanup_time(&panes.shape, first) <= panes.watermark:
        first += panes.shape.unit
    while first <= last:
        end = first if panes.shape.cycle else last
        status = fired_push(&panes.fired, row, window_begin(&panes.shape, end), end, &record)
        if status != 0:
            return status
        window_record(panes, row, end, record)
        if panes.shape.cycle:
            first += panes.shape.unit
        else:
            last -= panes.shape.unit
    return 0
