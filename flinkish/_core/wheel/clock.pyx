"""The clock of a timing wheel: timers come down the levels and out."""

from libc.errno cimport ENOMEM
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport realloc


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


cdef int _grow_slots(WheelSlots* due) noexcept nogil:
    cdef size_t room = max(due.room * 2, <size_t>1024)
    cdef uint32_t* index = <uint32_t*>realloc(due.index, room * sizeof(uint32_t))
    if index == NULL:
        return -ENOMEM
    due.index = index
    due.room = room
    return 0


cdef inline int _drain(Wheel* wheel, uint32_t bucket, size_t limit,
                       WheelSlots* due) noexcept nogil:
    """Take the timers of a bucket of level 0: 0, or 1 at the limit, or a negative errno."""
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
    return status


cdef int _drain_word(Wheel* wheel, uint32_t first, uint64_t reached, size_t limit,
                     WheelSlots* due) noexcept nogil:
    """Drain the buckets of level 0 that share a word with `first`, up to `reached`."""
    cdef uint64_t* word = wheel_word(wheel, first)
    cdef uint64_t left = word[0]
    cdef uint64_t bits = left
    cdef uint32_t bucket
    cdef int status = 0
    first &= ~<uint32_t>63
    while bits != 0:
        # The lists begin anywhere in memory: ask for all beginnings at once.
        wheel_prefetch(&wheel.node[wheel.node[~<int32_t>(first + wheel_ctz(bits))].next])
        bits &= bits - 1
    while left != 0:
        bucket = first + <uint32_t>wheel_ctz(left)
        if bucket > reached:
            break
        status = _drain(wheel, bucket, limit, due)
        if wheel.node[~<int32_t>bucket].next >= 0:
            _set_clock(wheel, wheel.base[0] + bucket)
            break
        status = 0
        left &= left - 1
        wheel.occupied[0] -= 1
    word[0] = left
    if left == 0:
        wheel_summary(wheel, first)[0] &= ~wheel_summary_bit(wheel, first)
    if wheel.occupied[0] == 0:
        wheel.in_use &= ~<uint64_t>1
    return status


cdef inline int _drain_turn(Wheel* wheel, uint64_t target, size_t limit,
                            WheelSlots* due) noexcept nogil:
    """Drain level 0 up to the target: 0, or as `_drain`, and then the clock is there."""
    cdef uint64_t reached = min(target - wheel.base[0], wheel.last[0])
    cdef uint32_t bucket
    cdef int status = 0
    while status == 0 and wheel.in_use & 1:
        bucket = wheel_first_bucket(wheel, 0)
        if bucket > reached:
            break
        status = _drain_word(wheel, bucket, reached, limit, due)
    return status


cdef inline void _cascade(Wheel* wheel, uint32_t bucket) noexcept nogil:
    """Hand the timers of a bucket, which the clock has entered, down in their order."""
    cdef int32_t head = ~<int32_t>bucket
    cdef int32_t index = wheel.node[head].next
    cdef int32_t previous = wheel.node[head].prev
    cdef int32_t next
    wheel_empty_bucket(wheel, head)
    wheel_vacate(wheel, bucket)
    while index != head:
        next = wheel.node[index].next
        # A list waits for memory at every step.  A second walk from its tail halves the wait: it
        # brings the later half into the cache meanwhile.
        if previous >= 0:
            previous = wheel.node[previous].prev if previous != index and previous != next else head
        wheel_link(wheel, index, wheel.node[index].tick)
        index = next


cdef int wheel_collect(Wheel* wheel, int64_t now, size_t limit, WheelSlots* due) noexcept nogil:
    cdef uint64_t target = _target(wheel, now)
    cdef uint64_t tick
    cdef uint32_t bucket
    cdef int status
    while True:
        status = _drain_turn(wheel, target, limit, due)
        if status != 0:
            break
        if wheel.in_use == 0:
            _set_clock(wheel, target)
            break
        bucket = wheel_first_bucket(wheel, <uint32_t>wheel_ctz(wheel.in_use))
        tick = wheel_bucket_tick(wheel, bucket)
        if tick > target:
            _set_clock(wheel, target)
            break
        _set_clock(wheel, tick)
        _cascade(wheel, bucket)
    wheel.taken += <uint32_t>due.count
    return status if status < 0 and due.count == 0 else 0


cdef void wheel_free(Wheel* wheel, const WheelSlots* due, int64_t* payloads) noexcept nogil:
    cdef size_t row
    cdef uint32_t index
    for row in range(due.count):
        if row + AHEAD < due.count:
            index = due.index[row + AHEAD]
            wheel_prefetch(&wheel.state[index])
            wheel_prefetch(&wheel.node[index])
            if payloads != NULL:
                wheel_prefetch(&wheel.payload[index])
        index = due.index[row]
        if payloads != NULL:
            payloads[row] = wheel.payload[index]
        wheel_retire(wheel, index)
    wheel.taken -= <uint32_t>due.count
    wheel_lessen(wheel, due.count)


cdef void wheel_put_back(Wheel* wheel, const WheelSlots* due) noexcept nogil:
    cdef size_t row
    for row in range(due.count):
        wheel_link(wheel, <int32_t>due.index[row], wheel.clock)
    wheel.taken -= <uint32_t>due.count


cdef bint wheel_next_bucket(const Wheel* wheel, int64_t* at) noexcept nogil:
    cdef uint32_t bucket
    if wheel.in_use == 0:
        return False
    bucket = wheel_first_bucket(wheel, <uint32_t>wheel_ctz(wheel.in_use))
    at[0] = wheel_time(wheel, wheel_bucket_tick(wheel, bucket))
    return True


cdef bint wheel_next_expiration(const Wheel* wheel, int64_t* at) noexcept nogil:
    cdef int32_t head, index
    cdef uint64_t tick
    if wheel.in_use == 0:
        return False
    head = ~<int32_t>wheel_first_bucket(wheel, <uint32_t>wheel_ctz(wheel.in_use))
    index = wheel.node[head].next
    tick = wheel.node[index].tick
    # On level 0 all are alike.
    while index != head and wheel.in_use & 1 == 0:
        tick = min(tick, wheel.node[index].tick)
        index = wheel.node[index].next
    at[0] = wheel_time(wheel, tick)
    return True
