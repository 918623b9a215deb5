"""Firing of panes by a watermark; described in ``windows/panes/firing.pxd``."""

from libc.string cimport memcpy, memset

from flinkish._core.state.table cimport row_at, table_add_timer, table_touch
from flinkish._core.timers.timers cimport timer_columns_release, timers_poll_due

cdef enum:
    RUN = 64           # windows put together at once


cdef int table_poll_due(Table* table, Timers* timers, int64_t until, TimerColumns* out) noexcept nogil:
    cdef size_t at
    cdef int status = -timers_poll_due(timers, until, <size_t>-1, out)
    for at in range(out.count):
        row_at(table, out.keys[at]).timers -= 1
        if status == 0:
            status = table_touch(table, out.keys[at])
    return status


cdef int fire_run(Panes* panes, uint32_t row, int64_t* end) noexcept nogil:
    """Fire the window with this end and those after it that are due and share panes with it.

    `end` is then that of the next window.  What all of them have in common is put together once;
    from the last to the first each has besides what lies before its successor, and from the first
    to the last what lies after its predecessor.
    """
    cdef Fired* fired = &panes.fired
    cdef uint64_t[RECORD_WORDS] tail
    cdef size_t first = fired.count, count = 0, at
    cdef int64_t one = end[0]
    cdef int64_t* begins
    cdef int64_t* ends
    cdef char* record
    cdef int status
    while count < RUN and (count == 0 or (one - 1 <= panes.watermark
                                          and window_begin(&panes.shape, one) < end[0])):
        status = fired_push(fired, row, window_begin(&panes.shape, one), one, &record)
        if status != 0:
            return status
        count += 1
        one += panes.shape.unit
    begins = (<int64_t*>fired.begins.base) + first
    ends = (<int64_t*>fired.ends.base) + first
    memset(record, 0, fired.stride)
    merge_time(panes, row, begins[count - 1], ends[0], record)
    for at in range(count - 1, 0, -1):
        record = fired_record(fired, first + at - 1)
        memcpy(record, fired_record(fired, first + at), fired.stride)
        merge_time(panes, row, begins[at - 1], begins[at], record)
    memset(tail, 0, fired.stride)
    for at in range(1, count):
        merge_time(panes, row, ends[at - 1], ends[at], <char*>tail)
        record_merge(panes.layout, fired_record(fired, first + at), <char*>tail)
    fired_sift(fired, first)
    end[0] = one
    return 0


cdef int fire_chain(Panes* panes, uint32_t row, const TimerColumns* due, const uint64_t* mine,
                    size_t count) noexcept nogil:
    """Fire the windows of one key; `mine` are the places of its timers, in order of time."""
    cdef size_t at = 0
    cdef int64_t end
    cdef int status
    panes_forget_near(panes)
    fetch_blocks(panes, row, due.timestamps[pair_place(mine[0])] + 1)
    while at < count:
        end = due.timestamps[pair_place(mine[at])] + 1
        while True:
            status = fire_run(panes, row, &end)
            if status != 0:
                return status
            while at < count and due.timestamps[pair_place(mine[at])] < end - 1:
                at += 1
            if not window_has_elements(panes, row, end):
                break
            if end - 1 > panes.watermark:
                status = table_add_timer(panes.table, &panes.table.event, end - 1, row, FIRE)
                if status < 0:
                    return -status
                break
    return 0


cdef int fire_single(Panes* panes, const TimerColumns* due) noexcept nogil:
    """Every pane is a window: they fire as their timers come."""
    cdef size_t at
    cdef int64_t end
    cdef char* record
    cdef int status
    for at in range(due.count):
        if due.namespaces[at] != FIRE:
            continue
        end = due.timestamps[at] + 1
        panes_forget_near(panes)
        status = fired_push(&panes.fired, due.keys[at], window_begin(&panes.shape, end), end,
                            &record)
        if status != 0:
            return status
        window_record(panes, due.keys[at], end, record)
        fired_sift(&panes.fired, panes.fired.count - 1)
        if panes.shape.lateness == 0:
            status = forget_block(panes, due.keys[at], pane_of(&panes.shape, end - 1))
        if status != 0:
            return status
    return 0


cdef int fire_sharing(Panes* panes, const TimerColumns* due) noexcept nogil:
    """Windows share panes: they fire key by key."""
    cdef uint64_t* pairs
    cdef size_t start = 0, end = 0, at
    cdef int status = panes_reserve_pairs(panes, due.count)
    if status != 0:
        return status
    pairs = <uint64_t*>panes.pairs.base
    for at in range(due.count):
        if due.namespaces[at] == FIRE:
            pairs[end] = row_pair(due.keys[at], <uint32_t>at)
            end += 1
    pairs = sort_pairs(pairs, pairs + end, end)
    while start < end and status == 0:
        at = start + 1
        while at < end and pair_row(pairs[at]) == pair_row(pairs[start]):
            at += 1
        status = fire_chain(panes, pair_row(pairs[start]), due, pairs + start, at - start)
        start = at
    return status


cdef int panes_advance(Panes* panes, int64_t watermark, uint64_t* fired) noexcept nogil:
    cdef TimerColumns due
    cdef size_t at
    cdef int status
    panes.watermark = max(watermark, -2 * <int64_t>SHAPE_LIMIT)
    status = table_poll_due(panes.table, &panes.table.event, watermark, &due)
    fired[0] += due.count
    if status == 0 and due.count:
        status = fire_single(panes, &due) if panes.single else fire_sharing(panes, &due)
        for at in range(due.count):
            if status == 0 and due.namespaces[at] == CLEANUP:
                status = forget_blocks(panes, due.keys[at], due.timestamps[at])
    timer_columns_release(&due)
    return status
