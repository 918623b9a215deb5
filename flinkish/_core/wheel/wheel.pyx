"""A hierarchical timing wheel in flat memory: add, cancel, advance.

The layout, the invariants and the calls are described in ``wheel.pxd``.
"""

from libc.errno cimport EOVERFLOW
from libc.stdint cimport UINT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove, memset

from flinkish._core.memory.segment cimport segment_init, segment_release, segment_reserve

cdef enum:
    FIRST_TIMERS = 64
    KEPT = 1 << 16      # bytes that an empty wheel may keep


# --- life and room ----------------------------------------------------------------------------

cdef int wheel_init(Wheel* wheel, int64_t tick_ms, int64_t size, int64_t start) noexcept nogil:
    cdef int bit
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
    for bit in range(64 if wheel.shift > 0 else 0):
        wheel.level_of_bit[bit] = <uint8_t>(bit // wheel.shift)
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


cdef inline size_t _level_summaries(const Wheel* wheel) noexcept nogil:
    return <size_t>1 << max(wheel.bits - 12, 0)


cdef inline void _point(Wheel* wheel) noexcept nogil:
    """Fetch pointers and room again: segments may have moved."""
    wheel.node = <WheelNode*>wheel.nodes.base + wheel_buckets(wheel)
    wheel.state = <uint32_t*>wheel.states.base
    wheel.payload = <int64_t*>wheel.payloads.base
    wheel.room = <uint32_t>min(
        wheel.nodes.size // sizeof(WheelNode) - wheel_buckets(wheel),
        wheel.states.size // sizeof(uint32_t),
        <size_t>WHEEL_TIMERS,
    )
    wheel.payload_room = <uint32_t>min(
        wheel.payloads.size // sizeof(int64_t), <size_t>WHEEL_TIMERS
    )


cdef int _add_level(Wheel* wheel) noexcept nogil:
    """Put the buckets of one more level before those that are there."""
    cdef uint32_t level = wheel.levels
    cdef size_t held = wheel_buckets(wheel) + wheel.top
    cdef size_t more = <size_t>1 << wheel.bits
    cdef size_t words = (wheel_buckets(wheel) + more) // 64
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
    for bucket in range(<size_t>level << wheel.bits, wheel_buckets(wheel)):
        wheel_empty_bucket(wheel, ~<int32_t>bucket)
    return 0


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
        status = segment_reserve(&wheel.nodes, (wheel_buckets(wheel) + room) * sizeof(WheelNode))
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
        wheel_empty_bucket(wheel, ~<int32_t>i)
    return True


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
    wheel_link(wheel, <int32_t>index, tick)
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
    wheel_unlink(wheel, <int32_t>index)
    wheel_retire(wheel, index)
    wheel_lessen(wheel, 1)
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
    # Three steps at three rows, so that a row finds its node and both neighbours in the cache.
    # Local names: the compiler must think that any store into a node may change the wheel.
    cdef WheelNode* node = wheel.node
    cdef uint32_t* state = wheel.state
    cdef int64_t top = wheel.top
    cdef size_t row, cancelled = 0
    cdef int64_t handle
    cdef int32_t index, next, prev
    cdef int32_t vacant = wheel.free
    cdef uint32_t generation, objects = 0
    for row in range(min(count, <size_t>2 * AHEAD)):
        _prefetch_timer(wheel, handles[row])
    for row in range(count):
        if row + 2 * AHEAD < count:
            _prefetch_timer(wheel, handles[row + 2 * AHEAD])
            index = <int32_t>(handles[row + AHEAD] & (WHEEL_TIMERS - 1))
            if index < top and node[index].prev != WHEEL_UNLINKED:
                wheel_prefetch(&node[node[index].next])
                wheel_prefetch(&node[node[index].prev])
        handle = handles[row]
        index = <int32_t>(handle & (WHEEL_TIMERS - 1))
        if index >= top:
            continue
        generation = state[index]
        prev = node[index].prev
        if <int64_t>(generation >> 1) != handle >> WHEEL_INDEX_BITS or prev == WHEEL_UNLINKED:
            continue
        next = node[index].next
        node[prev].next = next
        node[next].prev = prev
        if next == prev and next < 0:
            wheel_vacate(wheel, <uint32_t>~next)
        node[index].prev = WHEEL_UNLINKED
        node[index].next = vacant
        vacant = index
        state[index] = (generation | 1) + 1
        objects += generation & 1
        cancelled += 1
    wheel.free = vacant
    wheel.objects -= objects
    if cancelled != 0:
        wheel_lessen(wheel, cancelled)
    return cancelled


cdef inline void _prefetch_timer(const Wheel* wheel, int64_t handle) noexcept nogil:
    handle &= WHEEL_TIMERS - 1
    if handle < wheel.top:
        wheel_prefetch(&wheel.node[handle])
        wheel_prefetch(&wheel.state[handle])
