"""Work at rows other than the current one; described in ``row_visits.pxd``."""

from libc.stdint cimport uint32_t

from flinkish._core.state.table cimport StateTable, cell_at, header_of, row_at
from flinkish._core.values.values cimport TAG_EMPTY, TAG_SCOPED


def at_row(StateTable table not None, key, uint32_t key_group, namespace, function, *args):
    """Call `function(*args)` while `key` within `namespace` is current; then it is as before.

    ValueError for a key group that is not the table's.
    """
    cdef uint32_t before = table.current
    table.check_key_group(key_group)
    table.check_place("broadcast state, or the state of another key,")
    table.select(key, namespace, key_group)
    try:
        return function(*args)
    finally:
        table.current = before


def visit_keys(StateTable table not None, uint32_t cell, function):
    """Call `function(key)` for each key that holds anything in a cell, while it is current.

    Keys within namespaces are left out.  No key is current afterwards.
    """
    cdef uint32_t row
    cdef list rows = []
    table.check_open()
    table.check_cell(cell)
    for row in range(header_of(&table.table).rows):
        if row_at(&table.table, row).tag not in (TAG_EMPTY, TAG_SCOPED) \
                and cell_at(&table.table, row, cell).tag != TAG_EMPTY:
            rows.append(row)
    try:
        for row in rows:
            table.use_row(row)
            function(table.key_of(row))
    finally:
        table.clear_current_key()
