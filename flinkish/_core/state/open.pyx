"""Make, map and release tables; described in ``state/open.pxd``."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from flinkish._core.memory.futex cimport fork_generation, fork_watch
from flinkish._core.memory.segment cimport (
    Segment, SetHeader, SlabHeader, mix64, segment_init, segment_map, segment_raise,
    segment_release, segment_reserve, slab_init, slab_valid,
)
from flinkish._core.timers.timers cimport (
    Timers, TimersHeader, timers_attach, timers_init, timers_release,
)

segment_raise(fork_watch())

cdef int MOST_KEY_GROUPS = 1 << 15  # Flink's largest parallelism
cdef int64_t LOWEST = <int64_t>(<uint64_t>1 << 63)
cdef uint64_t MAGIC = 0x454C424154534B46  # "FKSTABLE"
cdef enum:
    OWN_SEGMENTS = 6    # header to map_index; the others are the timers'

# What a mapped table consists of: a file each, in the order in which `map` takes them.
FILES = (
    "header", "rows", "index", "slab", "entries", "map_index",
    "event_nodes", "event_slots", "event_set",
    "processing_nodes", "processing_slots", "processing_set",
)


cdef void table_init(Table* table) noexcept nogil:
    cdef int at
    memset(table, 0, sizeof(Table))
    for at in range(OWN_SEGMENTS):
        segment_init((&table.header) + at)
    segment_init(&table.touched.segment)
    segment_init(&table.dirty_entries.segment)
    segment_init(&table.removed_entries.segment)


cdef void table_release(Table* table) noexcept nogil:
    cdef int at
    for at in range(OWN_SEGMENTS):
        segment_release((&table.header) + at)
    segment_release(&table.touched.segment)
    segment_release(&table.dirty_entries.segment)
    segment_release(&table.removed_entries.segment)
    timers_release(&table.event)
    timers_release(&table.processing)
    table_init(table)


cdef int table_open(Table* table, uint32_t first_key_group, uint32_t last_key_group) except -1:
    segment_raise(-timers_init(&table.event, last_key_group - first_key_group + 1))
    segment_raise(-timers_init(&table.processing, last_key_group - first_key_group + 1))
    return start(table, first_key_group, last_key_group)


cdef int start(Table* table, uint32_t first_key_group, uint32_t last_key_group) except -1:
    """Write the header of an empty table."""
    cdef TableHeader* header
    segment_raise(segment_reserve(&table.header, sizeof(TableHeader)))
    segment_raise(slab_init(&table.slab))
    header = header_of(table)
    header.magic = MAGIC
    header.layout = LAYOUT_VERSION
    header.first_key_group = first_key_group
    header.last_key_group = last_key_group
    return 0


cdef int table_map(Table* table, const int* files, uint32_t key_group, bint create,
                   const uint64_t* state) except -1:
    segment_raise(map_segments(table, files))
    if not create:
        verify(table, key_group)
        return 0 if state == NULL else verify_seal(table, state)
    segment_raise(-timers_attach(&table.event))
    segment_raise(-timers_attach(&table.processing))
    return start(table, key_group, key_group)


cdef int map_segments(Table* table, const int* files) noexcept nogil:
    """Map each file and put it where it belongs, or close them all."""
    cdef Segment[TABLE_SEGMENTS] segments
    cdef int i, status = 0
    for i in range(TABLE_SEGMENTS):
        segment_init(&segments[i])
        segments[i].fd = files[i]
        if status == 0:
            status = segment_map(&segments[i], files[i])
    if status == 0:
        status = -timers_init(&table.event, 1)
    if status == 0:
        status = -timers_init(&table.processing, 1)
    if status != 0:
        for i in range(TABLE_SEGMENTS):
            segment_release(&segments[i])
        return status
    for i in range(TABLE_SEGMENTS):
        segment_of(table, i)[0] = segments[i]
    return 0


cdef int verify(Table* table, uint32_t key_group) except -1:
    """ValueError unless what was mapped can be a committed table of this key group."""
    cdef TableHeader* header = header_of(table)
    cdef uint64_t row_size
    if table.header.size < sizeof(TableHeader):
        raise ValueError("the header of a table file is cut short")
    if header.magic != MAGIC or header.layout != LAYOUT_VERSION:
        raise ValueError(
            f"the table files have the layout {header.layout}, this version reads {LAYOUT_VERSION}"
        )
    if header.first_key_group != key_group or header.last_key_group != key_group:
        raise ValueError(
            f"the table files are of key group {header.first_key_group}, not {key_group}"
        )
    if header.changing:
        raise ValueError("the table files hold changes that were never committed")
    row_size = sizeof(Row) + <uint64_t>header.stride * sizeof(Cell)
    if not index_fits(header.index_size, header.live_rows, header.rows) \
            or not index_fits(header.map_index_size, header.map_entries, header.live_entries) \
            or header.live_entries > header.entries \
            or header.free_row > header.rows or header.free_entry > header.entries:
        raise ValueError("the header of the table files contradicts itself")
    if header.stride > TABLE_CELLS \
            or header.rows * row_size > table.rows.size \
            or header.index_size * sizeof(Slot) > table.index.size \
            or header.entries * sizeof(Entry) > table.entries.size \
            or header.map_index_size * sizeof(Slot) > table.map_index.size \
            or not slab_valid(&table.slab) \
            or timers_attach(&table.event) != 0 \
            or timers_attach(&table.processing) != 0:
        raise ValueError("the table files are shorter than their header says")
    return 0


cdef bint index_fits(uint64_t slots, uint64_t taken, uint32_t ids) noexcept nogil:
    """Whether an index can have so many slots of which so many are taken, by that many ids."""
    return slots & (slots - 1) == 0 and taken * 10 <= slots * 7 and taken <= ids and ids < NO_ROW


cdef void table_seal(Table* table, const uint64_t* state) noexcept nogil:
    cdef TableHeader* header = header_of(table)
    header.state[0], header.state[1] = state[0], state[1]
    header.checksum = checksum(table)


cdef int verify_seal(Table* table, const uint64_t* state) except -1:
    """ValueError unless `table_seal` was told this state, and header and files are as they were."""
    cdef TableHeader* header = header_of(table)
    if header.state[0] != state[0] or header.state[1] != state[1]:
        raise ValueError("the table files hold another state than the one that was asked for")
    if header.checksum != checksum(table):
        raise ValueError("the header of the table files is damaged, or a file is not of this table")
    if sum_of_slots(&table.index, header.index_size) != header.index_sum \
            or sum_of_slots(&table.map_index, header.map_index_size) != header.map_index_sum:
        raise ValueError("an index of the table files is damaged: keys would not be found")
    return 0


cdef uint64_t fold(uint64_t found, const void* data, size_t size) noexcept nogil:
    cdef size_t at
    for at in range(size // sizeof(uint64_t)):
        found = mix64(found ^ (<const uint64_t*>data)[at])
    return found


cdef uint64_t checksum(Table* table) noexcept nogil:
    """Over the header up to the checksum itself, those of slab and timers, and the sizes of files."""
    cdef TableHeader* header = header_of(table)
    cdef size_t at
    cdef uint64_t found = fold(0, header, <size_t>&header.checksum - <size_t>header)
    found = fold(found, table.slab.base, sizeof(SlabHeader))
    found = fold(found, table.event.nodes.base, sizeof(TimersHeader))
    found = fold(found, table.processing.nodes.base, sizeof(TimersHeader))
    found = fold(found, table.event.sets[0].base, min(table.event.sets[0].size, sizeof(SetHeader)))
    found = fold(found, table.processing.sets[0].base,
                 min(table.processing.sets[0].size, sizeof(SetHeader)))
    for at in range(TABLE_SEGMENTS):
        found = mix64(found ^ segment_of(table, <int>at).size)
    return found


cdef bint table_in_files(Table* table) noexcept nogil:
    cdef int at
    for at in range(TABLE_SEGMENTS):
        if segment_of(table, at).fd < 0:
            return False
    return True


cdef Segment* segment_of(Table* table, int at) noexcept nogil:
    """The segment over each of the files, in their order."""
    cdef Timers* timers = &table.event if at < OWN_SEGMENTS + 3 else &table.processing
    if at < OWN_SEGMENTS:
        return (&table.header) + at
    if (at - OWN_SEGMENTS) % 3 == 0:
        return &timers.nodes
    return &timers.slots if (at - OWN_SEGMENTS) % 3 == 1 else timers.sets


cdef uint64_t* state_words(bytes state, uint64_t* words) except NULL:
    if len(state) != STATE_BYTES:
        raise ValueError(f"a state is named by {STATE_BYTES} bytes, not {len(state)}")
    memcpy(words, PyBytes_AS_STRING(state), 2 * sizeof(uint64_t))
    return words
