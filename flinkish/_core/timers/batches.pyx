"""Many timers at once; described in ``timers/batches.pxd``."""

cimport cython
from libc.errno cimport EBADMSG, EINVAL, ENOMEM
from libc.stdint cimport INT64_MAX, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from flinkish._core.memory.segment cimport (
    HEAP_ARITY, Segment, TimerNode, TimerSlot, heap_erase_top, node_before, prefetch, segment_init,
    segment_release, segment_reserve, set_capacity, set_clear, set_count, set_entries, set_guess,
    set_home, set_remove, set_reserve, sort_nodes,
)

cdef enum:
    # A batch goes in chunks.  What all timers of a chunk need is asked for before the first of
    # them is touched, step by step: the set entry names the slot, the slot the place in the heap.
    CHUNK = 32
    AHEAD = 16  # the same for timers that need one step only

cdef struct Chunk:
    # Copies: the caller's arrays may change under our hands, hash and timer must not part.
    size_t count
    int64_t[CHUNK] timestamps
    uint32_t[CHUNK] keys
    uint32_t[CHUNK] groups       # local
    uint32_t[CHUNK] namespaces
    uint32_t[CHUNK] hashes
    uint32_t[CHUNK] slots        # probably that of the timer; some slot in any case


# --- in ---------------------------------------------------------------------------------------

@cython.overflowcheck(False)
cdef inline uint32_t _local(const TimerBatch* batch, size_t row) noexcept nogil:
    # Below the first group this wraps around and is out of range as well.
    return (batch.groups[row] if batch.groups != NULL else batch.group) - batch.first_group


cdef bint _in_range(Timers* timers, const TimerBatch* batch) noexcept nogil:
    cdef bint inside = True
    cdef size_t row
    for row in range(batch.count if batch.groups != NULL else 1):
        inside &= _local(batch, row) < timers.groups
    return inside


cdef int _fetch(Timers* timers, const TimerBatch* batch, size_t row, Chunk* chunk,
                bint there) noexcept nogil:
    """Take up the rows from `row` on and ask for their set entries; and slots, if `there`."""
    cdef const uint32_t* namespaces = batch.namespaces
    cdef size_t count = min(<size_t>CHUNK, batch.count - row)
    cdef uint32_t group, ns, hash
    cdef Segment* ids
    cdef size_t i
    chunk.count = count
    memcpy(chunk.timestamps, batch.timestamps + row, count * sizeof(int64_t))
    memcpy(chunk.keys, batch.keys + row, count * sizeof(uint32_t))
    for i in range(count):
        group = _local(batch, row + i)
        ns = namespaces[row + i] if namespaces != NULL else batch.ns
        if group >= timers.groups:
            return -EINVAL
        hash = timer_hash(chunk.timestamps[i], chunk.keys[i], ns)
        ids = &timers.sets[group]
        prefetch(set_entries(ids) + set_home(hash, set_capacity(ids)))
        chunk.groups[i] = group
        chunk.namespaces[i] = ns
        chunk.hashes[i] = hash
    if there:
        for i in range(count):
            chunk.slots[i] = set_guess(&timers.sets[chunk.groups[i]], chunk.hashes[i])
            prefetch(timers_slots(timers) + chunk.slots[i])
    return 0


cdef void _fetch_nodes(Timers* timers, const Chunk* chunk, bint around) noexcept nogil:
    """Ask for the nodes of the slots; and for those that taking them out will move."""
    cdef TimerNode* nodes = timers_nodes(timers)
    cdef TimerSlot* slots = timers_slots(timers)
    cdef uint32_t used = timers_header(timers).used
    cdef size_t i, place
    for i in range(chunk.count):
        if chunk.slots[i] < used:
            place = slots[chunk.slots[i]].position
            prefetch(nodes + place)
            if around:
                prefetch(nodes + (place - (place != 0)) // HEAP_ARITY)
                prefetch(nodes + place * HEAP_ARITY + 1)


cdef int64_t timers_add_many(Timers* timers, const TimerBatch* batch) noexcept nogil:
    cdef int64_t added = 0, before = 0
    cdef size_t row = 0, i
    cdef bint there = False
    cdef Chunk chunk
    cdef int status
    if not _in_range(timers, batch):
        return -EINVAL
    if timers_header(timers).count == 0:
        status = _expect(timers, batch)
        if status != 0:
            return status
    while row < batch.count:
        status = _fetch(timers, batch, row, &chunk, there)
        if status != 0:
            return status
        if there:
            _fetch_nodes(timers, &chunk, False)
        for i in range(chunk.count):
            status = timers_add_hashed(
                timers, chunk.hashes[i], chunk.timestamps[i], chunk.keys[i],
                chunk.namespaces[i], chunk.groups[i],
            )
            if status < 0:
                return status
            added += status
        # Duplicates seldom come alone.
        there = added - before != <int64_t>chunk.count
        before = added
        row += chunk.count
    return added


cdef int _expect(Timers* timers, const TimerBatch* batch) noexcept nogil:
    """Reserve once what a batch needs that comes into an empty heap."""
    cdef int status = timers_reserve(timers, batch.count, batch.count)
    cdef uint32_t group
    cdef size_t row
    cdef size_t* counts
    if status != 0 or batch.groups == NULL:
        return set_reserve(&timers.sets[_local(batch, 0)], batch.count) if status == 0 else status
    counts = <size_t*>calloc(timers.groups, sizeof(size_t))
    if counts == NULL:
        return -ENOMEM
    for row in range(batch.count):
        group = _local(batch, row)
        if group < timers.groups:  # the caller's array may have changed by now
            counts[group] += 1
    for group in range(timers.groups):
        if status == 0 and counts[group] != 0:
            status = set_reserve(&timers.sets[group], counts[group])
    free(counts)
    return status


cdef int64_t timers_remove_many(Timers* timers, const TimerBatch* batch) noexcept nogil:
    cdef int64_t removed = 0
    cdef size_t row = 0, i
    cdef Chunk chunk
    cdef int status
    if not _in_range(timers, batch):
        return -EINVAL
    while row < batch.count:
        status = _fetch(timers, batch, row, &chunk, True)
        if status != 0:
            return status
        _fetch_nodes(timers, &chunk, True)
        for i in range(chunk.count):
            status = timers_remove_hashed(
                timers, chunk.hashes[i], chunk.timestamps[i], chunk.keys[i],
                chunk.namespaces[i], chunk.groups[i],
            )
            if status < 0:
                return status
            removed += status
        row += chunk.count
    return removed


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
        if timers_poll(timers, &timer) <= 0:
            timer_columns_release(out)
            return -EBADMSG
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
    if status == 0:
        status = _write(timers, sorted, out)
    if status != 0:
        free(sorted)
        timer_columns_release(out)
        return status
    if taken < found:
        for i in range(found):
            if not node_before(&sorted[taken - 1], &nodes[due[i]]):
                due[kept] = due[i]
                kept += 1
    heap_erase_top(nodes, timers_slots(timers), header.used, due, taken, header.count)
    header.count -= <uint32_t>taken
    if not all:
        status = _forget(timers, sorted, taken)
    elif timers.tracking:
        for i in range(taken):
            timers_drop(timers, sorted[i].slot)
        _clear_sets(timers)
    else:
        timers_clear(timers)
    free(sorted)
    if status != 0:
        timer_columns_release(out)
    return status


cdef TimerNode* _sort(Timers* timers, const uint32_t* places, size_t count, size_t taken,
                      TimerColumns* out) noexcept nogil:
    """The nodes at `places` in firing order, with columns for the first `taken`; or NULL."""
    cdef TimerNode* nodes = <TimerNode*>malloc(count * sizeof(TimerNode) + 1)
    cdef TimerNode* spare = <TimerNode*>malloc(count * sizeof(TimerNode) + 1)
    cdef size_t i
    if nodes == NULL or spare == NULL:
        free(nodes)
        free(spare)
        return NULL
    for i in range(count):
        nodes[i] = timers_nodes(timers)[places[i]]
    sort_nodes(nodes, spare, count)
    # The spare array is not needed any more, and it is just as large as the columns.
    _use_block(out, spare, taken)
    return nodes


cdef int _write(Timers* timers, const TimerNode* sorted, TimerColumns* out) noexcept nogil:
    """Fill the columns from nodes, whose slots are verified by that.  0 or -EBADMSG."""
    cdef TimerSlot* slots = timers_slots(timers)
    cdef uint32_t used = timers_header(timers).used
    cdef bint sound = True
    cdef size_t i
    for i in range(out.count):
        if i + AHEAD < out.count:
            prefetch(slots + sorted[i + AHEAD].slot)
        if sorted[i].slot >= used:
            sound = False
            break
        sound &= slots[sorted[i].slot].state & TIMER_GROUP < timers.groups
        out.timestamps[i] = sorted[i].timestamp
        out.keys[i] = slots[sorted[i].slot].key
        out.namespaces[i] = slots[sorted[i].slot].ns
    return 0 if sound else timers_broken(timers)


cdef int _forget(Timers* timers, const TimerNode* sorted, size_t count) noexcept nogil:
    """Erase timers that have left the heap from the sets and free their slots.  0 or -EBADMSG."""
    cdef Segment* ids
    cdef uint32_t hash
    cdef size_t i
    for i in range(count):
        if i + AHEAD < count:
            prefetch(timers_slots(timers) + sorted[i + AHEAD].slot)
        if i + AHEAD // 2 < count:
            ids = _set_of(timers, &sorted[i + AHEAD // 2], &hash)
            prefetch(set_entries(ids) + set_home(hash, set_capacity(ids)))
        ids = _set_of(timers, &sorted[i], &hash)
        if not set_remove(ids, hash, sorted[i].slot):
            return timers_broken(timers)
        timers_drop(timers, sorted[i].slot)
    return 0


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
    cdef Timer timer
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
        if entry != 0 and found < count and timers_get(timers, <uint32_t>entry - 1, &timer):
            places[found] = slots[timer.slot].position
            found += 1
        elif entry != 0:
            timers.damaged = True
    if timers.damaged or found < count:
        free(places)
        return timers_broken(timers)
    sorted = _sort(timers, places, count, count, out)
    free(places)
    if sorted == NULL:
        return -ENOMEM
    status = _write(timers, sorted, out)
    if take and status == 0:
        set_clear(&timers.sets[group])
        for i in range(count):
            # A slot that came twice is gone by now.
            if timers_get(timers, sorted[i].slot, &timer):
                timers_take(timers, timer.slot)
                timers_drop(timers, timer.slot)
    free(sorted)
    if status != 0:
        timer_columns_release(out)
    return status
