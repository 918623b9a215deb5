"""The invariants of ``timers.pxd``, checked one by one."""

from libc.stdint cimport int64_t

from flinkish._core.memory.segment cimport (
    TimerNode, TimerSlot, heap_in_order, set_count, set_entries, set_entry, set_limit,
)


cdef const char* timers_fault(Timers* timers) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerNode* nodes = timers_nodes(timers)
    cdef TimerSlot* slots = timers_slots(timers)
    cdef size_t i, members = 0, live = 0
    cdef uint32_t slot, group
    if header.used > timers.slots.size // sizeof(TimerSlot) or header.count > header.used:
        return "counts that the segments cannot hold"
    for group in range(timers.groups):
        members += set_count(&timers.sets[group])
        if set_count(&timers.sets[group]) > set_limit(&timers.sets[group]):
            return "a set is too full"
    for i in range(timers.slots.size // sizeof(TimerSlot)):
        if slots[i].state & TIMER_LIVE:
            live += 1
            if i >= header.used:
                return "a live slot after the last used one"
    if members != header.count or live != header.count:
        return "nodes, live slots and set entries are not equally many"
    if not heap_in_order(nodes, header.count):
        return "a node before its parent"
    for i in range(header.count):
        slot = nodes[i].slot
        if slot >= header.used or slots[slot].position != i or nodes[i].sequence >= header.sequence:
            return "a node whose slot is elsewhere or whose sequence is from the future"
        group = slots[slot].state & TIMER_GROUP
        if not slots[slot].state & TIMER_LIVE or group >= timers.groups:
            return "a node of a slot that is free or of a foreign key group"
        if not _in_set(timers, nodes[i].timestamp, slot, group):
            return "a timer that its set does not find"
    return _free_fault(timers, header.used - header.count)


cdef bint _in_set(Timers* timers, int64_t timestamp, uint32_t slot, uint32_t group) noexcept nogil:
    cdef TimerSlot* entry = timers_slots(timers) + slot
    cdef uint32_t hash = timer_hash(timestamp, entry.key, entry.ns)
    cdef uint32_t at
    if not timers_find(timers, hash, timestamp, entry.key, entry.ns, group, &at):
        return 0
    return set_entries(&timers.sets[group])[at] == set_entry(hash, slot)


cdef const char* _free_fault(Timers* timers, uint32_t unused) noexcept nogil:
    cdef uint32_t next = timers_header(timers).free
    while next != 0 and unused != 0:
        if next > timers_header(timers).used or timers_slots(timers)[next - 1].state != 0:
            return "a free slot that is taken or out of range"
        next = timers_slots(timers)[next - 1].position
        unused -= 1
    if next != 0 or unused != 0:
        return "free slots that the chain does not reach"
    return NULL
