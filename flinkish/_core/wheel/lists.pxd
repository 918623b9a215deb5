# How a timing wheel finds a timer's bucket and keeps its lists and bitmaps: inline functions
# that wheel.pyx (one timer), wheel/clock.pyx (the clock) and nobody else share.  The layout is
# described in wheel.pxd.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef enum:
    AHEAD = 12          # rows of a batch between asking for memory and using it

cdef extern from *:
    """
    #define wheel_ctz(x) __builtin_ctzll(x)
    #define wheel_high_bit(x) (63 - __builtin_clzll(x))
    #define wheel_prefetch(address) __builtin_prefetch(address, 1)
    """
    int wheel_ctz(uint64_t x) noexcept nogil           # number of the lowest bit set
    int wheel_high_bit(uint64_t x) noexcept nogil      # number of the highest bit set
    void wheel_prefetch(const void* address) noexcept nogil


cdef inline void wheel_ask_for_payload(
    const Wheel* wheel, const WheelSlots* due, size_t row
) noexcept nogil:
    """Have the processor fetch what will be read of the timer AHEAD rows after this one."""
    if row + AHEAD < due.count:
        wheel_prefetch(&wheel.state[due.index[row + AHEAD]])
        wheel_prefetch(&wheel.payload[due.index[row + AHEAD]])


cdef inline size_t wheel_buckets(const Wheel* wheel) noexcept nogil:
    return <size_t>wheel.levels << wheel.bits


cdef inline uint64_t* wheel_word(const Wheel* wheel, uint32_t bucket) noexcept nogil:
    return <uint64_t*>wheel.words.base + (bucket >> 6)


cdef inline uint64_t* wheel_summary(const Wheel* wheel, uint32_t bucket) noexcept nogil:
    """The word with the bit of the bucket's word."""
    cdef int bits = wheel.bits
    if bits <= 12:
        return <uint64_t*>wheel.summaries.base + (bucket >> bits)
    return <uint64_t*>wheel.summaries.base + (bucket >> 12)


cdef inline uint64_t wheel_summary_bit(const Wheel* wheel, uint32_t bucket) noexcept nogil:
    cdef uint32_t slot = bucket & ((<uint32_t>1 << wheel.bits) - 1)
    return <uint64_t>1 << (slot >> 6 & 63)


cdef inline void wheel_occupy(Wheel* wheel, uint32_t bucket) noexcept nogil:
    """Note that a bucket is no longer empty."""
    cdef uint32_t level = bucket >> wheel.bits
    wheel_word(wheel, bucket)[0] |= <uint64_t>1 << (bucket & 63)
    wheel_summary(wheel, bucket)[0] |= wheel_summary_bit(wheel, bucket)
    wheel.occupied[level] += 1
    wheel.in_use |= <uint64_t>1 << level


cdef inline void wheel_vacate(Wheel* wheel, uint32_t bucket) noexcept nogil:
    """Note that a bucket is empty."""
    cdef uint32_t level = bucket >> wheel.bits
    cdef uint64_t* word = wheel_word(wheel, bucket)
    word[0] &= ~(<uint64_t>1 << (bucket & 63))
    if word[0] == 0:
        wheel_summary(wheel, bucket)[0] &= ~wheel_summary_bit(wheel, bucket)
    wheel.occupied[level] -= 1
    if wheel.occupied[level] == 0:
        wheel.in_use &= ~(<uint64_t>1 << level)


cdef inline uint32_t wheel_first_bucket(const Wheel* wheel, uint32_t level) noexcept nogil:
    """The earliest bucket in use of a level that has one."""
    cdef uint32_t first = level << wheel.bits
    cdef uint64_t* summary = wheel_summary(wheel, first)
    cdef uint32_t word = first >> 6
    while summary[0] == 0:
        summary += 1
        word += 64
    word += <uint32_t>wheel_ctz(summary[0])
    return (word << 6) + <uint32_t>wheel_ctz((<uint64_t*>wheel.words.base)[word])


cdef inline uint64_t wheel_bucket_tick(const Wheel* wheel, uint32_t bucket) noexcept nogil:
    """The first tick of a bucket in use."""
    cdef uint32_t level = bucket >> wheel.bits
    cdef uint32_t slot = bucket & ((<uint32_t>1 << wheel.bits) - 1)
    return wheel.base[level] + slot * wheel.span[level]


cdef inline uint32_t wheel_bucket_of(const Wheel* wheel, uint64_t tick) noexcept nogil:
    """The bucket of a tick from the clock on, whose level is there."""
    cdef uint32_t level = 0
    cdef uint64_t ahead
    if wheel.shift >= 0:
        # Digits are bits, so no comparison need be guessed.
        level = wheel.level_of_bit[wheel_high_bit((tick ^ wheel.clock) | 1)]
        ahead = tick >> (<int>level * wheel.shift) & (wheel.size - 1)
    else:
        ahead = tick - wheel.base[0]
        while ahead > wheel.last[level]:
            level += 1
            ahead = tick - wheel.base[level]
        if level != 0:
            ahead //= wheel.span[level]
    return level << wheel.bits | <uint32_t>ahead


cdef inline void wheel_link(Wheel* wheel, int32_t index, uint64_t tick) noexcept nogil:
    """Put a timer at the end of its bucket."""
    cdef int32_t bucket = ~<int32_t>wheel_bucket_of(wheel, tick)
    cdef int32_t tail = wheel.node[bucket].prev
    wheel.node[index].tick = tick
    wheel.node[index].next = bucket
    wheel.node[index].prev = tail
    wheel.node[tail].next = index
    wheel.node[bucket].prev = index
    if tail == bucket:
        wheel_occupy(wheel, <uint32_t>~bucket)


cdef inline void wheel_unlink(Wheel* wheel, int32_t index) noexcept nogil:
    cdef int32_t next = wheel.node[index].next
    cdef int32_t prev = wheel.node[index].prev
    wheel.node[prev].next = next
    wheel.node[next].prev = prev
    wheel.node[index].prev = WHEEL_UNLINKED
    if next == prev and next < 0:
        wheel_vacate(wheel, <uint32_t>~next)


cdef inline void wheel_empty_bucket(Wheel* wheel, int32_t bucket) noexcept nogil:
    wheel.node[bucket].next = bucket
    wheel.node[bucket].prev = bucket


cdef inline void wheel_retire(Wheel* wheel, uint32_t index) noexcept nogil:
    """Free an unlinked index; its handle is stale from now on."""
    wheel.objects -= wheel.state[index] & 1
    wheel.state[index] = (wheel.state[index] | 1) + 1
    wheel.node[index].next = wheel.free
    wheel.free = <int32_t>index


cdef inline void wheel_lessen(Wheel* wheel, size_t count) noexcept nogil:
    wheel.live -= <uint32_t>count
    if wheel.live == 0:
        # Start over, so that the next timers lie side by side.
        wheel.top = 0
        wheel.free = -1


cdef inline uint64_t wheel_tick(const Wheel* wheel, int64_t expiration) noexcept nogil:
    """The first tick at or after an expiration; 0 for what is before the start."""
    cdef uint64_t passed
    if expiration <= wheel.start:
        return 0
    passed = <uint64_t>expiration - <uint64_t>wheel.start
    if wheel.tick_ms == 1:
        return passed
    return passed // wheel.tick_ms + (passed % wheel.tick_ms != 0)
