"""Time to live; described in ``state/expiry.pxd``."""

from libc.stdlib cimport free, malloc

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.table cimport (
    NO_ROW, Cell, StateTable, cell_at, chain_next, entry_at, header_of, row_at, table_clear,
    table_remove_entry,
)
from flinkish._core.values.values cimport TAG_CHAIN, TAG_EMPTY


cdef int64_t chain_expire(Table* table, Cell* head, int64_t ttl, int64_t now) noexcept nogil:
    cdef uint32_t at = chain_next(table, head, NO_ROW), following
    cdef int64_t removed = 0
    cdef int status
    while at != NO_ROW:
        following = chain_next(table, head, at)
        if has_outlived(entry_at(table, at).time, ttl, now):
            status = table_remove_entry(table, at)
            if status != 0:
                return -status
            removed += 1
        at = following
    return removed


cdef int64_t row_expire(Table* table, uint32_t row, const Expiry* expiries, size_t count,
                        int64_t now) noexcept nogil:
    cdef int64_t removed = 0, gone
    cdef Cell* cell
    cdef size_t at
    cdef int status
    for at in range(count):
        cell = cell_at(table, row, expiries[at].cell)
        if expiries[at].is_chain:
            gone = chain_expire(table, cell, expiries[at].ttl, now) if cell.tag == TAG_CHAIN else 0
            if gone < 0:
                return gone
            removed += gone
        elif cell.tag != TAG_EMPTY and has_outlived(<int64_t>cell[1].word, expiries[at].ttl, now):
            status = table_clear(table, row, expiries[at].cell)
            if status == 0:
                status = table_clear(table, row, expiries[at].cell + 1)
            if status != 0:
                return -status
            removed += 1
    return removed


def sweep(StateTable table not None, list expiries not None):
    """Remove all values, elements and map entries that have outlived their time.

    `expiries` has (cell, is_chain, ttl in ms) of each state with a time to live: `is_chain` for
    lists and maps; a single value has the time of its last access in the cell after its own.
    The table's `processing_time` is now.  Walks every row, without the GIL; what it removes is
    tracked like any other change, so commit afterwards.  Returns how many were removed.
    """
    cdef Table* held = &table.table
    cdef size_t count = len(expiries), at
    cdef int64_t now = table.processing_time, removed = 0, gone = 0
    cdef uint32_t row
    cdef Expiry* states
    table.check_open()
    for cell, is_chain, ttl in expiries:
        if ttl < 0 or not 0 <= cell < <int64_t>header_of(held).stride - (not is_chain):
            raise ValueError(f"there is no state with a time to live of {ttl} ms in cell {cell}")
    states = <Expiry*>malloc((count + 1) * sizeof(Expiry))
    if states == NULL:
        raise MemoryError()
    try:
        for at in range(count):
            states[at].cell, states[at].is_chain, states[at].ttl = expiries[at]
        table.hold()
        with nogil:
            for row in range(header_of(held).rows):
                if row_at(held, row).tag != TAG_EMPTY:
                    gone = row_expire(held, row, states, count, now)
                    if gone < 0:
                        break
                    removed += gone
        table.let_go()
        if gone < 0:
            segment_raise(<int>-gone)
        table.check_open()
    finally:
        free(states)
    return removed
