"""Commit, dump and replay a table: bytes out, bytes in."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EBADMSG, EDOM, EINVAL
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from flinkish._core.bytestream cimport Reader, Writer, writer_init
from flinkish._core.log_reader cimport NEW_IDS, SAME_IDS, read_log
from flinkish._core.log_writer cimport write_changes, write_whole
from flinkish._core.memory cimport segment_init, segment_raise, segment_release
from flinkish._core.state_entries cimport table_end_interval, table_rebuild_free
from flinkish._core.state_rows cimport NO_ROW, Ids, header_of, ids_push, row_at
from flinkish._core.state_table cimport StateTable
from flinkish._core.timer_log cimport timers_rebuild_free
from flinkish._core.values cimport TAG_EMPTY


class DamagedLog(ValueError):
    """Bytes that are no log of a table, or of a table in another state."""


cdef bytes take_bytes(Writer* writer):
    """The bytes written; the writer is empty afterwards."""
    try:
        segment_raise(writer.status)
        return PyBytes_FromStringAndSize(writer.segment.base, <Py_ssize_t>writer.at)
    finally:
        segment_release(&writer.segment)


def commit(StateTable table not None):
    """What changed since the last commit, which this ends; b"" when nothing did.

    Keys whose state and timers are all gone are forgotten.
    """
    cdef Writer writer
    cdef bint changed
    table.check_open()
    writer_init(&writer)
    with nogil:
        changed = table.table.touched.count != 0
        if changed:
            write_changes(&table.table, &writer)
        if writer.status == 0:
            table_end_interval(&table.table)
    table.current = NO_ROW
    return take_bytes(&writer)


def dump(StateTable table not None, uint16_t key_group):
    """Everything of one key group.  Changes nothing; commit first."""
    cdef Writer writer
    cdef Ids rows
    cdef uint32_t row
    table.check_key_group(key_group)
    if table.table.touched.count:
        raise RuntimeError("commit the table before it is dumped")
    rows.count = 0
    segment_init(&rows.segment)
    writer_init(&writer)
    with nogil:
        for row in range(header_of(&table.table).rows):
            if writer.status == 0 and row_at(&table.table, row).tag != TAG_EMPTY \
                    and row_at(&table.table, row).key_group == key_group:
                writer.status = ids_push(&rows, row)
        if writer.status == 0:
            write_whole(&table.table, &rows, key_group - header_of(&table.table).first_key_group,
                        &writer)
        segment_release(&rows.segment)
    return take_bytes(&writer)


cdef int apply_log(StateTable table, list pieces, list cells, int ids, uint16_t key_group) except -1:
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
    try:
        for cell in cells:
            segment_raise(ids_push(&numbers, cell))
        for piece in pieces:
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
        with nogil:
            table_rebuild_free(&table.table)
            timers_rebuild_free(&table.table.event)
            timers_rebuild_free(&table.table.processing)
        table.track(tracking)
    except BaseException:
        table.close()  # half changed, it would be of no use
        raise
    finally:
        segment_release(&numbers.segment)
    return 0


def replay(StateTable table not None, list pieces not None, list cells not None, uint16_t key_group):
    """Apply a log: what `dump` or `commit` gave first, then what each later `commit` gave.

    `cells[i]` is the table's number of the log's cell i.  DamagedLog for bytes that make no sense
    as a log, or not after those before; after any error the table is closed.
    """
    apply_log(table, pieces, cells, SAME_IDS, key_group)


def load(StateTable table not None, bytes whole not None, list cells not None, uint16_t key_group):
    """Add what `dump` gave to a table that may hold other key groups; errors as in `replay`."""
    apply_log(table, [whole], cells, NEW_IDS, key_group)
