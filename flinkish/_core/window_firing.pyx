"""What a watermark does to panes; described in ``window_firing.pxd``."""

from libc.errno cimport ENOMEM
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from flinkish._core.state_rows cimport row_at, table_add_timer, table_touch
from flinkish._core.timer_batches cimport timer_columns_release, timers_poll_due
from flinkish._core.window_accumulators cimport RECORD_WORDS, record_merge
from flinkish._core.window_groups cimport groups_begin, groups_find
from flinkish._core.window_output cimport Fired, fired_push, fired_record, fired_sift
from flinkish._core.window_panes cimport (
    CLEANUP,
    FIRE,
    fetch_blocks,
    forget_block,
    forget_blocks,
    merge_time,
    panes_forget_near,
    window_has_elements,
    window_record,
)
from flinkish._core.window_shapes cimport SHAPE_LIMIT, pane_of, window_begin

cdef enum:
    BLOCK = 1024       # timers grouped at once
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
    to the last what lies behind its predecessor.
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


cdef int fire_chain(Panes* panes, uint32_t row, const TimerColumns* due, const uint32_t* mine,
                    uint32_t count) noexcept nogil:
    """Fire the windows of one key; `mine` are the places of its timers, in order of time."""
    cdef uint32_t at = 0
    cdef int64_t end
    cdef int status
    panes_forget_near(panes)
    fetch_blocks(panes, row, due.timestamps[mine[0]] + 1)
    while at < count:
        end = due.timestamps[mine[at]] + 1
        while True:
            status = fire_run(panes, row, &end)
            if status != 0:
                return status
            while at < count and due.timestamps[mine[at]] < end - 1:
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


cdef int group_timers(Groups* groups, const TimerColumns* due, uint32_t* group_of) noexcept nogil:
    """A group for each key that has a FIRE timer; NO_GROUP for timers of other kinds."""
    cdef int64_t[BLOCK] panes
    cdef char[BLOCK] skip
    cdef size_t start = 0
    cdef uint32_t count, i
    cdef int status = groups_begin(groups)
    while start < due.count and status == 0:
        count = <uint32_t>min(due.count - start, <size_t>BLOCK)
        for i in range(count):
            panes[i] = 0
            skip[i] = due.namespaces[start + i] != FIRE
        status = groups_find(groups, due.keys + start, panes, skip, count, <uint32_t>start,
                             group_of + start)
        start += count
    return status


cdef int fire_sharing(Panes* panes, Groups* groups, const TimerColumns* due) noexcept nogil:
    """Windows share panes: they fire key by key."""
    cdef uint32_t* group_of = <uint32_t*>malloc(2 * due.count * sizeof(uint32_t))
    cdef uint32_t* order = group_of + due.count
    cdef uint32_t* places = NULL
    cdef uint32_t group, start
    cdef size_t at
    cdef int status = ENOMEM if group_of == NULL else group_timers(groups, due, group_of)
    if status == 0:
        places = <uint32_t*>calloc(groups.count + 1, sizeof(uint32_t))
        status = ENOMEM if places == NULL else 0
    if status == 0:
        # Sort by group, keeping the order of time within each.
        for at in range(due.count):
            places[group_of[at] + 1] += 1
        for group in range(groups.count):
            places[group + 1] += places[group]
        for at in range(due.count):
            group = group_of[at]
            order[places[group]] = <uint32_t>at
            places[group] += 1
        # Now places[g] is where group g ends and g + 1 begins.
        for group in range(1, groups.count):
            start = places[group - 1]
            if status == 0:
                status = fire_chain(panes, due.keys[order[start]], due, order + start,
                                    places[group] - start)
    free(places)
    free(group_of)
    return status


cdef int panes_advance(Panes* panes, Groups* groups, int64_t watermark, uint64_t* fired) noexcept nogil:
    cdef TimerColumns due
    cdef size_t at
    cdef int status
    panes.watermark = max(watermark, -2 * <int64_t>SHAPE_LIMIT)
    status = table_poll_due(panes.table, &panes.table.event, watermark, &due)
    fired[0] += due.count
    if status == 0 and due.count:
        status = fire_single(panes, &due) if panes.single else fire_sharing(panes, groups, &due)
        for at in range(due.count):
            if status == 0 and due.namespaces[at] == CLEANUP:
                status = forget_blocks(panes, due.keys[at], due.timestamps[at])
    timer_columns_release(&due)
    return status
