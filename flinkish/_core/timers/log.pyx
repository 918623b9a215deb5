"""The log of changes of timers, and timers from a log; described in ``timers/log.pxd``."""

from libc.errno cimport EBADMSG, EINVAL, ENOMEM, EOVERFLOW
from libc.stdlib cimport free, malloc

from flinkish._core.memory.segment cimport (
    Segment, TimerNode, TimerSlot, heapify, prefetch, set_capacity, set_entries, set_home,
    set_remove, set_reserve, set_take, sort_nodes,
)


# --- recording --------------------------------------------------------------------------------

cdef void timers_track(Timers* timers, bint on) noexcept nogil:
    timers_clear_changes(timers)
    timers.tracking = on


cdef const uint32_t* timers_removed(Timers* timers) noexcept nogil:
    return <const uint32_t*>timers.removed.base


cdef bint timers_next_fresh(Timers* timers, size_t* cursor, Timer* out) noexcept nogil:
    cdef uint32_t* fresh = <uint32_t*>timers.fresh.base
    cdef size_t i
    while cursor[0] < timers.fresh_count:
        i = 2 * cursor[0]
        cursor[0] += 1
        if timers_is_fresh(timers, fresh[i], fresh[i + 1]):
            return timers_get(timers, fresh[i], out)
    return 0


cdef void timers_clear_changes(Timers* timers) noexcept nogil:
    cdef uint32_t* fresh = <uint32_t*>timers.fresh.base
    cdef size_t i
    for i in range(timers.fresh_count):
        timers_slots(timers)[fresh[2 * i]].state &= ~<uint32_t>TIMER_FRESH
    timers.fresh_count = 0
    timers.removed_count = 0


cdef int timers_by_registration(Timers* timers, uint32_t* out) noexcept nogil:
    cdef size_t count = timers_header(timers).count
    cdef TimerNode* nodes = <TimerNode*>malloc(count * sizeof(TimerNode) + 1)
    cdef TimerNode* spare = <TimerNode*>malloc(count * sizeof(TimerNode) + 1)
    cdef size_t i
    if nodes == NULL or spare == NULL:
        free(nodes)
        free(spare)
        return -ENOMEM
    for i in range(count):
        nodes[i] = timers_nodes(timers)[i]
        nodes[i].timestamp = 0
    sort_nodes(nodes, spare, count)
    for i in range(count):
        out[i] = nodes[i].slot
    free(nodes)
    free(spare)
    return 0


# --- replay -----------------------------------------------------------------------------------

cdef int timers_remove_slot(Timers* timers, uint32_t slot) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerSlot* slots = timers_slots(timers)
    cdef uint32_t hash, group
    cdef Timer timer
    if not timers_get(timers, slot, &timer):
        return 0
    hash = timer_hash(timer.timestamp, timer.key, timer.ns)
    group = timer.group
    if not set_remove(&timers.sets[group], hash, slot):
        return timers_broken(timers)
    timers_take(timers, slot)
    slots[slot].state = 0
    header.free = 0
    return 1


cdef int timers_insert_at(Timers* timers, uint32_t slot, int64_t timestamp, uint32_t key,
                          uint32_t ns, uint32_t group) noexcept nogil:
    cdef uint32_t hash = timer_hash(timestamp, key, ns)
    cdef TimersHeader* header
    cdef uint32_t at
    cdef int status
    if slot >= TIMERS_LIMIT or group >= timers.groups:
        return -EINVAL
    status = timers_make_room(timers, group)
    if status == 0:
        status = timers_reserve(timers, 0, <size_t>slot + 1)
    if status != 0:
        return status
    header = timers_header(timers)
    if timers_find(timers, hash, timestamp, key, ns, group, &at):
        return 0
    if timers.damaged:
        return -EBADMSG
    if slot < header.used and timers_slots(timers)[slot].state & TIMER_LIVE:
        return -EINVAL
    header.free = 0
    header.used = max(header.used, slot + 1)
    set_take(&timers.sets[group], at, hash, slot)
    timers_put(timers, slot, timestamp, key, ns, group)
    return 1


cdef void timers_rebuild_free(Timers* timers) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerSlot* slots = timers_slots(timers)
    cdef uint32_t slot = header.used
    if slot == 0:
        return
    while slot != 0 and slots[slot - 1].state == 0:
        slot -= 1
    header.used = slot
    header.free = 0
    while slot != 0:
        slot -= 1
        if slots[slot].state == 0:
            slots[slot].position = header.free
            header.free = slot + 1


cdef int timers_load(Timers* timers, size_t count, const uint32_t* slots,
                     const int64_t* timestamps, const uint32_t* keys,
                     const uint32_t* namespaces, uint32_t group) noexcept nogil:
    cdef int status
    if timers_header(timers).count != 0 or group >= timers.groups:
        return -EINVAL
    timers_clear(timers)
    if count == 0:
        return 0
    if count > TIMERS_LIMIT:
        return -EOVERFLOW
    status = _load_nodes(timers, count, slots, timestamps, keys, namespaces, group)
    if status == 0:
        status = _load_set(timers, count, timestamps, keys, namespaces, slots, group)
    if status == 0:
        timers_rebuild_free(timers)
    else:
        timers_clear(timers)
    return status


cdef int _load_nodes(Timers* timers, size_t count, const uint32_t* slots,
                     const int64_t* timestamps, const uint32_t* keys,
                     const uint32_t* namespaces, uint32_t group) noexcept nogil:
    cdef uint32_t slot = <uint32_t>count - 1
    cdef TimersHeader* header
    cdef TimerNode* nodes
    cdef TimerSlot* taken
    cdef size_t i
    cdef int status
    if slots != NULL:
        for i in range(count):
            slot = max(slot, slots[i])
    if slot >= TIMERS_LIMIT:
        return -EINVAL
    status = timers_reserve(timers, count, <size_t>slot + 1)
    if status != 0:
        return status
    header = timers_header(timers)
    header.used = slot + 1
    nodes = timers_nodes(timers)
    for i in range(count):
        slot = slots[i] if slots != NULL else <uint32_t>i
        taken = timers_slots(timers) + slot
        if taken.state != 0:
            return -EINVAL
        taken.key = keys[i]
        taken.ns = namespaces[i]
        taken.state = TIMER_LIVE | group
        nodes[i].timestamp = timestamps[i]
        nodes[i].sequence = <uint32_t>i
        nodes[i].slot = slot
    heapify(nodes, timers_slots(timers), header.used, count)
    header.count = <uint32_t>count
    header.sequence = <uint32_t>count
    return 0


cdef int _load_set(Timers* timers, size_t count, const int64_t* timestamps, const uint32_t* keys,
                   const uint32_t* namespaces, const uint32_t* slots,
                   uint32_t group) noexcept nogil:
    cdef Segment* ids = &timers.sets[group]
    cdef uint32_t hash, at
    cdef size_t i, ahead
    cdef int status = set_reserve(ids, count)
    if status != 0:
        return status
    for i in range(count):
        ahead = min(i + AHEAD, count - 1)
        hash = timer_hash(timestamps[ahead], keys[ahead], namespaces[ahead])
        prefetch(set_entries(ids) + set_home(hash, set_capacity(ids)))
        hash = timer_hash(timestamps[i], keys[i], namespaces[i])
        if timers_find(timers, hash, timestamps[i], keys[i], namespaces[i], group, &at):
            return -EINVAL
        set_take(ids, at, hash, slots[i] if slots != NULL else <uint32_t>i)
    return 0
