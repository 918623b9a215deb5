# Timers: an indexed 4-ary min-heap over a slab, as flat memory that process memory or a mapped
# file can hold.  `timer_batches` works on many timers at once, `timer_log` logs and replays
# changes, `timer_heap` is the face for Python.
#
# A timer is (timestamp, key, namespace) in a key group; a second one of the same identity is not
# added.  Timers leave by timestamp, and timers of equal timestamps in the order of registration.
#
# Three structures, each in segments of their own:
#
#   nodes   TimersHeader, then `count` TimerNodes: the heap of node_heap.pxd.
#   slots   TimerSlots.  A timer keeps its slot for life: the slot is its short name.  Free slots
#           below `used` form a chain; zeroed memory is a free slot.
#   sets    one id_set of slots per key group, by timer_hash.
#
# Invariants (timers_fault of timers_check checks them all): nodes[slots[s].position].slot == s for every live
# slot s; live slots, nodes and set entries are equally many; no node is before its parent; no
# sequence appears twice; every live slot is found in the set of its key group.
#
# Status of the calls: 1 done, 0 nothing to do, and -errno: -ENOMEM, -ENOSPC, ... when a segment
# cannot grow, -EOVERFLOW past TIMERS_LIMIT timers, -EINVAL for what the caller must not pass.  A
# call that fails has changed no timer.
#
# Ownership: the code that calls timers_init calls timers_release, once; a zeroed or released
# struct may be released again.  Threads: none of this locks.

cimport cython
from libc.errno cimport EBADMSG
from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment, TimerNode, TimerSlot, mix64

include "batches.pxd"
include "log.pxd"
include "check.pxd"

cdef enum:
    TIMERS_ROOT = 48             # bytes before the root: the size of the header
    TIMERS_LIMIT = 0x7FFFFFFF    # timers in one heap
    TIMER_LIVE = 0x40000000      # in TimerSlot.state: the slot holds a timer
    TIMER_FRESH = 0x20000000     # in TimerSlot.state: added since timers_clear_changes
    TIMER_GROUP = 0xFFFF         # in TimerSlot.state: the local key group

cdef struct TimersHeader:
    uint64_t magic
    uint32_t count               # timers
    uint32_t used                # slots from here on are free and not in the chain
    uint32_t free                # first slot of the chain + 1, or 0
    uint32_t sequence            # of the next timer
    uint32_t groups
    uint32_t[5] reserved

cdef struct Timers:
    Segment nodes
    Segment slots
    Segment* sets                # [groups]; the array is process memory, sets[0] may be mapped
    uint32_t groups
    bint tracking                # changes are recorded for timer_log
    Segment fresh                # process memory, uint32 pairs: slot, sequence
    Segment removed              # process memory, uint32: slots of timers that were not fresh
    size_t fresh_count
    size_t removed_count
    bint damaged                 # something led outside

# Something led outside.
cdef inline int timers_broken(Timers* timers) noexcept nogil:
    timers.damaged = True
    return -EBADMSG

# What leaves the heap or is looked at.
cdef struct Timer:
    int64_t timestamp
    uint32_t key
    uint32_t ns
    uint32_t group               # local: 0 .. groups - 1
    uint32_t slot

# Life.  timers_init makes empty timers in process memory, ready for use.  For files: after
# timers_init(t, 1) put mapped segments into nodes, slots and sets[0], then timers_attach: it
# starts empty ones, and checks the headers of old ones against each other and the sizes: -EINVAL
# when they are damaged or of another layout.  0 or -errno.  Slots, positions and groups in the rest
# are compared with their bounds where they are used: what leads outside sets `damaged`, and is
# -EBADMSG or no timer.
cdef int timers_init(Timers* timers, uint32_t groups) noexcept nogil
cdef int timers_attach(Timers* timers) noexcept nogil
cdef void timers_release(Timers* timers) noexcept nogil

# Forget every timer and every recorded change; the memory stays reserved.
cdef void timers_clear(Timers* timers) noexcept nogil

# One timer.  `group` is local and must be below `groups`.
cdef int timers_add(Timers* timers, int64_t timestamp, uint32_t key, uint32_t ns,
                    uint32_t group) noexcept nogil
cdef int timers_remove(Timers* timers, int64_t timestamp, uint32_t key, uint32_t ns,
                       uint32_t group) noexcept nogil
cdef bint timers_contains(Timers* timers, int64_t timestamp, uint32_t key, uint32_t ns,
                          uint32_t group) noexcept nogil

# The earliest timer: look, or take it out.
cdef bint timers_peek(Timers* timers, Timer* out) noexcept nogil
cdef int timers_poll(Timers* timers, Timer* out) noexcept nogil

# The timer in a slot; 0 when the slot is free, out of range or damaged.
cdef bint timers_get(Timers* timers, uint32_t slot, Timer* out) noexcept nogil

# Bytes reserved, changes included.
cdef size_t timers_bytes(Timers* timers) noexcept nogil

cdef inline TimersHeader* timers_header(Timers* timers) noexcept nogil:
    return <TimersHeader*>timers.nodes.base

cdef inline uint32_t timers_count(Timers* timers) noexcept nogil:
    return (<TimersHeader*>timers.nodes.base).count

cdef inline TimerNode* timers_nodes(Timers* timers) noexcept nogil:
    return <TimerNode*>(timers.nodes.base + TIMERS_ROOT)

cdef inline TimerSlot* timers_slots(Timers* timers) noexcept nogil:
    return <TimerSlot*>timers.slots.base

# It wraps.
@cython.overflowcheck(False)
cdef inline uint32_t timer_hash(int64_t timestamp, uint32_t key, uint32_t ns) noexcept nogil:
    cdef uint64_t name = (<uint64_t>key << 32) | ns
    return <uint32_t>(mix64(<uint64_t>timestamp * <uint64_t>0x9E3779B97F4A7C15 + name) >> 32)

# Parts for the sibling modules; nobody else needs them.
#
# timers_find: the index of the entry in the set of `group`: 1; or 0 and, if the set has memory,
# the index where it would go.
# timers_reserve: room for so many nodes and slots in all.
# timers_make_room: room for one more timer in `group` and in the record of changes.
# timers_put: a new timer into a slot that is free and not in the chain; its set entry is the
# caller's work.
# timers_add_hashed, timers_remove_hashed: for a caller that has the hash already.
# timers_take: take the node of a slot, whose timer `timers_get` or `timers_find` just found, out of
# the heap.
# timers_drop: record the removal if tracking and chain the slot.
# timers_is_fresh: whether the timer that was registered as `sequence` is still in the slot.
cdef bint timers_find(Timers* timers, uint32_t hash, int64_t timestamp, uint32_t key, uint32_t ns,
                      uint32_t group, uint32_t* at) noexcept nogil
cdef int timers_add_hashed(Timers* timers, uint32_t hash, int64_t timestamp, uint32_t key,
                           uint32_t ns, uint32_t group) noexcept nogil
cdef int timers_remove_hashed(Timers* timers, uint32_t hash, int64_t timestamp, uint32_t key,
                              uint32_t ns, uint32_t group) noexcept nogil
cdef int timers_reserve(Timers* timers, size_t nodes, size_t slots) noexcept nogil
cdef int timers_make_room(Timers* timers, uint32_t group) noexcept nogil
cdef int timers_reserve_removed(Timers* timers, size_t more) noexcept nogil
cdef void timers_put(Timers* timers, uint32_t slot, int64_t timestamp, uint32_t key, uint32_t ns,
                     uint32_t group) noexcept nogil
cdef void timers_take(Timers* timers, uint32_t slot) noexcept nogil
cdef void timers_drop(Timers* timers, uint32_t slot) noexcept nogil
cdef bint timers_is_fresh(Timers* timers, uint32_t slot, uint32_t sequence) noexcept nogil
