"""Commit, dump and replay a table: bytes out, bytes in."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EBADMSG, EDOM, EINVAL
from libc.stdint cimport UINT64_MAX, uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free

from flinkish._core.memory.segment cimport (
    segment_init, segment_raise, segment_release, segment_reserve,
)
from flinkish._core.state.table cimport (
    NO_ROW, Ids, StateTable, Table, TableHeader, header_of, ids_at, ids_push, row_at, table_damaged,
    table_end_interval, table_group, table_rebuild_free,
)
from flinkish._core.timers.timers cimport (
    Timer, Timers, timers_by_registration, timers_count, timers_get, timers_rebuild_free,
)
from flinkish._core.values.values cimport TAG_EMPTY

include "log_writer.pyx"
include "log_reader.pyx"

class DamagedLog(ValueError):
    """Bytes that are no log of a table, or of a table in another state."""


cdef bytes take_bytes(Writer* writer):
    """The bytes written; the writer is empty afterwards."""
    try:
        segment_raise(writer.status)
        return PyBytes_FromStringAndSize(writer.segment.base, <Py_ssize_t>writer.at)
    finally:
        segment_release(&writer.segment)


cdef void note_damage(Table* table, Writer* writer) noexcept nogil:
    """Nothing is written of a damaged table, and what cannot be written makes it one."""
    if writer.status == EBADMSG:
        table.damaged = True
    elif table_damaged(table):
        writer.status = EBADMSG


def commit(StateTable table not None):
    """The changes since the last commit, as bytes, and begin the next; b"" when there are none.

    Keys whose state and timers are all gone are forgotten.  DamagedTable, and nothing is written, for
    a mapped table that turned out to be damaged.
    """
    cdef Writer writer
    cdef bint changed
    table.hold()
    writer_init(&writer)
    with nogil:
        changed = table.table.touched.count != 0
        if changed:
            write_changes(&table.table, &writer)
        note_damage(&table.table, &writer)
        if writer.status == 0:
            table_end_interval(&table.table)
    table.let_go()
    table.current = NO_ROW
    return take_bytes(&writer)


cdef struct Share:                  # what a dump of one key group writes
    Ids rows                        # ascending
    Ids event                       # slots of timers, in order of registration
    Ids processing


cdef int share_timers(Timers* timers, Ids* slots, Share* shares, bint event, int only) noexcept nogil:
    """Deal the timers out to the shares of their key groups; `slots` is room to work in."""
    cdef uint32_t total = timers_count(timers), at
    cdef Timer timer
    cdef Share* share
    cdef int status = segment_reserve(&slots.segment, total * sizeof(uint32_t))
    if status == 0:
        status = -timers_by_registration(timers, ids_at(slots))
    for at in range(total):
        if status != 0:
            break
        if not timers_get(timers, ids_at(slots)[at], &timer):
            return EBADMSG
        if only < 0 or <int>timer.group == only:
            share = shares + timer.group
            status = ids_push(&share.event if event else &share.processing, timer.slot)
    return status


cdef int share_table(Table* table, Share* shares, int only) noexcept nogil:
    """Deal rows and timers out to their key groups, or to the one local key group `only`."""
    cdef TableHeader* header = header_of(table)
    cdef Ids slots
    cdef uint32_t row, group = 0
    cdef int status = 0
    slots.count = 0
    segment_init(&slots.segment)
    for row in range(header.rows):
        if status == 0 and row_at(table, row).tag != TAG_EMPTY:
            status = table_group(table, row, &table.event, &group)
            if status == 0 and (only < 0 or <int>group == only):
                status = ids_push(&shares[group].rows, row)
    if status == 0:
        status = share_timers(&table.event, &slots, shares, True, only)
    if status == 0:
        status = share_timers(&table.processing, &slots, shares, False, only)
    segment_release(&slots.segment)
    return status


cdef uint32_t rows_within(Table* table, Ids* rows, uint32_t start, uint64_t most) noexcept nogil:
    """How many rows from `start` on take about `most` bytes; one at least, if there is one."""
    cdef uint64_t size = 0
    cdef uint32_t at
    if most == UINT64_MAX:
        return rows.count - start
    for at in range(start, rows.count):
        if size >= most and at != start:
            return at - start
        size += bytes_of_row(table, ids_at(rows)[at])
    return rows.count - start


cdef int dump_share(StateTable table, Share* share, int key_group, uint64_t most,
                    object take) except -1:
    """Give `take` the contents of a key group in pieces; timers, unless there is one, come last."""
    cdef Writer writer
    cdef Ids part = share.rows, none
    cdef uint32_t written = 0
    cdef bint one = False
    none.count = 0
    segment_init(&none.segment)
    while True:
        writer_init(&writer)
        with nogil:
            part.segment.base = share.rows.segment.base + written * sizeof(uint32_t)
            part.count = rows_within(&table.table, &share.rows, written, most)
            one = part.count == share.rows.count
            write_whole(&table.table, &part, written == 0, &share.event if one else &none,
                        &share.processing if one else &none, &writer)
            note_damage(&table.table, &writer)
        take(key_group, take_bytes(&writer))
        written += part.count
        if written == share.rows.count:
            break
    if not one and share.event.count + share.processing.count != 0:
        writer_init(&writer)
        with nogil:
            write_timers(&table.table, &share.rows, &share.event, &share.processing, &writer)
            note_damage(&table.table, &writer)
        take(key_group, take_bytes(&writer))
    return 0


cdef int dump_shares(StateTable table, int only, uint64_t most, object take) except -1:
    """Give `take` the contents of each key group with rows, or of the local key group `only`."""
    cdef TableHeader* header
    cdef uint32_t groups, group
    cdef Share* shares
    cdef int status
    if table.table.touched.count:
        raise RuntimeError("commit the table before it is dumped")
    header = header_of(&table.table)
    groups = header.last_key_group - header.first_key_group + 1
    shares = <Share*>calloc(groups, sizeof(Share))
    if shares == NULL:
        raise MemoryError()
    for group in range(groups):
        segment_init(&shares[group].rows.segment)
        segment_init(&shares[group].event.segment)
        segment_init(&shares[group].processing.segment)
    table.hold()
    try:
        with nogil:
            status = share_table(&table.table, shares, only)
        segment_raise(status)
        for group in range(groups):
            if shares[group].rows.count or <int>group == only:
                dump_share(table, &shares[group], header.first_key_group + group, most, take)
    finally:
        table.let_go()
        for group in range(groups):
            segment_release(&shares[group].rows.segment)
            segment_release(&shares[group].event.segment)
            segment_release(&shares[group].processing.segment)
        free(shares)
    return 0


def dump_pieces(StateTable table not None, uint16_t key_group, uint64_t most, take not None):
    """Everything of one key group as a log, for `replay`: calls `take` with each piece; commit first.

    Changes nothing.  A piece has about `most` bytes: a row is never cut, and timers come last, in one piece.  The
    table is in use until the end: `take` must not touch it.
    """
    table.check_key_group(key_group)
    dump_shares(table, key_group - header_of(&table.table).first_key_group, most,
                lambda _, piece: take(piece))


def dump_all(StateTable table not None):
    """Everything of each key group that has a row: {key group: as one piece}; commit first."""
    cdef dict found = {}
    table.check_open()
    dump_shares(table, -1, UINT64_MAX, found.__setitem__)
    return found


cdef int apply_log(StateTable table, object pieces, list cells, int ids, uint16_t key_group) except -1:
    cdef Ids numbers
    cdef Reader reader
    cdef const uint8_t[::1] piece
    cdef bint tracking = table.table.tracking
    cdef int status = 0
    table.check_key_group(key_group)
    if table.table.touched.count:
        raise RuntimeError("commit the table before a log is applied to it")
    numbers.count = 0
    segment_init(&numbers.segment)
    table.track(False)
    header_of(&table.table).changing = 1
    table.hold()
    try:
        for cell in cells:
            segment_raise(ids_push(&numbers, cell))
        for piece in pieces:  # one at a time: they may be read as they are asked for
            if piece.shape[0] == 0:
                continue
            reader.at = &piece[0]
            reader.end = reader.at + piece.shape[0]
            reader.failed = False
            with nogil:
                status = read_log(&table.table, &reader, &numbers, ids, key_group)
            if status in (EBADMSG, EINVAL, EDOM):
                raise DamagedLog(
                    f"the log of key group {key_group} is damaged or does not fit the state "
                    "before it; the table has been closed"
                )
            segment_raise(status)
            piece = None
        with nogil:
            table_rebuild_free(&table.table)
            timers_rebuild_free(&table.table.event)
            timers_rebuild_free(&table.table.processing)
        table.let_go()
        table.track(tracking)
    except BaseException:
        table.let_go()
        table.close()  # half changed, it would be of no use
        raise
    finally:
        segment_release(&numbers.segment)
    return 0


def replay(StateTable table not None, pieces not None, list cells not None, uint16_t key_group):
    """Apply a log: what `dump_pieces` or `commit` gave first, then what each later `commit` gave.

    `pieces` may be any iterable; one is held at a time.  `cells[i]` is the table's number of the
    log's cell i.  DamagedLog for bytes that make no sense as a log, or not after those before;
    after any error the table is closed.
    """
    apply_log(table, pieces, cells, SAME_IDS, key_group)


def load(StateTable table not None, bytes whole not None, list cells not None, uint16_t key_group):
    """Add what `dump_all` gave of a key group to a table that may hold other key groups; errors as in `replay`."""
    apply_log(table, [whole], cells, NEW_IDS, key_group)
