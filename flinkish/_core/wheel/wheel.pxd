# A hierarchical timing wheel as a C struct: what `timing_wheel.pyx` puts a Python face on.
#
# Time is counted in ticks since `start`.  A timer comes out at tick ceil((expiration - start) /
# tick_ms), at the clock if that is past: never early and at most a tick late (Kafka: TimingWheel).
#
# Buckets.  Level 0 has one bucket for each tick, level n one for each `span[n]` = size**n ticks.
# All levels count from tick 0, so the level of a timer is the highest digit, in base `size`, in
# which its tick differs from the clock.  From this follows everything else:
#
# - Every timer of a level comes out before those of the levels above, and within a level the
#   buckets lie in order of time: the first bucket of the lowest level in use is the next one.
# - Timers of one tick always sit in one bucket, in the order in which they were added: the clock
#   enters a bucket of a level above and hands its timers down, in order, before anything can be
#   added to the buckets below (Kafka: TimingWheel; theirs are aligned to the clock and lose the
#   order).
# - Buckets before the clock are empty, and that of its own digit is, but on level 0: there it
#   holds what was due when it was added.
#
# Memory.  `node` points between two halves of one segment: timers have the indexes 0, 1, ...;
# bucket b = level << bits | slot is the index ~b, a node whose next and prev are its head and
# tail, so that lists are circles and linking has no special cases.  A level is made when a timer
# needs it.  `state` and `payload` are columns beside the nodes, the latter only if numbers are
# held.  16 + 4 bytes a timer, and 8 for the payload.
#
# Life of a timer: linked -> cancelled, and its index is free; or linked -> taken (by wheel_collect
# of wheel/clock.pxd) -> free, or linked again.  A handle is generation << 28 | index; the
# generation (31 bits) goes on when the index becomes free, and outlives the memory (`newborn`), so
# a stale handle is refused.
#
# Threads: none of this locks.  Errors: 0 or a negative errno; after one the wheel is as it was.

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment

cdef enum:
    WHEEL_LEVELS = 64               # base 2 needs as many
    WHEEL_INDEX_BITS = 28
    WHEEL_TIMERS = 1 << 28          # no more at a time
    WHEEL_SLOTS = 1 << 24           # largest size of a wheel
    WHEEL_UNLINKED = -2147483648    # `prev` of an index that is free, or taken

cdef struct WheelNode:
    uint64_t tick       # when it comes out; no meaning in a bucket
    int32_t next        # toward the later added; of a free index the next free one, or -1
    int32_t prev

cdef struct Wheel:
    int64_t start                   # ms of tick 0
    uint64_t tick_ms
    uint64_t clock                  # the tick up to which all is out
    uint32_t size                   # buckets of a level
    int bits                        # 1 << bits >= size is the distance of levels, at least 64
    int shift                       # log2 of size, or -1
    uint32_t levels
    uint64_t in_use                 # bit n: level n has a timer
    WheelNode* node                 # timer 0
    uint32_t* state                 # generation << 1 | 1 if the payload is an object
    int64_t* payload                # NULL until a number is held
    int32_t free                    # first free index below `top`, or -1
    uint32_t top                    # indexes given out since the wheel was empty
    uint32_t used                   # indexes that have a state
    uint32_t live                   # timers, linked or taken
    uint32_t taken
    uint32_t objects                # of `live`, those whose payload is an object
    uint32_t room                   # indexes that nodes and states have room for
    uint32_t payload_room
    uint32_t newborn                # state of an index that is used for the first time
    uint8_t[64] level_of_bit        # of the highest bit that differs, if shift >= 0
    uint64_t[64] span               # ticks of a bucket of each level
    uint64_t[64] base               # first tick of each level's present turn
    uint64_t[64] last               # the last one, less the base
    uint32_t[64] occupied           # buckets with timers
    Segment nodes                   # buckets, last first, then timers
    Segment states
    Segment payloads
    Segment words                   # bit b: bucket b has timers
    Segment summaries               # bit: the word has bits; a word or more for each level

cdef int wheel_init(Wheel* wheel, int64_t tick_ms, int64_t size, int64_t start) noexcept nogil
cdef void wheel_release(Wheel* wheel) noexcept nogil
cdef size_t wheel_bytes(const Wheel* wheel) noexcept nogil

# Make room for `more` timers, that of `tick` among them, with or without payload column.
cdef int wheel_reserve(Wheel* wheel, size_t more, bint numbers) noexcept nogil
cdef int wheel_reach(Wheel* wheel, uint64_t tick) noexcept nogil

# Add one timer.  The second leaves the payload to the caller and marks it as an object.
cdef int wheel_add(Wheel* wheel, int64_t expiration, int64_t payload,
                   int64_t* handle) noexcept nogil
cdef int wheel_add_object(Wheel* wheel, int64_t expiration, int64_t* handle) noexcept nogil

# Whether the handle is of a linked timer; unlink that and free its index.
cdef bint wheel_holds(const Wheel* wheel, int64_t handle) noexcept nogil
cdef bint wheel_cancel(Wheel* wheel, int64_t handle) noexcept nogil

# Add all or none; cancel, and count those that were there.
cdef int wheel_add_many(Wheel* wheel, const int64_t* expirations, const int64_t* payloads,
                        size_t count, int64_t* handles) noexcept nogil
cdef size_t wheel_cancel_many(Wheel* wheel, const int64_t* handles, size_t count) noexcept nogil

# Give back the memory of an empty wheel, unless it is little; whether it did.
cdef bint wheel_trim(Wheel* wheel) noexcept nogil

# `now` plus a delay of any size: within int64 (Kafka overflows and fires at once: SystemTimer).
cdef inline int64_t wheel_deadline(int64_t now, int64_t delay) noexcept nogil:
    return INT64_MAX if delay > 0 and now > INT64_MAX - delay else now + max(delay, 0)
