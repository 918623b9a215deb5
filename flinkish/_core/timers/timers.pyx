"""Timers as flat memory: an indexed 4-ary heap with a set of identities per key group.

The layout, the invariants and the calls are described in ``timers.pxd``.
"""

from libc.errno cimport EBADMSG, EINVAL, ENOMEM, EOVERFLOW
from libc.stdint cimport UINT32_MAX
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from flinkish._core.memory.segment cimport (
    heap_erase, heap_renumber, heap_up, prefetch, segment_init, segment_release, segment_reserve,
    set_capacity, set_clear, set_count, set_entries, set_erase, set_home, set_limit, set_remove,
    set_reserve, set_take, set_valid,
)

include "batches.pyx"
include "log.pyx"
include "check.pyx"

cdef uint64_t MAGIC = 0x010464656D697466  # "ftimed", the arity 4, version 1 of the layout
cdef size_t FIRST_TIMERS = 64             # room of the first nodes and slots
cdef TimersHeader NOTHING                 # header of all timers that have no memory yet; zero


# --- life -------------------------------------------------------------------------------------

cdef int timers_init(Timers* timers, uint32_t groups) noexcept nogil:
    cdef uint32_t group
    memset(timers, 0, sizeof(Timers))
    segment_init(&timers.nodes)
    segment_init(&timers.slots)
    segment_init(&timers.fresh)
    segment_init(&timers.removed)
    timers.nodes.base = <char*>&NOTHING
    if groups == 0 or groups > TIMER_GROUP:
        return -EINVAL
    timers.sets = <Segment*>malloc(groups * sizeof(Segment))
    if timers.sets == NULL:
        return -ENOMEM
    timers.groups = groups
    for group in range(groups):
        segment_init(&timers.sets[group])
    return 0


cdef int timers_attach(Timers* timers) noexcept nogil:
    cdef TimersHeader* header
    if timers.nodes.size == 0 and timers.slots.size == 0 and timers.sets[0].size == 0:
        return _start(timers)
    header = timers_header(timers)
    if (
        timers.groups == 1
        and timers.nodes.size >= TIMERS_ROOT
        and header.magic == MAGIC
        and header.groups == 1
        and header.count <= TIMERS_LIMIT
        and header.count <= (timers.nodes.size - TIMERS_ROOT) // sizeof(TimerNode)
        and header.used <= timers.slots.size // sizeof(TimerSlot)
        and header.count <= header.used
        and header.free <= header.used
        and set_valid(&timers.sets[0], header.count)
    ):
        return 0
    return -EINVAL


cdef int _start(Timers* timers) noexcept nogil:
    """Give timers without memory a header of their own."""
    cdef int status
    timers.nodes.base = NULL
    status = segment_reserve(&timers.nodes, TIMERS_ROOT + FIRST_TIMERS * sizeof(TimerNode))
    if status != 0:
        timers.nodes.base = <char*>&NOTHING
        return -status
    timers_header(timers).magic = MAGIC
    timers_header(timers).groups = timers.groups
    return 0


cdef void timers_release(Timers* timers) noexcept nogil:
    cdef uint32_t group
    if timers.sets == NULL:
        return
    if timers.nodes.size == 0:
        timers.nodes.base = NULL
    segment_release(&timers.nodes)
    segment_release(&timers.slots)
    segment_release(&timers.fresh)
    segment_release(&timers.removed)
    for group in range(timers.groups):
        segment_release(&timers.sets[group])
    free(timers.sets)
    timers.sets = NULL


cdef void timers_clear(Timers* timers) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef uint32_t group
    if timers.nodes.size == 0:
        return
    if header.used != 0:
        memset(timers.slots.base, 0, header.used * sizeof(TimerSlot))
    for group in range(timers.groups):
        set_clear(&timers.sets[group])
    header.count = header.used = header.free = header.sequence = 0
    timers.fresh_count = timers.removed_count = 0


cdef size_t timers_bytes(Timers* timers) noexcept nogil:
    cdef size_t bytes = timers.nodes.size + timers.slots.size + timers.groups * sizeof(Segment)
    cdef uint32_t group
    for group in range(timers.groups):
        bytes += timers.sets[group].size
    return bytes + timers.fresh.size + timers.removed.size


# --- room -------------------------------------------------------------------------------------

cdef int timers_reserve(Timers* timers, size_t nodes, size_t slots) noexcept nogil:
    cdef int status = 0
    if timers.nodes.size == 0:
        status = _start(timers)
    if status == 0:
        nodes = TIMERS_ROOT + nodes * sizeof(TimerNode)
        status = -segment_reserve(&timers.nodes, nodes)
    if status == 0 and slots != 0:
        slots = max(slots, FIRST_TIMERS)
        status = -segment_reserve(&timers.slots, slots * sizeof(TimerSlot))
    return status


cdef int timers_reserve_removed(Timers* timers, size_t more) noexcept nogil:
    if not timers.tracking:
        return 0
    return -segment_reserve(&timers.removed, (timers.removed_count + more) * sizeof(uint32_t))


cdef inline bint _has_room(Timers* timers, const TimersHeader* header,
                           const Segment* ids) noexcept nogil:
    """Whether one more timer fits without further ado."""
    return (
        timers.nodes.size >= TIMERS_ROOT + (<size_t>header.count + 1) * sizeof(TimerNode)
        and (header.free != 0
             or timers.slots.size >= (<size_t>header.used + 1) * sizeof(TimerSlot))
        and set_count(ids) < set_limit(ids)
        and header.sequence != UINT32_MAX
        and header.count != TIMERS_LIMIT
        and not timers.tracking
    )


cdef int timers_make_room(Timers* timers, uint32_t group) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef Segment* ids = &timers.sets[group]
    cdef size_t used = 0 if header.free != 0 else <size_t>header.used + 1
    cdef int status = 0
    if header.count == TIMERS_LIMIT:
        return -EOVERFLOW
    if header.sequence == UINT32_MAX:
        status = _renumber(timers)
    if status == 0:
        status = timers_reserve(timers, <size_t>header.count + 1, used)
    if status == 0 and timers.tracking:
        status = -segment_reserve(&timers.fresh, (timers.fresh_count + 1) * 2 * sizeof(uint32_t))
    if status == 0 and set_count(ids) == set_limit(ids):
        status = set_reserve(ids, <size_t>set_count(ids) + 1)
    return status


cdef int _renumber(Timers* timers) noexcept nogil:
    """Give the timers the sequences 0, 1, 2, ... in the order of those they have."""
    cdef TimersHeader* header = timers_header(timers)
    cdef uint32_t* fresh = <uint32_t*>timers.fresh.base
    cdef size_t i, place, kept = 0
    for i in range(timers.fresh_count):
        if timers_is_fresh(timers, fresh[2 * i], fresh[2 * i + 1]):
            fresh[2 * kept] = fresh[2 * i]
            fresh[2 * kept + 1] = fresh[2 * i + 1]
            kept += 1
    timers.fresh_count = kept
    if heap_renumber(timers_nodes(timers), header.count) != 0:
        return -ENOMEM
    for i in range(kept):
        place = timers_slots(timers)[fresh[2 * i]].position
        fresh[2 * i + 1] = timers_nodes(timers)[place].sequence
    header.sequence = header.count
    return 0


# --- one timer --------------------------------------------------------------------------------

cdef inline bint _is_at(Timers* timers, uint32_t position, uint32_t slot) noexcept nogil:
    """Whether the node at this position is the one of the slot."""
    return position < timers_header(timers).count \
        and timers_nodes(timers)[position].slot == slot


cdef inline bint _find(Timers* timers, const Segment* ids, uint32_t hash, int64_t timestamp,
                       uint32_t key, uint32_t ns, uint32_t* at) noexcept nogil:
    cdef uint32_t capacity = set_capacity(ids)
    cdef uint64_t* entries = set_entries(ids)
    cdef uint32_t i = set_home(hash, capacity)
    cdef uint32_t left, named
    cdef TimerSlot* slot
    for left in range(capacity):
        if entries[i] == 0:
            at[0] = i
            return 0
        if <uint32_t>(entries[i] >> 32) == hash:
            named = <uint32_t>entries[i] - 1
            slot = timers_slots(timers) + named
            if named >= timers_header(timers).used:
                timers.damaged = True
            elif slot.key == key and slot.ns == ns:
                if not _is_at(timers, slot.position, named):
                    timers.damaged = True
                elif timers_nodes(timers)[slot.position].timestamp == timestamp:
                    at[0] = i
                    return 1
        i += 1
        if i == capacity:
            i = 0
    # It never fills up by itself.
    if capacity != 0:
        timers.damaged = True
    return 0


cdef bint timers_find(Timers* timers, uint32_t hash, int64_t timestamp, uint32_t key, uint32_t ns,
                      uint32_t group, uint32_t* at) noexcept nogil:
    return _find(timers, &timers.sets[group], hash, timestamp, key, ns, at)


cdef int timers_add(Timers* timers, int64_t timestamp, uint32_t key, uint32_t ns,
                    uint32_t group) noexcept nogil:
    cdef uint32_t hash = timer_hash(timestamp, key, ns)
    cdef Segment* ids = &timers.sets[group]
    prefetch(set_entries(ids) + set_home(hash, set_capacity(ids)))
    return timers_add_hashed(timers, hash, timestamp, key, ns, group)


cdef int timers_add_hashed(Timers* timers, uint32_t hash, int64_t timestamp, uint32_t key,
                           uint32_t ns, uint32_t group) noexcept nogil:
    cdef Segment* ids = &timers.sets[group]
    cdef TimersHeader* header = timers_header(timers)
    cdef uint32_t slot, at = 0
    cdef int status
    if not _has_room(timers, header, ids):
        status = timers_make_room(timers, group)
        header = timers_header(timers)  # it may have moved
        if status != 0:
            return status
    if _find(timers, ids, hash, timestamp, key, ns, &at):
        return 0
    if timers.damaged:
        return -EBADMSG
    if header.free != 0:
        slot = header.free - 1
        if slot >= header.used or timers_slots(timers)[slot].state != 0:
            return timers_broken(timers)
        header.free = timers_slots(timers)[slot].position
        prefetch(timers_slots(timers) + header.free - 1)
    else:
        slot = header.used
        header.used += 1
    set_take(ids, at, hash, slot)
    timers_put(timers, slot, timestamp, key, ns, group)
    return 1


cdef void timers_put(Timers* timers, uint32_t slot, int64_t timestamp, uint32_t key, uint32_t ns,
                     uint32_t group) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerSlot* taken = timers_slots(timers) + slot
    cdef uint32_t* fresh
    cdef TimerNode node
    node.timestamp = timestamp
    node.sequence = header.sequence
    node.slot = slot
    taken.key = key
    taken.ns = ns
    taken.state = TIMER_LIVE | group
    if timers.tracking:
        taken.state |= TIMER_FRESH
        fresh = <uint32_t*>timers.fresh.base + 2 * timers.fresh_count
        fresh[0] = slot
        fresh[1] = node.sequence
        timers.fresh_count += 1
    heap_up(timers_nodes(timers), timers_slots(timers), header.used, header.count, node)
    header.sequence += 1
    header.count += 1


cdef void timers_take(Timers* timers, uint32_t slot) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    heap_erase(timers_nodes(timers), timers_slots(timers), header.used,
               timers_slots(timers)[slot].position, header.count)
    header.count -= 1


cdef void timers_drop(Timers* timers, uint32_t slot) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerSlot* freed = timers_slots(timers) + slot
    if timers.tracking and not freed.state & TIMER_FRESH:
        (<uint32_t*>timers.removed.base)[timers.removed_count] = slot
        timers.removed_count += 1
    freed.state = 0
    freed.position = header.free
    header.free = slot + 1


cdef bint timers_is_fresh(Timers* timers, uint32_t slot, uint32_t sequence) noexcept nogil:
    cdef TimerSlot* entry = timers_slots(timers) + slot
    if not entry.state & TIMER_FRESH or not _is_at(timers, entry.position, slot):
        return 0
    return timers_nodes(timers)[entry.position].sequence == sequence


cdef int timers_remove(Timers* timers, int64_t timestamp, uint32_t key, uint32_t ns,
                       uint32_t group) noexcept nogil:
    return timers_remove_hashed(timers, timer_hash(timestamp, key, ns), timestamp, key, ns, group)


cdef int timers_remove_hashed(Timers* timers, uint32_t hash, int64_t timestamp, uint32_t key,
                              uint32_t ns, uint32_t group) noexcept nogil:
    cdef uint32_t at, slot
    cdef int status
    if not timers_find(timers, hash, timestamp, key, ns, group, &at):
        return -EBADMSG if timers.damaged else 0
    status = timers_reserve_removed(timers, 1)
    if status != 0:
        return status
    slot = <uint32_t>set_entries(&timers.sets[group])[at] - 1
    set_erase(&timers.sets[group], at)
    timers_take(timers, slot)
    timers_drop(timers, slot)
    return 1


cdef bint timers_contains(Timers* timers, int64_t timestamp, uint32_t key, uint32_t ns,
                          uint32_t group) noexcept nogil:
    cdef uint32_t at
    return timers_find(timers, timer_hash(timestamp, key, ns), timestamp, key, ns, group, &at)


cdef inline bint _read(Timers* timers, const TimerNode* node, Timer* out) noexcept nogil:
    cdef TimerSlot* slot = timers_slots(timers) + node.slot
    if node.slot >= timers_header(timers).used or slot.state & TIMER_GROUP >= timers.groups:
        timers.damaged = True
        return 0
    out.timestamp = node.timestamp
    out.key = slot.key
    out.ns = slot.ns
    out.group = slot.state & TIMER_GROUP
    out.slot = node.slot
    return 1


cdef bint timers_peek(Timers* timers, Timer* out) noexcept nogil:
    if timers_count(timers) == 0:
        return 0
    return _read(timers, timers_nodes(timers), out)


cdef int timers_poll(Timers* timers, Timer* out) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef Segment* ids
    cdef uint32_t hash
    cdef int status
    if not timers_peek(timers, out):
        return -EBADMSG if timers.damaged else 0
    status = timers_reserve_removed(timers, 1)
    if status != 0:
        return status
    ids = &timers.sets[out.group]
    hash = timer_hash(out.timestamp, out.key, out.ns)
    prefetch(set_entries(ids) + set_home(hash, set_capacity(ids)))
    heap_erase(timers_nodes(timers), timers_slots(timers), header.used, 0, header.count)
    header.count -= 1
    if not set_remove(ids, hash, out.slot):
        return timers_broken(timers)
    timers_drop(timers, out.slot)
    return 1


cdef bint timers_get(Timers* timers, uint32_t slot, Timer* out) noexcept nogil:
    if slot >= timers_header(timers).used:
        return 0
    if not timers_slots(timers)[slot].state & TIMER_LIVE:
        return 0
    if not _is_at(timers, timers_slots(timers)[slot].position, slot):
        timers.damaged = True
        return 0
    return _read(timers, timers_nodes(timers) + timers_slots(timers)[slot].position, out)
