"""Many timers at once; described in ``timer_batches.pxd``."""

from libc.errno cimport EINVAL, ENOMEM
from libc.stdint cimport INT64_MAX, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from flinkish._core.id_set cimport (
    set_capacity,
    set_clear,
    set_count,
    set_entries,
    set_erase,
    set_home,
    set_index,
)
from flinkish._core.memory cimport Segment, segment_init, segment_release, segment_reserve
from flinkish._core.node_heap cimport (
    HEAP_ARITY,
    TimerNode,
    TimerSlot,
    heap_erase,
    heap_erase_top,
    node_before,
    prefetch,
    sort_nodes,
)
from flinkish._core.timers cimport (
    TIMER_GROUP,
    Timer,
    TimersHeader,
    timer_hash,
    timers_add,
    timers_clear,
    timers_drop,
    timers_header,
    timers_nodes,
    timers_poll,
    timers_remove,
    timers_reserve_removed,
    timers_slots,
)

cdef enum:
    # How many timers ahead their memory is asked for.  Each step needs what the one before
    # brought: the set entry names the slot, the slot the place in the heap.
    AHEAD_SET = 24
    AHEAD_SLOT = 16
    AHEAD_NODE = 8


# --- in ---------------------------------------------------------------------------------------

cdef inline uint32_t _ns(const TimerBatch* batch, size_t i) noexcept nogil:
    return batch.namespaces[i] if batch.namespaces != NULL else batch.ns


cdef inline uint32_t _group(const TimerBatch* batch, size_t i) noexcept nogil:
    # Below the first group this wraps around and is out of range as well.
    return (batch.groups[i] if batch.groups != NULL else batch.group) - batch.first_group


cdef inline uint64_t* _home(Timers* timers, const TimerBatch* batch, size_t i,
                            uint32_t* hash) noexcept nogil:
    """Where the search for a timer begins, or NULL."""
    cdef uint32_t group = _group(batch, i)
    cdef Segment* ids = &timers.sets[group]
    if group >= timers.groups or ids.base == NULL:
        return NULL
    hash[0] = timer_hash(batch.timestamps[i], batch.keys[i], _ns(batch, i))
    return set_entries(ids) + set_home(hash[0], set_capacity(ids))


cdef int64_t timers_add_many(Timers* timers, const TimerBatch* batch) noexcept nogil:
    cdef int64_t added = 0
    cdef uint64_t* home
    cdef uint32_t hash
    cdef size_t i
    cdef int status
    if not _in_range(timers, batch):
        return -EINVAL
    for i in range(batch.count):
        if i + AHEAD_SET < batch.count:
            home = _home(timers, batch, i + AHEAD_SET, &hash)
            if home != NULL:
                prefetch(home)
        status = timers_add(
            timers, batch.timestamps[i], batch.keys[i], _ns(batch, i), _group(batch, i)
        )
        if status < 0:
            return status
        added += status
    return added


cdef int64_t timers_remove_many(Timers* timers, const TimerBatch* batch) noexcept nogil:
    cdef int64_t removed = 0
    cdef size_t i
    cdef int status
    if not _in_range(timers, batch):
        return -EINVAL
    for i in range(batch.count):
        _look_ahead(timers, batch, i)
        status = timers_remove(
            timers, batch.timestamps[i], batch.keys[i], _ns(batch, i), _group(batch, i)
        )
        if status < 0:
            return status
        removed += status
    return removed


cdef bint _in_range(Timers* timers, const TimerBatch* batch) noexcept nogil:
    cdef bint inside = True
    cdef size_t i
    if batch.groups == NULL:
        return batch.group - batch.first_group < timers.groups
    for i in range(batch.count):
        inside &= _group(batch, i) < timers.groups
    return inside


cdef inline void _look_ahead(Timers* timers, const TimerBatch* batch, size_t i) noexcept nogil:
    """Ask for what removing the timers behind `i` will touch."""
    cdef uint64_t* home
    cdef uint32_t hash, slot
    if i + AHEAD_SET < batch.count:
        home = _home(timers, batch, i + AHEAD_SET, &hash)
        if home != NULL:
            prefetch(home)
    if i + AHEAD_SLOT < batch.count:
        slot = _guess(timers, batch, i + AHEAD_SLOT)
        prefetch(timers_slots(timers) + slot)
    if i + AHEAD_NODE < batch.count:
        slot = _guess(timers, batch, i + AHEAD_NODE)
        prefetch(timers_nodes(timers) + timers_slots(timers)[slot].position)


cdef inline uint32_t _guess(Timers* timers, const TimerBatch* batch, size_t i) noexcept nogil:
    """A slot that is probably that of the timer; some slot in any case."""
    cdef uint32_t hash
    cdef uint64_t* entry = _home(timers, batch, i, &hash)
    cdef uint64_t* end
    if entry == NULL:
        return 0
    end = set_entries(&timers.sets[_group(batch, i)]) \
        + set_capacity(&timers.sets[_group(batch, i)])
    while entry != end and entry[0] != 0:
        if <uint32_t>(entry[0] >> 32) == hash:
            return <uint32_t>entry[0] - 1
        entry += 1
    return 0


# --- out --------------------------------------------------------------------------------------

cdef void timer_columns_release(TimerColumns* columns) noexcept nogil:
    free(columns.timestamps)
    memset(columns, 0, sizeof(TimerColumns))


cdef void _use_block(TimerColumns* out, void* block, size_t count) noexcept nogil:
    """Lay the three columns of `count` timers into a block of 16 bytes for each."""
    out.count = count
    out.timestamps = <int64_t*>block
    out.keys = <uint32_t*>(out.timestamps + count)
    out.namespaces = out.keys + count


cdef int timers_poll_due(Timers* timers, int64_t timestamp, size_t limit,
                         TimerColumns* out) noexcept nogil:
    cdef size_t most = timers_header(timers).count
    cdef Segment due
    cdef int64_t found
    cdef int status = 0
    memset(out, 0, sizeof(TimerColumns))
    if limit < most // 4:
        most = 4 * limit
    segment_init(&due)
    found = _find_due(timers, timestamp, most, &due)
    if found < 0:
        status = <int>found
    elif <size_t>found > most:
        status = _poll_one_by_one(timers, limit, out)
    elif found > 0 and limit > 0:
        status = _take_top(timers, <uint32_t*>due.base, <size_t>found, limit, out)
    segment_release(&due)
    return status


cdef int64_t _find_due(Timers* timers, int64_t timestamp, size_t most,
                       Segment* due) noexcept nogil:
    """Write the places of the due timers, ascending, and return how many; stop above `most`."""
    cdef TimerNode* nodes = timers_nodes(timers)
    cdef size_t count = timers_header(timers).count
    cdef size_t found = 0, next = 0, child, end
    cdef uint32_t* places
    cdef int status = segment_reserve(due, 64 * sizeof(uint32_t))
    if status != 0:
        return -status
    places = <uint32_t*>due.base
    places[0] = 0
    found = count != 0 and nodes[0].timestamp <= timestamp
    # Breadth first: no timer is due whose parent is not.
    while next < found and found <= most:
        if due.size < (found + HEAP_ARITY) * sizeof(uint32_t):
            status = segment_reserve(due, (found + HEAP_ARITY) * sizeof(uint32_t))
            if status != 0:
                return -status
            places = <uint32_t*>due.base
        child = <size_t>HEAP_ARITY * places[next] + 1
        end = min(child + HEAP_ARITY, count)
        while child < end:
            places[found] = <uint32_t>child
            found += nodes[child].timestamp <= timestamp
            child += 1
        next += 1
    return <int64_t>found


cdef int _poll_one_by_one(Timers* timers, size_t limit, TimerColumns* out) noexcept nogil:
    cdef void* block = malloc(limit * sizeof(TimerNode) + 1)
    cdef int status = timers_reserve_removed(timers, limit)
    cdef Timer timer
    cdef size_t i
    if block == NULL or status != 0:
        free(block)
        return -ENOMEM if status == 0 else status
    _use_block(out, block, limit)
    for i in range(limit):
        timers_poll(timers, &timer)
        out.timestamps[i] = timer.timestamp
        out.keys[i] = timer.key
        out.namespaces[i] = timer.ns
    return 0


cdef int _take_top(Timers* timers, uint32_t* due, size_t found, size_t limit,
                   TimerColumns* out) noexcept nogil:
    """Take out the `limit` earliest of the timers at the places `due`."""
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerNode* nodes = timers_nodes(timers)
    cdef size_t taken = min(found, limit)
    cdef bint all = taken == header.count
    cdef TimerNode* sorted = _sort(timers, due, found, taken, out)
    cdef size_t i, kept = 0
    if sorted == NULL:
        return -ENOMEM
    cdef int status = timers_reserve_removed(timers, taken)
    if status != 0:
        free(sorted)
        timer_columns_release(out)
        return status
    if taken < found:
        for i in range(found):
            if not node_before(&sorted[taken - 1], &nodes[due[i]]):
                due[kept] = due[i]
                kept += 1
    heap_erase_top(nodes, timers_slots(timers), due, taken, header.count)
    header.count -= <uint32_t>taken
    _write(timers, sorted, out)
    if not all:
        _forget(timers, sorted, taken)
    elif timers.tracking:
        for i in range(taken):
            timers_drop(timers, sorted[i].slot)
        _clear_sets(timers)
    else:
        timers_clear(timers)
    free(sorted)
    return 0


cdef TimerNode* _sort(Timers* timers, const uint32_t* places, size_t count, size_t taken,
                      TimerColumns* out) noexcept nogil:
    """The nodes at `places` in firing order, with columns for the first `taken`; or NULL."""
    cdef TimerNode* nodes = <TimerNode*>malloc(count * sizeof(TimerNode) + 1)
    cdef TimerNode* spare = <TimerNode*>malloc(count * sizeof(TimerNode) + 1)
    cdef TimerNode* sorted
    cdef size_t i
    if nodes == NULL or spare == NULL:
        free(nodes)
        free(spare)
        return NULL
    for i in range(count):
        nodes[i] = timers_nodes(timers)[places[i]]
    sorted = sort_nodes(nodes, spare, count)
    # The array that is not needed any more is just as large as the columns.
    _use_block(out, spare if sorted == nodes else nodes, taken)
    return sorted


cdef void _write(Timers* timers, const TimerNode* sorted, TimerColumns* out) noexcept nogil:
    cdef TimerSlot* slots = timers_slots(timers)
    cdef size_t i
    for i in range(out.count):
        if i + AHEAD_SLOT < out.count:
            prefetch(slots + sorted[i + AHEAD_SLOT].slot)
        out.timestamps[i] = sorted[i].timestamp
        out.keys[i] = slots[sorted[i].slot].key
        out.namespaces[i] = slots[sorted[i].slot].ns


cdef void _forget(Timers* timers, const TimerNode* sorted, size_t count) noexcept nogil:
    """Erase timers that have left the heap from the sets and free their slots."""
    cdef Segment* ids
    cdef uint32_t hash
    cdef size_t i
    for i in range(count):
        if i + AHEAD_SLOT < count:
            prefetch(timers_slots(timers) + sorted[i + AHEAD_SLOT].slot)
        if i + AHEAD_NODE < count:
            ids = _set_of(timers, &sorted[i + AHEAD_NODE], &hash)
            prefetch(set_entries(ids) + set_home(hash, set_capacity(ids)))
        ids = _set_of(timers, &sorted[i], &hash)
        set_erase(ids, set_index(ids, hash, sorted[i].slot))
        timers_drop(timers, sorted[i].slot)


cdef inline Segment* _set_of(Timers* timers, const TimerNode* node, uint32_t* hash) noexcept nogil:
    cdef TimerSlot* slot = timers_slots(timers) + node.slot
    hash[0] = timer_hash(node.timestamp, slot.key, slot.ns)
    return &timers.sets[slot.state & TIMER_GROUP]


cdef void _clear_sets(Timers* timers) noexcept nogil:
    cdef uint32_t group
    for group in range(timers.groups):
        set_clear(&timers.sets[group])


cdef int timers_of_group(Timers* timers, uint32_t group, bint take,
                         TimerColumns* out) noexcept nogil:
    cdef TimersHeader* header = timers_header(timers)
    cdef TimerSlot* slots = timers_slots(timers)
    cdef size_t count, i, found = 0
    cdef uint32_t* places
    cdef TimerNode* sorted
    cdef uint64_t entry
    cdef int status
    memset(out, 0, sizeof(TimerColumns))
    if group >= timers.groups:
        return -EINVAL
    count = set_count(&timers.sets[group])
    if count == 0:
        return 0
    if take and count == header.count:
        return timers_poll_due(timers, INT64_MAX, count, out)
    status = timers_reserve_removed(timers, count)
    if status != 0:
        return status
    places = <uint32_t*>malloc(count * sizeof(uint32_t))
    if places == NULL:
        return -ENOMEM
    for i in range(set_capacity(&timers.sets[group])):
        entry = set_entries(&timers.sets[group])[i]
        if entry != 0:
            places[found] = slots[<uint32_t>entry - 1].position
            found += 1
    sorted = _sort(timers, places, count, count, out)
    free(places)
    if sorted == NULL:
        return -ENOMEM
    _write(timers, sorted, out)
    if take:
        set_clear(&timers.sets[group])
        for i in range(count):
            heap_erase(timers_nodes(timers), slots, slots[sorted[i].slot].position, header.count)
            header.count -= 1
            timers_drop(timers, sorted[i].slot)
    free(sorted)
    return 0
