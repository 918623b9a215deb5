"""A hierarchical timing wheel in flat memory: add, cancel, advance.

The layout, the invariants and the calls are described in ``wheel.pxd``.
"""

from libc.errno cimport ENOMEM, EOVERFLOW
from libc.stdint cimport UINT64_MAX
from libc.stdlib cimport free, realloc
from libc.string cimport memmove, memset

from flinkish._core.memory cimport segment_init, segment_release, segment_reserve

cdef enum:
    FIRST_TIMERS = 64
    KEPT = 1 << 16      # bytes that an empty wheel may keep
    AHEAD = 12          # rows of a batch between asking for memory and using it


# --- life and room ----------------------------------------------------------------------------

cdef int wheel_init(Wheel* wheel, int64_t tick_ms, int64_t size, int64_t start) noexcept nogil:
    memset(wheel, 0, sizeof(Wheel))
    segment_init(&wheel.nodes)
    segment_init(&wheel.states)
    segment_init(&wheel.payloads)
    segment_init(&wheel.words)
    segment_init(&wheel.summaries)
    wheel.start = start
    wheel.tick_ms = <uint64_t>tick_ms
    wheel.size = <uint32_t>size
    wheel.free = -1
    wheel.bits = 6
    while (<int64_t>1 << wheel.bits) < size:
        wheel.bits += 1
    wheel.shift = wheel_ctz(<uint64_t>size) if size & (size - 1) == 0 else -1
    return _add_level(wheel)


cdef void wheel_release(Wheel* wheel) noexcept nogil:
    segment_release(&wheel.nodes)
    segment_release(&wheel.states)
    segment_release(&wheel.payloads)
    segment_release(&wheel.words)
    segment_release(&wheel.summaries)


cdef size_t wheel_bytes(const Wheel* wheel) noexcept nogil:
    return (wheel.nodes.size + wheel.states.size + wheel.payloads.size + wheel.words.size
            + wheel.summaries.size)


cdef inline size_t _buckets(const Wheel* wheel) noexcept nogil:
    return <size_t>wheel.levels << wheel.bits


cdef inline size_t _level_summaries(const Wheel* wheel) noexcept nogil:
    return <size_t>1 << max(wheel.bits - 12, 0)


cdef inline void _point(Wheel* wheel) noexcept nogil:
    """Fetch pointers and room again: segments may have moved."""
    wheel.node = <WheelNode*>wheel.nodes.base + _buckets(wheel)
    wheel.state = <uint32_t*>wheel.states.base
    wheel.payload = <int64_t*>wheel.payloads.base
    wheel.room = <uint32_t>min(
        wheel.nodes.size // sizeof(WheelNode) - _buckets(wheel),
        wheel.states.size // sizeof(uint32_t),
        <size_t>WHEEL_TIMERS,
    )
    wheel.payload_room = <uint32_t>min(
        wheel.payloads.size // sizeof(int64_t), <size_t>WHEEL_TIMERS
    )


cdef int _add_level(Wheel* wheel) noexcept nogil:
    """Put the buckets of one more level before those that are there."""
    cdef uint32_t level = wheel.levels
    cdef size_t held = _buckets(wheel) + wheel.top
    cdef size_t more = <size_t>1 << wheel.bits
    cdef size_t words = (_buckets(wheel) + more) // 64
    cdef size_t bucket
    cdef uint64_t span
    cdef int status = segment_reserve(&wheel.words, words * sizeof(uint64_t))
    if status == 0:
        status = segment_reserve(
            &wheel.summaries, (level + 1) * _level_summaries(wheel) * sizeof(uint64_t)
        )
    if status == 0:
        status = segment_reserve(&wheel.nodes, (held + more) * sizeof(WheelNode))
    if status != 0:
        _point(wheel)
        return -status
    memmove(
        wheel.nodes.base + more * sizeof(WheelNode), wheel.nodes.base, held * sizeof(WheelNode)
    )
    span = wheel.span[level - 1] * wheel.size if level != 0 else 1
    wheel.span[level] = span
    wheel.occupied[level] = 0
    if span > UINT64_MAX // wheel.size:
        wheel.last[level] = UINT64_MAX
        wheel.base[level] = 0
    else:
        wheel.last[level] = span * wheel.size - 1
        wheel.base[level] = wheel.clock - wheel.clock % (span * wheel.size)
    wheel.levels = level + 1
    _point(wheel)
    for bucket in range(<size_t>level << wheel.bits, _buckets(wheel)):
        _make_empty(wheel, ~<int32_t>bucket)
    return 0


cdef inline void _make_empty(Wheel* wheel, int32_t bucket) noexcept nogil:
    wheel.node[bucket].next = bucket
    wheel.node[bucket].prev = bucket


cdef int wheel_reach(Wheel* wheel, uint64_t tick) noexcept nogil:
    cdef int status = 0
    while status == 0 and tick - wheel.base[wheel.levels - 1] > wheel.last[wheel.levels - 1]:
        status = _add_level(wheel)
    return status


cdef int wheel_reserve(Wheel* wheel, size_t more, bint numbers) noexcept nogil:
    cdef size_t vacant = wheel.top - wheel.live
    cdef size_t room = wheel.top + (more - vacant if more > vacant else 0)
    cdef int status = 0
    if room > WHEEL_TIMERS:
        return -EOVERFLOW
    room = max(room, <size_t>FIRST_TIMERS)
    if room > wheel.room:
        status = segment_reserve(&wheel.nodes, (_buckets(wheel) + room) * sizeof(WheelNode))
        if status == 0:
            status = segment_reserve(&wheel.states, room * sizeof(uint32_t))
    if status == 0 and numbers and room > wheel.payload_room:
        status = segment_reserve(&wheel.payloads, room * sizeof(int64_t))
    _point(wheel)
    return -status


cdef bint wheel_trim(Wheel* wheel) noexcept nogil:
    cdef Segment fresh
    cdef size_t first = <size_t>1 << wheel.bits
    cdef uint32_t i
    if wheel.live != 0 or wheel.nodes.size <= KEPT + first * sizeof(WheelNode):
        return False
    segment_init(&fresh)
    if segment_reserve(&fresh, first * sizeof(WheelNode)) != 0:
        return False
    for i in range(wheel.used):
        wheel.newborn = max(wheel.newborn, wheel.state[i])
    segment_release(&wheel.nodes)
    segment_release(&wheel.states)
    segment_release(&wheel.payloads)
    wheel.nodes = fresh
    wheel.levels = 1
    wheel.used = 0
    _point(wheel)
    for i in range(first):
        _make_empty(wheel, ~<int32_t>i)
    return True


# --- time -------------------------------------------------------------------------------------

cdef uint64_t wheel_tick(const Wheel* wheel, int64_t expiration) noexcept nogil:
    cdef uint64_t passed
    if expiration <= wheel.start:
        return 0
    passed = <uint64_t>expiration - <uint64_t>wheel.start
    if wheel.tick_ms == 1:
        return passed
    return passed // wheel.tick_ms + (passed % wheel.tick_ms != 0)


cdef int64_t wheel_time(const Wheel* wheel, uint64_t tick) noexcept nogil:
    cdef uint64_t most = <uint64_t>INT64_MAX - <uint64_t>wheel.start
    if tick > most // wheel.tick_ms:
        return INT64_MAX
    return <int64_t>(<uint64_t>wheel.start + tick * wheel.tick_ms)


cdef inline uint64_t _target(const Wheel* wheel, int64_t now) noexcept nogil:
    """The tick that the clock may go to."""
    cdef uint64_t passed
    if now <= wheel.start:
        return wheel.clock
    if now == INT64_MAX:
        # No later time will come, so the last tick, cut off by the end of int64, counts as over.
        return max(wheel.clock, wheel_tick(wheel, now))
    passed = <uint64_t>now - <uint64_t>wheel.start
    return max(wheel.clock, passed // wheel.tick_ms)


cdef inline void _set_clock(Wheel* wheel, uint64_t tick) noexcept nogil:
    cdef uint32_t level = 0
    wheel.clock = tick
    # Turns lie within each other: the first level whose turn goes on is the last to look at.
    while level < wheel.levels and tick - wheel.base[level] > wheel.last[level]:
        wheel.base[level] = tick - tick % (wheel.last[level] + 1)
        level += 1


# --- lists ------------------------------------------------------------------------------------

cdef inline void _occupy(Wheel* wheel, uint32_t bucket) noexcept nogil:
    cdef uint32_t level = bucket >> wheel.bits
    cdef uint64_t* word = <uint64_t*>wheel.words.base + (bucket >> 6)
    cdef uint32_t slot = bucket & ((<uint32_t>1 << wheel.bits) - 1)
    if word[0] == 0:
        _summary(wheel, level, slot)[0] |= <uint64_t>1 << ((slot >> 6) & 63)
    word[0] |= <uint64_t>1 << (bucket & 63)
    wheel.occupied[level] += 1
    wheel.in_use |= <uint64_t>1 << level


cdef inline void _vacate(Wheel* wheel, uint32_t bucket) noexcept nogil:
    cdef uint32_t level = bucket >> wheel.bits
    cdef uint64_t* word = <uint64_t*>wheel.words.base + (bucket >> 6)
    cdef uint32_t slot = bucket & ((<uint32_t>1 << wheel.bits) - 1)
    word[0] &= ~(<uint64_t>1 << (bucket & 63))
    if word[0] == 0:
        _summary(wheel, level, slot)[0] &= ~(<uint64_t>1 << ((slot >> 6) & 63))
    wheel.occupied[level] -= 1
    if wheel.occupied[level] == 0:
        wheel.in_use &= ~(<uint64_t>1 << level)


cdef inline uint64_t* _summary(const Wheel* wheel, uint32_t level, uint32_t slot) noexcept nogil:
    return <uint64_t*>wheel.summaries.base + level * _level_summaries(wheel) + (slot >> 12)


cdef inline uint32_t _first_bucket(const Wheel* wheel, uint32_t level) noexcept nogil:
    """The earliest bucket in use of a level that has one."""
    cdef uint64_t* summary = _summary(wheel, level, 0)
    cdef uint32_t word = 0
    while summary[0] == 0:
        summary += 1
        word += 64
    word += (level << wheel.bits >> 6) + wheel_ctz(summary[0])
    return (word << 6) + wheel_ctz((<uint64_t*>wheel.words.base)[word])


cdef inline uint64_t _bucket_tick(const Wheel* wheel, uint32_t bucket) noexcept nogil:
    """The first tick of a bucket in use."""
    cdef uint32_t level = bucket >> wheel.bits
    cdef uint32_t slot = bucket & ((<uint32_t>1 << wheel.bits) - 1)
    return wheel.base[level] + slot * wheel.span[level]


cdef inline void _link(Wheel* wheel, int32_t index, uint64_t tick) noexcept nogil:
    """Put a timer at the end of its bucket; its level is there."""
    cdef uint32_t level = 0
    cdef uint64_t ahead = tick - wheel.base[0]
    cdef int32_t bucket, tail
    while ahead > wheel.last[level]:
        level += 1
        ahead = tick - wheel.base[level]
    if level != 0:
        if wheel.shift >= 0:
            ahead >>= <int>level * wheel.shift
        else:
            ahead //= wheel.span[level]
    bucket = ~<int32_t>(level << wheel.bits | <uint32_t>ahead)
    tail = wheel.node[bucket].prev
    wheel.node[index].tick = tick
    wheel.node[index].next = bucket
    wheel.node[index].prev = tail
    wheel.node[tail].next = index
    wheel.node[bucket].prev = index
    if tail == bucket:
        _occupy(wheel, ~bucket)


cdef inline void _unlink(Wheel* wheel, int32_t index) noexcept nogil:
    cdef int32_t next = wheel.node[index].next
    cdef int32_t prev = wheel.node[index].prev
    wheel.node[prev].next = next
    wheel.node[next].prev = prev
    wheel.node[index].prev = WHEEL_UNLINKED
    if next == prev and next < 0:
        _vacate(wheel, ~next)


cdef inline void _retire(Wheel* wheel, uint32_t index) noexcept nogil:
    """Free an unlinked index; its handle is stale from now on."""
    wheel.objects -= wheel.state[index] & 1
    wheel.state[index] = (wheel.state[index] | 1) + 1
    wheel.node[index].next = wheel.free
    wheel.free = <int32_t>index


cdef inline void _lessen(Wheel* wheel, size_t count) noexcept nogil:
    wheel.live -= <uint32_t>count
    if wheel.live == 0:
        # Start over, so that the next timers lie side by side.
        wheel.top = 0
        wheel.free = -1


# --- one timer --------------------------------------------------------------------------------

cdef inline int _add(Wheel* wheel, int64_t expiration, bint number, int64_t* handle) noexcept nogil:
    cdef uint64_t tick = max(wheel_tick(wheel, expiration), wheel.clock)
    cdef uint32_t index
    cdef int status
    if tick - wheel.base[wheel.levels - 1] > wheel.last[wheel.levels - 1]:
        status = wheel_reach(wheel, tick)
        if status != 0:
            return status
    index = wheel.top if wheel.free < 0 else <uint32_t>wheel.free
    if index >= wheel.room or (number and index >= wheel.payload_room):
        status = wheel_reserve(wheel, 1, number)
        if status != 0:
            return status
    if wheel.free >= 0:
        wheel.free = wheel.node[index].next
    else:
        wheel.top += 1
        if index == wheel.used:
            wheel.used += 1
            wheel.state[index] = wheel.newborn
    wheel.live += 1
    _link(wheel, <int32_t>index, tick)
    handle[0] = <int64_t>(wheel.state[index] >> 1) << WHEEL_INDEX_BITS | index
    return 0


cdef int wheel_add(Wheel* wheel, int64_t expiration, int64_t payload,
                   int64_t* handle) noexcept nogil:
    cdef int status = _add(wheel, expiration, True, handle)
    if status == 0:
        wheel.payload[handle[0] & (WHEEL_TIMERS - 1)] = payload
    return status


cdef int wheel_add_object(Wheel* wheel, int64_t expiration, int64_t* handle) noexcept nogil:
    cdef int status = _add(wheel, expiration, False, handle)
    if status == 0:
        wheel.state[handle[0] & (WHEEL_TIMERS - 1)] |= 1
        wheel.objects += 1
    return status


cdef inline bint _holds(const Wheel* wheel, int64_t handle) noexcept nogil:
    cdef uint32_t index = <uint32_t>(handle & (WHEEL_TIMERS - 1))
    return (
        index < wheel.top
        and <int64_t>(wheel.state[index] >> 1) == handle >> WHEEL_INDEX_BITS
        and wheel.node[index].prev != WHEEL_UNLINKED
    )


cdef bint wheel_holds(const Wheel* wheel, int64_t handle) noexcept nogil:
    return _holds(wheel, handle)


cdef inline bint _cancel(Wheel* wheel, int64_t handle) noexcept nogil:
    cdef uint32_t index = <uint32_t>(handle & (WHEEL_TIMERS - 1))
    if not _holds(wheel, handle):
        return False
    _unlink(wheel, <int32_t>index)
    _retire(wheel, index)
    _lessen(wheel, 1)
    return True


cdef bint wheel_cancel(Wheel* wheel, int64_t handle) noexcept nogil:
    return _cancel(wheel, handle)


# --- many -------------------------------------------------------------------------------------

cdef int wheel_add_many(Wheel* wheel, const int64_t* expirations, const int64_t* payloads,
                        size_t count, int64_t* handles) noexcept nogil:
    cdef size_t row
    cdef int status = wheel_reserve(wheel, count, True) if count != 0 else 0
    if status != 0:
        return status
    for row in range(count):
        status = _add(wheel, expirations[row], True, &handles[row])
        if status != 0:
            wheel_cancel_many(wheel, handles, row)
            return status
        wheel.payload[handles[row] & (WHEEL_TIMERS - 1)] = payloads[row]
    return 0


cdef size_t wheel_cancel_many(Wheel* wheel, const int64_t* handles, size_t count) noexcept nogil:
    cdef size_t row, cancelled = 0
    for row in range(count):
        cancelled += _cancel(wheel, handles[row])
    return cancelled


# --- the clock --------------------------------------------------------------------------------

cdef inline int _grow_slots(WheelSlots* due) noexcept nogil:
    cdef size_t room = max(due.room * 2, <size_t>1024)
    cdef uint32_t* index = <uint32_t*>realloc(due.index, room * sizeof(uint32_t))
    if index == NULL:
        return -ENOMEM
    due.index = index
    due.room = room
    return 0


cdef inline int _drain(Wheel* wheel, uint32_t bucket, size_t limit,
                       WheelSlots* due) noexcept nogil:
    """Take the timers of a bucket of level 0; 0 if it is empty now, 1 at the limit."""
    cdef int32_t head = ~<int32_t>bucket
    cdef int32_t index = wheel.node[head].next
    cdef int status = 0
    while index != head:
        if due.count == limit:
            status = 1
            break
        if due.count == due.room:
            status = _grow_slots(due)
            if status != 0:
                break
        due.index[due.count] = <uint32_t>index
        due.count += 1
        wheel.node[index].prev = WHEEL_UNLINKED
        index = wheel.node[index].next
    wheel.node[head].next = index
    wheel.node[index].prev = head
    if index == head:
        _vacate(wheel, bucket)
        return 0
    return status


cdef inline void _cascade(Wheel* wheel, uint32_t bucket) noexcept nogil:
    """Hand the timers of a bucket, which the clock has entered, down in their order."""
    cdef int32_t head = ~<int32_t>bucket
    cdef int32_t index = wheel.node[head].next
    cdef int32_t next
    _make_empty(wheel, head)
    _vacate(wheel, bucket)
    while index != head:
        next = wheel.node[index].next
        _link(wheel, index, wheel.node[index].tick)
        index = next


cdef int wheel_collect(Wheel* wheel, int64_t now, size_t limit, WheelSlots* due) noexcept nogil:
    cdef uint64_t target = _target(wheel, now)
    cdef uint64_t tick
    cdef uint32_t bucket
    cdef int status
    while wheel.in_use != 0:
        bucket = _first_bucket(wheel, wheel_ctz(wheel.in_use))
        tick = _bucket_tick(wheel, bucket)
        if tick > target:
            break
        if tick != wheel.clock:
            _set_clock(wheel, tick)
        if bucket >> wheel.bits != 0:
            _cascade(wheel, bucket)
            continue
        status = _drain(wheel, bucket, limit, due)
        if status != 0:
            wheel.taken += <uint32_t>due.count
            return status if status < 0 and due.count == 0 else 0
    _set_clock(wheel, target)
    wheel.taken += <uint32_t>due.count
    return 0


cdef void wheel_free(Wheel* wheel, const WheelSlots* due) noexcept nogil:
    cdef size_t row
    for row in range(due.count):
        _retire(wheel, due.index[row])
    wheel.taken -= <uint32_t>due.count
    _lessen(wheel, due.count)


cdef void wheel_put_back(Wheel* wheel, const WheelSlots* due) noexcept nogil:
    cdef size_t row
    for row in range(due.count):
        _link(wheel, <int32_t>due.index[row], wheel.clock)
    wheel.taken -= <uint32_t>due.count


cdef bint wheel_next_bucket(const Wheel* wheel, int64_t* at) noexcept nogil:
    if wheel.in_use == 0:
        return False
    at[0] = wheel_time(wheel, _bucket_tick(wheel, _first_bucket(wheel, wheel_ctz(wheel.in_use))))
    return True


cdef bint wheel_next_expiration(const Wheel* wheel, int64_t* at) noexcept nogil:
    cdef int32_t head, index
    cdef uint64_t tick
    if wheel.in_use == 0:
        return False
    head = ~<int32_t>_first_bucket(wheel, wheel_ctz(wheel.in_use))
    index = wheel.node[head].next
    tick = wheel.node[index].tick
    # On level 0 all are alike.
    while index != head and wheel.in_use & 1 == 0:
        tick = min(tick, wheel.node[index].tick)
        index = wheel.node[index].next
    at[0] = wheel_time(wheel, tick)
    return True
