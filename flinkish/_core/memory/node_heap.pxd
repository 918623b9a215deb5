# An indexed 4-ary min-heap of timers in two flat arrays.
#
# `nodes` is the heap, by (timestamp, sequence); the children of node i are 4i+1 .. 4i+4.  Every
# node names a slot, and that slot's `position` is kept at the index of the node, so a timer that
# is known by its slot is removed without a search.  Four children fill a cache line when the
# root stands 48 bytes after a multiple of 64.
#
# The caller counts the nodes and the slots.  A node of a mapped heap that is damaged may name a slot
# beyond those: it stays where it is and is told nothing.

from libc.stdint cimport int64_t, uint32_t

cdef enum:
    HEAP_ARITY = 4

cdef struct TimerNode:
    int64_t timestamp            # ms
    uint32_t sequence            # order of registration, never equal in two nodes
    uint32_t slot

cdef struct TimerSlot:
    uint32_t key
    uint32_t ns                  # namespace
    uint32_t position            # index in the heap; in a free slot the next free one + 1, or 0
    uint32_t state               # TIMER_ bits of timers.pxd; 0 when the slot is free

cdef extern from * nogil:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define flinkish_prefetch(address) __builtin_prefetch(address)
    #else
    #define flinkish_prefetch(address) ((void)(address))
    #endif
    """
    # Ask for the cache line of an address, valid or not; a hint.
    void prefetch "flinkish_prefetch"(const void* address)

# Whether `a` leaves before `b`.  Without branches: it is a coin toss.
cdef inline bint node_before(const TimerNode* a, const TimerNode* b) noexcept nogil:
    return (a.timestamp < b.timestamp) | (
        (a.timestamp == b.timestamp) & (a.sequence < b.sequence)
    )

# Put `node` at `index` or nearer to the root; it must be before all nodes below `index`.
cdef void heap_up(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                  TimerNode node) noexcept nogil

# Put `node` at `index` or farther from the root; it must be after the parent of `index`.
cdef void heap_down(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                    TimerNode node, size_t count) noexcept nogil

# Take the node at `index` out of `count`: one fewer are left, the last takes its place.
cdef void heap_erase(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                     size_t count) noexcept nogil

# Take out the nodes at `holes`, ascending indices closed towards the root (with an index its
# parent is in the list).  The nodes that are left are `count` less `n`.
cdef void heap_erase_top(TimerNode* nodes, TimerSlot* slots, uint32_t used,
                         const uint32_t* holes, size_t n, size_t count) noexcept nogil

# Make a heap of nodes in any order.  O(count).
cdef void heapify(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t count) noexcept nogil

# Whether no node is before its parent, and none has the sequence of its parent.
cdef bint heap_in_order(const TimerNode* nodes, size_t count) noexcept nogil

# Make the sequences 0, 1, 2, ... in the order of those there are.  0, or -ENOMEM without change.
cdef int heap_renumber(TimerNode* nodes, size_t count) noexcept nogil

# Sort by (timestamp, sequence).  `spare` has room for `count` nodes; what it holds is lost.
cdef void sort_nodes(TimerNode* nodes, TimerNode* spare, size_t count) noexcept nogil
