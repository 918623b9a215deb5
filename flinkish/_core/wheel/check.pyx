"""Whether a timing wheel is as `wheel.pxd` says: for tests."""

from libc.stdint cimport int32_t, uint32_t, uint64_t



cdef const char* wheel_fault(const Wheel* wheel) noexcept nogil:
    cdef const char* fault = NULL
    cdef uint32_t level, slot, linked = 0
    cdef uint32_t slots = <uint32_t>1 << wheel.bits
    if wheel.top > wheel.room or wheel.top > wheel.used or wheel.live > wheel.top:
        return b"more timers than room"
    for level in range(wheel.levels):
        fault = _level_fault(wheel, level)
        for slot in range(slots):
            if fault == NULL:
                fault = _bucket_fault(wheel, level, slot, &linked)
        if fault != NULL:
            return fault
    if wheel.in_use >> (wheel.levels - 1) > 1:
        return b"a level is in use that was never made"
    if linked + wheel.taken != wheel.live:
        return b"the lists hold another number of timers than were counted"
    return _free_fault(wheel)


cdef const char* _level_fault(const Wheel* wheel, uint32_t level) noexcept nogil:
    cdef const uint64_t* words = <const uint64_t*>wheel.words.base + (level << wheel.bits >> 6)
    cdef uint32_t summaries = <uint32_t>1 << max(wheel.bits - 12, 0)
    cdef const uint64_t* summary = <const uint64_t*>wheel.summaries.base + level * summaries
    cdef uint32_t i, occupied = 0
    cdef uint64_t word
    for i in range((<uint32_t>1 << wheel.bits) >> 6):
        word = words[i]
        if (word != 0) != (summary[i >> 6] >> (i & 63) & 1):
            return b"a summary bit differs from its word"
        while word != 0:
            word &= word - 1
            occupied += 1
    if occupied != wheel.occupied[level]:
        return b"a level has another number of occupied buckets than was counted"
    if (occupied != 0) != (wheel.in_use >> level & 1):
        return b"the bit of a level differs from its count"
    if wheel.clock - wheel.base[level] > wheel.last[level]:
        return b"the clock is outside of a level's turn"
    return NULL


cdef const char* _bucket_fault(const Wheel* wheel, uint32_t level, uint32_t slot,
                               uint32_t* linked) noexcept nogil:
    cdef uint32_t bucket = level << wheel.bits | slot
    cdef int32_t head = ~<int32_t>bucket
    cdef int32_t prev = head
    cdef int32_t index = wheel.node[head].next
    cdef uint64_t first = wheel.base[level] + slot * wheel.span[level]
    if (index != head) != ((<uint64_t*>wheel.words.base)[bucket >> 6] >> (bucket & 63) & 1):
        return b"the bit of a bucket differs from its list"
    if index != head and slot >= wheel.size:
        return b"a bucket beyond the size of the wheel has timers"
    if index != head and (first < wheel.clock or (level != 0 and first == wheel.clock)):
        return b"a bucket has timers that the clock has left behind"
    while index != head:
        if index < 0 or <uint32_t>index >= wheel.top:
            return b"a list leads to an index that was not given out"
        if wheel.node[index].prev != prev:
            return b"next and prev disagree"
        if wheel.node[index].tick - first >= wheel.span[level]:
            return b"a timer is in the wrong bucket"
        linked[0] += 1
        if linked[0] > wheel.live:
            return b"a list never comes back to its bucket"
        prev = index
        index = wheel.node[index].next
    if wheel.node[head].prev != prev:
        return b"the tail of a bucket is not its last timer"
    return NULL


cdef const char* _free_fault(const Wheel* wheel) noexcept nogil:
    cdef uint32_t i, vacant = 0, objects = 0
    cdef int32_t index = wheel.free
    while index >= 0:
        vacant += 1
        if <uint32_t>index >= wheel.top or wheel.node[index].prev != WHEEL_UNLINKED:
            return b"the free list leads to a timer"
        if vacant > wheel.top - wheel.live:
            break
        index = wheel.node[index].next
    if vacant != wheel.top - wheel.live:
        return b"the free list has another number of indexes than are free"
    for i in range(wheel.top):
        objects += wheel.state[i] & 1
    if objects != wheel.objects:
        return b"another number of timers hold objects than was counted"
    return NULL
