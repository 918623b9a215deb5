"""The Python face of a table of keyed state."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from flinkish._core.memory cimport (
    Segment,
    segment_init,
    segment_map,
    segment_raise,
    segment_release,
    segment_reserve,
)
from flinkish._core.slab cimport slab_init, slab_valid
from flinkish._core.state_check cimport check_table
from flinkish._core.state_rows cimport (
    LAYOUT_VERSION,
    NO_ROW,
    TABLE_SEGMENTS,
    Cell,
    Entry,
    Ids,
    Row,
    Slot,
    TableHeader,
    cell_at,
    header_of,
    row_at,
    table_intern,
    table_widen,
)
from flinkish._core.timer_log cimport timers_track
from flinkish._core.timers cimport (
    Timers,
    timers_attach,
    timers_bytes,
    timers_count,
    timers_init,
    timers_release,
)
from flinkish._core.values cimport (
    TAG_CHAIN,
    TAG_EMPTY,
    TAG_INT,
    TAG_STR,
    Encoded,
    bytes_of,
    decode_key,
    encode_key,
    encode_scoped,
)

cdef uint64_t MAGIC = 0x454C424154534B46  # "FKSTABLE"
cdef int64_t LOWEST = <int64_t>(<uint64_t>1 << 63)

# What a mapped table consists of: a file each, in the order in which `map` takes them.
FILES = (
    "header", "rows", "index", "slab", "entries", "map_index",
    "event_nodes", "event_slots", "event_set",
    "processing_nodes", "processing_slots", "processing_set",
)


cdef class StateTable:
    """Keyed state and timers of a range of key groups.

    `StateTable(first, last)` is on the heap and starts empty.  `StateTable()` holds nothing
    until `map` lays it over the files of one key group; `close` and `map` may follow one
    another, so that handles made once serve key group after key group.

    Not safe for use by several threads at a time: it belongs to the thread of its operator.
    Owns all its memory; `close` gives it back at once.
    """

    def __cinit__(self):
        cdef int segment
        memset(&self.table, 0, sizeof(self.table))
        for segment in range(6):
            segment_init((&self.table.header) + segment)
        segment_init(&self.table.touched.segment)
        segment_init(&self.table.dirty_entries.segment)
        segment_init(&self.table.removed_entries.segment)
        self.ready = False
        self.cells = []
        self.current = NO_ROW
        self.processing_time = LOWEST
        self.watermark = LOWEST

    def __init__(self, first_key_group=None, last_key_group=None, *, bint tracking=False):
        if first_key_group is None:
            return
        last_key_group = first_key_group if last_key_group is None else last_key_group
        groups = last_key_group - first_key_group + 1
        if self.ready or groups < 1:
            raise ValueError(f"the key groups {first_key_group}..{last_key_group} are no range")
        segment_raise(-timers_init(&self.table.event, groups))
        segment_raise(-timers_init(&self.table.processing, groups))
        self.start(first_key_group, last_key_group)
        self.track(tracking)

    def start(self, uint16_t first_key_group, uint16_t last_key_group):
        """Write the header of an empty table; part of opening."""
        cdef TableHeader* header
        segment_raise(segment_reserve(&self.table.header, sizeof(TableHeader)))
        segment_raise(slab_init(&self.table.slab))
        header = header_of(&self.table)
        header.magic = MAGIC
        header.layout = LAYOUT_VERSION
        header.first_key_group = first_key_group
        header.last_key_group = last_key_group
        self.ready = True
        segment_raise(table_widen(&self.table, <uint32_t>len(self.cells)))

    def map(self, list descriptors not None, uint16_t key_group, *, bint create):
        """Lay the closed table over files: open descriptors in the order of `FILES`.

        They are taken over, whatever happens.  With `create` the files are empty; else they
        hold a table of this key group.  ValueError when they do not: the caller then builds
        the table from the log.
        """
        cdef Segment segments[TABLE_SEGMENTS]
        cdef int at, status = 0
        if self.ready or len(descriptors) != TABLE_SEGMENTS:
            raise ValueError(f"a closed table and {TABLE_SEGMENTS} files are needed")
        for at in range(TABLE_SEGMENTS):
            segment_init(&segments[at])
            segments[at].fd = descriptors[at]
            if status == 0:
                status = segment_map(&segments[at], descriptors[at])
        for at in range(6):
            ((&self.table.header) + at)[0] = segments[at]
        if status == 0:
            status = -timers_init(&self.table.event, 1)
        if status == 0:
            status = -timers_init(&self.table.processing, 1)
        if status == 0:
            self.take_timers(&self.table.event, segments + 6)
            self.take_timers(&self.table.processing, segments + 9)
        else:
            for at in range(6, TABLE_SEGMENTS):
                segment_release(&segments[at])
        try:
            segment_raise(status)
            if create:
                segment_raise(-timers_attach(&self.table.event))
                segment_raise(-timers_attach(&self.table.processing))
                self.start(key_group, key_group)
            else:
                self.verify(key_group)
                self.ready = True
                segment_raise(table_widen(&self.table, <uint32_t>len(self.cells)))
            self.track(True)
        except BaseException:
            self.close()
            raise

    cdef void take_timers(self, Timers* timers, Segment* segments) noexcept:
        timers.nodes = segments[0]
        timers.slots = segments[1]
        timers.sets[0] = segments[2]

    def verify(self, uint16_t key_group):
        """ValueError unless the mapped files can hold a table of this key group."""
        cdef TableHeader* header
        cdef uint64_t row_size
        if self.table.header.size < sizeof(TableHeader):
            raise ValueError("the header of a table file is cut short")
        header = header_of(&self.table)
        if header.magic != MAGIC or header.layout != LAYOUT_VERSION:
            raise ValueError(
                f"the table files have the layout {header.layout}, this version reads {LAYOUT_VERSION}"
            )
        if header.first_key_group != key_group or header.last_key_group != key_group:
            raise ValueError(f"the table files are of key group {header.first_key_group}, not {key_group}")
        row_size = sizeof(Row) + <uint64_t>header.stride * sizeof(Cell)
        if header.rows * row_size > self.table.rows.size \
                or header.index_size * sizeof(Slot) > self.table.index.size \
                or header.entries * sizeof(Entry) > self.table.entries.size \
                or header.map_index_size * sizeof(Slot) > self.table.map_index.size \
                or not slab_valid(&self.table.slab) \
                or timers_attach(&self.table.event) != 0 \
                or timers_attach(&self.table.processing) != 0:
            raise ValueError("the table files are shorter than their header says")

    def track(self, bint tracking):
        """Whether what changes is kept for the log."""
        self.table.tracking = tracking
        timers_track(&self.table.event, tracking)
        timers_track(&self.table.processing, tracking)

    def close(self):
        """Release all memory and files.  The table holds nothing afterwards."""
        cdef int segment
        self.ready = False
        self.current = NO_ROW
        for segment in range(6):
            segment_release((&self.table.header) + segment)
        segment_release(&self.table.touched.segment)
        segment_release(&self.table.dirty_entries.segment)
        segment_release(&self.table.removed_entries.segment)
        timers_release(&self.table.event)
        timers_release(&self.table.processing)

    def __dealloc__(self):
        self.close()

    # --- cells

    def add_cell(self, description):
        """The number of a new cell in every row; `description` is kept in `cells`."""
        if self.ready:
            segment_raise(table_widen(&self.table, <uint32_t>len(self.cells) + 1))
        self.cells.append(description)
        return len(self.cells) - 1

    # --- keys

    cdef int select(self, object key, object namespace, uint32_t key_group) except -1:
        cdef Encoded out
        cdef object owner
        if namespace is None:
            owner = encode_key(key, &out)
        else:
            owner = encode_scoped(key, namespace, &out)
        segment_raise(table_intern(&self.table, out.tag, out.size, out.data,
                                   <uint16_t>key_group, &self.current))
        return 0

    def set_current_key(self, key, uint16_t key_group=0, namespace=None):
        """Make `key` the key whose state and timers are used; its row is made when needed."""
        self.check_key_group(key_group)
        self.select(key, namespace, key_group)

    def clear_current_key(self):
        """No key is current afterwards."""
        self.current = NO_ROW

    def current_key(self):
        """The current key, or None."""
        return None if self.current == NO_ROW else self.key_of(self.current)

    def key_of(self, uint32_t row):
        """The key of a row."""
        cdef Row* found = row_at(&self.table, row)
        if row >= header_of(&self.table).rows or found.tag == TAG_EMPTY:
            raise ValueError(f"there is no row {row}")
        return decode_key(found.tag, found.size,
                          bytes_of(found.size, &found.word, self.table.slab.base))

    def check_key_group(self, uint32_t key_group):
        """ValueError for a key group that is not this table's."""
        cdef TableHeader* header = header_of(&self.table)
        if not self.ready:
            raise ValueError("this table is closed")
        if not header.first_key_group <= key_group <= header.last_key_group:
            raise ValueError(
                f"key group {key_group} is not in {header.first_key_group}..{header.last_key_group}"
            )

    def check_key_groups(self, const int32_t[::1] key_groups, Py_ssize_t count):
        """ValueError unless there are `count` key groups, all of them this table's."""
        if key_groups.shape[0] != count:
            raise ValueError(f"{count} keys came with {key_groups.shape[0]} key groups")
        for at in range(count):
            self.check_key_group(key_groups[at])

    def intern_ints(self, const int64_t[::1] keys not None, const int32_t[::1] key_groups,
                    uint32_t[::1] rows not None, uint8_t tag=TAG_INT):
        """Write the row of each int key to `rows`; `key_groups` may be None for the only one."""
        cdef Py_ssize_t at, count = keys.shape[0]
        cdef uint16_t group = <uint16_t>header_of(&self.table).first_key_group
        cdef int status = 0
        if rows.shape[0] != count:
            raise ValueError(f"{count} keys need as many rows, not {rows.shape[0]}")
        if key_groups is not None:
            self.check_key_groups(key_groups, count)
        with nogil:
            for at in range(count):
                if key_groups is not None:
                    group = <uint16_t>key_groups[at]
                status = table_intern(&self.table, tag, 8, <const char*>&keys[at], group, &rows[at])
                if status != 0:
                    break
        segment_raise(status)

    def intern_strings(self, const int32_t[::1] offsets not None, const uint8_t[::1] data not None,
                       const int32_t[::1] key_groups, uint32_t[::1] rows not None,
                       uint8_t tag=TAG_STR):
        """As `intern_ints`, for UTF-8 strings i at data[offsets[i]:offsets[i + 1]]."""
        cdef Py_ssize_t at, count = rows.shape[0]
        cdef uint16_t group = <uint16_t>header_of(&self.table).first_key_group
        cdef const char* text = ""
        cdef int status = 0
        if offsets.shape[0] != count + 1 or (count and offsets[count] > data.shape[0]):
            raise ValueError(f"{count} strings need {count + 1} offsets within the data")
        if data.shape[0]:
            text = <const char*>&data[0]
        if key_groups is not None:
            self.check_key_groups(key_groups, count)
        with nogil:
            for at in range(count):
                if key_groups is not None:
                    group = <uint16_t>key_groups[at]
                status = table_intern(&self.table, tag, <uint32_t>(offsets[at + 1] - offsets[at]),
                                      text + offsets[at], group, &rows[at])
                if status != 0:
                    break
        segment_raise(status)

    def intern_objects(self, list keys not None, const int32_t[::1] key_groups,
                       uint32_t[::1] rows not None):
        """As `intern_ints`, for keys of any type."""
        cdef Py_ssize_t at, count = len(keys)
        cdef uint16_t group = <uint16_t>header_of(&self.table).first_key_group
        cdef Encoded out
        if rows.shape[0] != count:
            raise ValueError(f"{count} keys need as many rows, not {rows.shape[0]}")
        if key_groups is not None:
            self.check_key_groups(key_groups, count)
        for at in range(count):
            if key_groups is not None:
                group = <uint16_t>key_groups[at]
            owner = encode_key(keys[at], &out)
            segment_raise(table_intern(&self.table, out.tag, out.size, out.data, group, &rows[at]))

    # --- what is held

    def number_of_entries(self, uint32_t cell):
        """Keys that have something in this cell."""
        cdef uint32_t row
        cdef Py_ssize_t found = 0
        for row in range(header_of(&self.table).rows):
            if row_at(&self.table, row).tag != TAG_EMPTY \
                    and cell_at(&self.table, row, cell).tag != TAG_EMPTY:
                found += 1
        return found

    @property
    def number_of_keys(self):
        """Keys that have a row."""
        return header_of(&self.table).live_rows

    @property
    def number_of_event_timers(self):
        """Event-time timers registered."""
        return timers_count(&self.table.event)

    @property
    def number_of_processing_timers(self):
        """Processing-time timers registered."""
        return timers_count(&self.table.processing)

    @property
    def memory_bytes(self):
        """Bytes reserved, timers included."""
        cdef Py_ssize_t total = timers_bytes(&self.table.event) + timers_bytes(&self.table.processing)
        cdef int segment
        for segment in range(6):
            total += ((&self.table.header) + segment).size
        return total

    def _check(self):
        """AssertionError unless every invariant of the table holds."""
        check_table(&self.table)
