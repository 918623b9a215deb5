"""Apply the log of a table; `state/log.pxd` describes the form."""

from libc.errno cimport EBADMSG
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport segment_init, segment_release
from flinkish._core.state.table cimport (
    NO_ROW, Entry, entry_at, header_of, ids_at, ids_push, row_at, table_add_timer, table_append,
    table_clear, table_find_entry, table_free_row, table_intern, table_remove_entry,
    table_reserve_map, table_reserve_rows, table_restore_row, table_set, table_set_entry,
)
from flinkish._core.timers.timers cimport (
    Timer, Timers, timers_get, timers_insert_at, timers_remove_slot,
)
from flinkish._core.values.values cimport (
    PIECE_HEAD, TAG_EMPTY, TAG_FLOAT, TAG_INT, TAG_PICKLE, TAG_SCOPED, Piece, piece_at, value_fits,
)


cdef struct Pass:                   # what the sections share
    Table* table
    Reader* reader
    const Ids* cells
    Ids rows                        # ids of the rows, by their place in the log
    Ids flags
    int ids
    unsigned short key_group
    bint whole


cdef struct Value:
    uint8_t tag
    uint32_t size
    uint64_t word
    const char* data


cdef void read_value(Reader* reader, uint8_t tag, int64_t* last, Value* out) noexcept nogil:
    out.tag = tag
    out.size = 8
    if tag == TAG_INT:
        last[0] = get_difference(reader, last[0])
        out.word = <uint64_t>last[0]
        out.data = <const char*>&out.word
        return
    if tag != TAG_FLOAT:
        out.size = get_count(reader)
    out.data = <const char*>get_bytes(reader, out.size)
    if tag > TAG_PICKLE or not value_fits(tag, out.size):
        reader.failed = True


cdef int read_log(Table* table, Reader* reader, const Ids* cells, int ids, unsigned short key_group) noexcept nogil:
    cdef Pass state
    cdef int status
    cdef uint8_t kind = get_byte(reader)
    state.table = table
    state.reader = reader
    state.cells = cells
    state.ids = ids
    state.key_group = key_group
    state.whole = kind == LOG_WHOLE
    state.rows.count = state.flags.count = 0
    segment_init(&state.rows.segment)
    segment_init(&state.flags.segment)
    if reader.failed or kind > LOG_WHOLE or (ids == NEW_IDS and not state.whole):
        return EBADMSG
    status = read_rows(&state)
    if status == 0:
        status = read_cells(&state)
    if status == 0:
        status = read_cleared(&state)
    if status == 0:
        status = read_removed_entries(&state)
    if status == 0:
        status = read_entries(&state)
    if status == 0:
        status = read_timers(&state, &table.event)
    if status == 0:
        status = read_timers(&state, &table.processing)
    if status == 0:
        status = drop_gone_rows(&state)
    if status == 0 and (reader.failed or reader.at != reader.end):
        status = EBADMSG
    segment_release(&state.rows.segment)
    segment_release(&state.flags.segment)
    return status


cdef int read_rows(Pass* state) noexcept nogil:
    cdef Reader* reader = state.reader
    cdef uint32_t count = get_count(reader), at, row, size
    cdef uint32_t held = header_of(state.table).live_rows
    cdef uint64_t gap
    cdef int64_t id = -1
    cdef uint8_t flags, tag
    cdef const char* key
    cdef int status = 0
    if state.whole:
        status = table_reserve_rows(state.table, held + count)
    for at in range(count):
        gap = get_number(reader)
        id += 1 + <int64_t>min(gap, <uint64_t>NO_ROW)
        if id >= NO_ROW:
            return EBADMSG
        if status == 0:
            status = ids_push(&state.rows, <uint32_t>id)
    for at in range(count):
        if status == 0:
            status = ids_push(&state.flags, get_byte(reader))
    if status != 0:
        return status
    for at in range(count):
        row = ids_at(&state.rows)[at]
        flags = <uint8_t>ids_at(&state.flags)[at]
        if not flags & ROW_IS_NEW:
            if state.whole or row >= header_of(state.table).rows \
                    or row_at(state.table, row).tag == TAG_EMPTY \
                    or row_at(state.table, row).key_group != state.key_group:
                return EBADMSG
            continue
        tag = get_byte(reader)
        size = get_count(reader)
        key = <const char*>get_bytes(reader, size)
        if reader.failed or tag == TAG_EMPTY or not value_fits(tag, size) \
                or tag == TAG_SCOPED and not is_pair(size, key):
            return EBADMSG
        if state.ids == SAME_IDS:
            status = table_restore_row(state.table, row, tag, size, key, state.key_group)
        else:
            status = table_intern(state.table, tag, size, key, state.key_group, &row)
            ids_at(&state.rows)[at] = row
        if status != 0:
            return status
        if header_of(state.table).live_rows <= held:
            return EBADMSG  # the key has a row already
        held += 1
    return 0


cdef bint is_pair(uint32_t size, const char* data) noexcept nogil:
    """Whether bytes are a key and a namespace: two values and nothing after them."""
    cdef Piece piece
    cdef int at
    for at in range(2):
        if not piece_at(data, size, &piece) or piece.tag == TAG_EMPTY or piece.tag == TAG_SCOPED \
                or not value_fits(piece.tag, piece.size):
            return False
        data += PIECE_HEAD + piece.size
        size -= PIECE_HEAD + piece.size
    return size == 0


cdef inline int mapped(Pass* state, uint64_t number, uint32_t* cell) noexcept nogil:
    """The table's number for a cell number of the log."""
    if number >= state.cells.count:
        return EBADMSG
    cell[0] = ids_at(<Ids*>state.cells)[number]
    return 0 if cell[0] < header_of(state.table).stride else EBADMSG


cdef int read_cells(Pass* state) noexcept nogil:
    cdef Reader* reader = state.reader
    cdef uint64_t stride = get_number(reader), number, place
    cdef uint32_t count, at, cell = 0
    cdef Ids places
    cdef const uint8_t* tags
    cdef int64_t last
    cdef Value value
    cdef int status = 0
    segment_init(&places.segment)
    for number in range(stride):
        count = get_count(reader)
        if count == 0:
            if reader.failed:
                status = EBADMSG
                break
            continue
        status = mapped(state, number, &cell)
        place = 0
        places.count = 0
        for at in range(count):
            place += min(get_number(reader), <uint64_t>NO_ROW)
            if place >= state.rows.count:
                status = EBADMSG
            if status == 0:
                status = ids_push(&places, <uint32_t>place)
        tags = get_bytes(reader, count)
        if reader.failed:
            status = EBADMSG
        last = 0
        for at in range(count):
            if status != 0:
                break
            read_value(reader, tags[at], &last, &value)
            status = EBADMSG if reader.failed else put_cell(
                state, ids_at(&state.rows)[ids_at(&places)[at]], cell, &value)
        if status != 0:
            break
    segment_release(&places.segment)
    return status


cdef int put_cell(Pass* state, uint32_t row, uint32_t cell, Value* value) noexcept nogil:
    if value.tag == TAG_EMPTY:
        return table_clear(state.table, row, cell)
    return table_set(state.table, row, cell, value.tag, value.size, value.data)


cdef int read_cleared(Pass* state) noexcept nogil:
    cdef uint32_t count = get_count(state.reader), at, cell = 0
    cdef uint64_t place
    cdef int status
    for at in range(count):
        place = get_number(state.reader)
        status = mapped(state, get_number(state.reader), &cell)
        if status == 0 and place >= state.rows.count:
            status = EBADMSG
        if status == 0:
            status = table_clear(state.table, ids_at(&state.rows)[place], cell)
        if status != 0:
            return status
    return 0


cdef int read_removed_entries(Pass* state) noexcept nogil:
    cdef uint32_t count = get_count(state.reader), at
    cdef int64_t id = 0
    cdef int status
    for at in range(count):
        id = get_difference(state.reader, id)
        if id < 0 or id >= header_of(state.table).entries:
            return EBADMSG
        # Gone already when its whole chain was emptied later in the same interval.
        if entry_at(state.table, <uint32_t>id).tag == TAG_EMPTY:
            continue
        status = table_remove_entry(state.table, <uint32_t>id)
        if status != 0:
            return status
    return 0


cdef int read_entries(Pass* state) noexcept nogil:
    cdef Reader* reader = state.reader
    cdef uint32_t count = get_count(reader), at, row, cell = 0, key_size = 0
    cdef int64_t id = 0, place = 0, time = 0, last = 0
    cdef uint8_t flags, key_tag = TAG_EMPTY
    cdef const char* key = NULL
    cdef Entry* entry
    cdef Value value
    cdef int status = 0
    if state.whole:
        status = table_reserve_map(state.table, header_of(state.table).map_entries + count)
    for at in range(count):
        if status != 0:
            return status
        flags = get_byte(reader)
        id = get_difference(reader, id)
        place = get_difference(reader, place)
        status = mapped(state, get_number(reader), &cell)
        time = get_difference(reader, time)
        if flags & ENTRY_IS_NEW:
            key_tag = get_byte(reader)
            key_size = get_count(reader)
            key = <const char*>get_bytes(reader, key_size)
            if not value_fits(key_tag, key_size):
                return EBADMSG
        read_value(reader, get_byte(reader), &last, &value)
        if status != 0 or reader.failed or id < 0 or id >= NO_ROW or place < 0 \
                or place >= state.rows.count or value.tag == TAG_EMPTY:
            return EBADMSG
        row = ids_at(&state.rows)[place]
        if flags & ENTRY_IS_NEW:
            if key_tag != TAG_EMPTY and table_find_entry(
                    state.table, row, cell, key_tag, key_size, key) != NO_ROW:
                return EBADMSG  # the map has the key already
            status = table_append(
                state.table, row, cell, key_tag, key_size, key, value.tag,
                value.size, value.data, time, <uint32_t>id if state.ids == SAME_IDS else NO_ROW)
            continue
        if id >= header_of(state.table).entries:
            return EBADMSG
        entry = entry_at(state.table, <uint32_t>id)
        if entry.tag == TAG_EMPTY or entry.cell != cell or entry.row != row:
            return EBADMSG
        status = table_set_entry(state.table, <uint32_t>id, value.tag, value.size, value.data, time)
    return status


cdef int read_timers(Pass* state, Timers* timers) noexcept nogil:
    cdef Reader* reader = state.reader
    cdef uint32_t count = get_count(reader), at, row
    cdef int64_t slot = 0, timestamp = 0, place = 0
    cdef uint64_t service
    cdef uint32_t group = state.key_group - header_of(state.table).first_key_group
    cdef Timer timer
    cdef int status
    for at in range(count):
        slot = get_difference(reader, slot)
        if slot < 0 or slot >= NO_ROW or not timers_get(timers, <uint32_t>slot, &timer) \
                or timer.group != group:
            return EBADMSG
        if timers_remove_slot(timers, <uint32_t>slot) < 0:
            return EBADMSG
        row_at(state.table, timer.key).timers -= 1
    slot = 0
    count = get_count(reader)
    for at in range(count):
        slot = get_difference(reader, slot)
        timestamp = get_difference(reader, timestamp)
        place = get_difference(reader, place)
        service = get_number(reader)
        if reader.failed or slot < 0 or slot >= NO_ROW or place < 0 \
                or place >= state.rows.count or service > NO_ROW:
            return EBADMSG
        row = ids_at(&state.rows)[place]
        if state.ids == NEW_IDS:
            status = table_add_timer(state.table, timers, timestamp, row, <uint32_t>service)
        else:
            status = timers_insert_at(timers, <uint32_t>slot, timestamp, row, <uint32_t>service,
                                      group)
            if status > 0:
                row_at(state.table, row).timers += 1
        if status <= 0:
            return -status if status < 0 else EBADMSG
    return EBADMSG if reader.failed else 0


cdef int drop_gone_rows(Pass* state) noexcept nogil:
    cdef uint32_t at, row
    for at in range(state.rows.count):
        if ids_at(&state.flags)[at] & ROW_IS_GONE:
            row = ids_at(&state.rows)[at]
            if row_at(state.table, row).timers != 0:
                return EBADMSG
            table_free_row(state.table, row)
    return 0
