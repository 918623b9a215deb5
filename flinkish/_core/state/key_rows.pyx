"""Rows of a table by keys that it may know already, and the end of rows that hold nothing."""

from libc.stdint cimport uint32_t

from flinkish._core.state.table cimport (
    NO_ROW, StateTable, header_of, row_at, row_is_empty, table_find, table_free_row,
)
from flinkish._core.values.values cimport TAG_EMPTY, TAG_SCOPED, Encoded, encode_key, hash_bytes

include "key_gather.pyx"
include "row_visits.pyx"

cdef uint32_t find(StateTable table, object key) except? 0xFFFFFFFE:
    cdef Encoded out
    cdef object owner = encode_key(key, &out)
    table.check_open()
    return table_find(&table.table, out.tag, out.size, out.data,
                      hash_bytes(out.tag, out.size, out.data))


def use_key(StateTable table not None, key):
    """Make `key` the current key if the table knows it; False, and no key is current, if not."""
    table.use_row(find(table, key))
    return table.current != NO_ROW


def find_rows(StateTable table not None, list keys not None, uint32_t[::1] rows not None):
    """Write the row of each known key to `rows`; the places of those that are not known."""
    cdef Py_ssize_t at
    cdef list unknown = []
    table.check_open()
    if rows.shape[0] != len(keys):
        raise ValueError(f"{len(keys)} keys need as many rows, not {rows.shape[0]}")
    for at in range(len(keys)):
        rows[at] = find(table, keys[at])
        if rows[at] == NO_ROW:
            unknown.append(at)
    return unknown


def forget_empty_rows(StateTable table not None):
    """Free the rows of keys without state and timers; how many.  No key is current afterwards.

    Only where no log is kept: there `commit` does it, and says so in the log.
    """
    cdef uint32_t row
    cdef Py_ssize_t freed = 0
    table.check_open()
    if table.table.tracking:
        raise table.illegal_state("rows of a table with a log are forgotten by its commit")
    table.current = NO_ROW
    table.hold()
    with nogil:
        for row in range(header_of(&table.table).rows):
            if row_at(&table.table, row).tag != TAG_EMPTY and row_is_empty(&table.table, row):
                table_free_row(&table.table, row)
                freed += 1
    table.let_go()
    return freed


def forget_scoped_rows(StateTable table not None):
    """Free the rows of keys within namespaces, whatever they hold; how many.

    Only where no log is kept; their timers must be gone.  No key is current afterwards.
    """
    cdef uint32_t row
    cdef Py_ssize_t freed = 0
    table.check_open()
    if table.table.tracking:
        raise table.illegal_state("rows of a table with a log are forgotten by its commit")
    table.current = NO_ROW
    for row in range(header_of(&table.table).rows):
        if row_at(&table.table, row).tag == TAG_SCOPED:
            if row_at(&table.table, row).timers:
                raise table.illegal_state(f"row {row} has timers and cannot be forgotten")
            table_free_row(&table.table, row)
            freed += 1
    return freed
