"""An indexed 4-ary heap of timers and a sort for them; described in ``node_heap.pxd``."""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef enum:
    DIGIT = 10  # bits of a digit when sorting: 1,024 places to write to are not too many
    FEW = 16    # up to here nodes are sorted by insertion

cdef uint64_t SIGN = <uint64_t>1 << 63


cdef inline void _put(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                      TimerNode node) noexcept nogil:
    nodes[index] = node
    if node.slot < used:
        slots[node.slot].position = <uint32_t>index


cdef void heap_up(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                  TimerNode node) noexcept nogil:
    cdef size_t parent
    while index != 0:
        parent = (index - 1) // HEAP_ARITY
        if not node_before(&node, &nodes[parent]):
            break
        _put(nodes, slots, used, index, nodes[parent])
        index = parent
    _put(nodes, slots, used, index, node)


cdef void heap_down(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                    TimerNode node, size_t count) noexcept nogil:
    cdef size_t child = HEAP_ARITY * index + 1
    cdef size_t least, other
    while child < count:
        # Whichever child it will be, its children are in these four cache lines.
        for other in range(<size_t>HEAP_ARITY):
            prefetch(&nodes[HEAP_ARITY * (child + other) + 1])
        if child + HEAP_ARITY <= count:
            least = child + node_before(&nodes[child + 1], &nodes[child])
            other = child + 2 + node_before(&nodes[child + 3], &nodes[child + 2])
            least += (other - least) * <size_t>node_before(&nodes[other], &nodes[least])
        else:
            least = child
            for other in range(child + 1, count):
                if node_before(&nodes[other], &nodes[least]):
                    least = other
        if not node_before(&nodes[least], &node):
            break
        _put(nodes, slots, used, index, nodes[least])
        index = least
        child = HEAP_ARITY * index + 1
    _put(nodes, slots, used, index, node)


cdef void heap_erase(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t index,
                     size_t count) noexcept nogil:
    cdef TimerNode last = nodes[count - 1]
    if index == count - 1:
        return
    prefetch(&nodes[HEAP_ARITY * index + 1])
    if index != 0 and node_before(&last, &nodes[(index - 1) // HEAP_ARITY]):
        heap_up(nodes, slots, used, index, last)
    else:
        heap_down(nodes, slots, used, index, last, count - 1)


cdef void heap_erase_top(TimerNode* nodes, TimerSlot* slots, uint32_t used,
                         const uint32_t* holes, size_t n, size_t count) noexcept nogil:
    # From the highest hole down: below it all is in order again, above it are only holes.
    while n != 0:
        n -= 1
        count -= 1
        if holes[n] != count:
            heap_down(nodes, slots, used, holes[n], nodes[count], count)


cdef void heapify(TimerNode* nodes, TimerSlot* slots, uint32_t used, size_t count) noexcept nogil:
    cdef size_t index
    for index in range(count):
        _put(nodes, slots, used, index, nodes[index])
    if count < 2:
        return
    index = (count - 2) // HEAP_ARITY + 1
    while index != 0:
        index -= 1
        heap_down(nodes, slots, used, index, nodes[index], count)


cdef bint heap_in_order(const TimerNode* nodes, size_t count) noexcept nogil:
    cdef size_t index
    for index in range(1, count):
        if not node_before(&nodes[(index - 1) // HEAP_ARITY], &nodes[index]):
            return 0
    return 1


cdef int heap_renumber(TimerNode* nodes, size_t count) noexcept nogil:
    cdef TimerNode* order = <TimerNode*>malloc(2 * count * sizeof(TimerNode) + 1)
    cdef size_t i
    if order == NULL:
        return -ENOMEM
    # Sort (sequence, index) by giving all nodes one timestamp.
    for i in range(count):
        order[i].timestamp = 0
        order[i].sequence = nodes[i].sequence
        order[i].slot = <uint32_t>i
    sort_nodes(order, order + count, count)
    for i in range(count):
        nodes[order[i].slot].sequence = <uint32_t>i
    free(order)
    return 0


cdef void sort_nodes(TimerNode* nodes, TimerNode* spare, size_t count) noexcept nogil:
    _sort(nodes, spare, count, False)


cdef void _sort(TimerNode* nodes, TimerNode* other, size_t count, bint across) noexcept nogil:
    """Sort `count` nodes within `nodes`, or `across`, into `other`.

    A radix sort from the highest digit: the nodes go into buckets by the leading bits in which
    their timestamps differ, or else their sequences, and each bucket is sorted alike.  The
    first round leaves buckets that fit the cache, the second leaves a few nodes in each.
    """
    cdef uint32_t[1 << DIGIT] ends
    cdef uint64_t least, greatest, value
    cdef size_t i, bucket, buckets, begin
    cdef uint32_t before
    cdef bint by_time
    cdef int shift = 0
    if count <= FEW:
        _insert(nodes, other if across else nodes, count)
        return
    by_time = _range(nodes, count, &least, &greatest)
    buckets = 2
    while buckets < <size_t>1 << DIGIT and buckets * 8 <= count:
        buckets *= 2
    while (greatest - least) >> shift >= buckets:
        shift += 1
    memset(ends, 0, buckets * sizeof(uint32_t))
    for i in range(count):
        ends[(_value(&nodes[i], by_time) - least) >> shift] += 1
    before = 0
    for bucket in range(buckets):
        before += ends[bucket]
        ends[bucket] = before - ends[bucket]
    for i in range(count):
        value = (_value(&nodes[i], by_time) - least) >> shift
        other[ends[value]] = nodes[i]
        ends[value] += 1
    begin = 0
    for bucket in range(buckets):
        if ends[bucket] != begin:
            _sort(other + begin, nodes + begin, ends[bucket] - begin, not across)
        begin = ends[bucket]


cdef inline uint64_t _value(const TimerNode* node, bint by_time) noexcept nogil:
    # The order of unsigned numbers is that of timestamps with the sign turned over.
    return <uint64_t>node.timestamp ^ SIGN if by_time else node.sequence


cdef bint _range(const TimerNode* nodes, size_t count, uint64_t* least,
                 uint64_t* greatest) noexcept nogil:
    """The range of the timestamps: 1; of the sequences when there is one timestamp: 0."""
    cdef bint by_time = True
    cdef uint64_t value
    cdef size_t i
    while True:
        least[0] = greatest[0] = _value(&nodes[0], by_time)
        for i in range(1, count):
            value = _value(&nodes[i], by_time)
            least[0] = min(least[0], value)
            greatest[0] = max(greatest[0], value)
        if least[0] != greatest[0] or not by_time:
            return by_time
        by_time = False


cdef void _insert(const TimerNode* nodes, TimerNode* sorted, size_t count) noexcept nogil:
    cdef TimerNode node
    cdef size_t i, at
    for i in range(count):
        node = nodes[i]
        at = i
        while at != 0 and node_before(&node, &sorted[at - 1]):
            sorted[at] = sorted[at - 1]
            at -= 1
        sorted[at] = node
