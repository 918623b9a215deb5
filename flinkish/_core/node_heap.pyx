"""An indexed 4-ary heap of timers and a sort for them; described in ``node_heap.pxd``."""

from libc.stdint cimport uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

cdef enum:
    DIGIT = 11  # bits of a radix pass: 2,048 counters of 8 bytes stay in the first-level cache
    FEW = 512   # up to here qsort beats the radix sort


cdef inline void _put(TimerNode* nodes, TimerSlot* slots, size_t index,
                      TimerNode node) noexcept nogil:
    nodes[index] = node
    slots[node.slot].position = <uint32_t>index


cdef void heap_up(TimerNode* nodes, TimerSlot* slots, size_t index,
                  TimerNode node) noexcept nogil:
    cdef size_t parent
    while index != 0:
        parent = (index - 1) // HEAP_ARITY
        if not node_before(&node, &nodes[parent]):
            break
        _put(nodes, slots, index, nodes[parent])
        index = parent
    _put(nodes, slots, index, node)


cdef void heap_down(TimerNode* nodes, TimerSlot* slots, size_t index, TimerNode node,
                    size_t count) noexcept nogil:
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
        _put(nodes, slots, index, nodes[least])
        index = least
        child = HEAP_ARITY * index + 1
    _put(nodes, slots, index, node)


cdef void heap_erase(TimerNode* nodes, TimerSlot* slots, size_t index,
                     size_t count) noexcept nogil:
    cdef TimerNode last = nodes[count - 1]
    if index == count - 1:
        return
    if index != 0 and node_before(&last, &nodes[(index - 1) // HEAP_ARITY]):
        heap_up(nodes, slots, index, last)
    else:
        heap_down(nodes, slots, index, last, count - 1)


cdef void heap_erase_top(TimerNode* nodes, TimerSlot* slots, const uint32_t* holes, size_t n,
                         size_t count) noexcept nogil:
    # From the highest hole down: below it all is in order again, above it are only holes.
    while n != 0:
        n -= 1
        count -= 1
        if holes[n] != count:
            heap_down(nodes, slots, holes[n], nodes[count], count)


cdef void heapify(TimerNode* nodes, TimerSlot* slots, size_t count) noexcept nogil:
    cdef size_t index
    for index in range(count):
        slots[nodes[index].slot].position = <uint32_t>index
    if count < 2:
        return
    index = (count - 2) // HEAP_ARITY + 1
    while index != 0:
        index -= 1
        heap_down(nodes, slots, index, nodes[index], count)


cdef int _compare(const void* a, const void* b) noexcept nogil:
    return 1 - 2 * node_before(<const TimerNode*>a, <const TimerNode*>b)


cdef TimerNode* sort_nodes(TimerNode* nodes, TimerNode* spare, size_t count) noexcept nogil:
    cdef uint64_t least_time = 0xFFFFFFFFFFFFFFFF, greatest_time = 0, time
    cdef uint64_t least_sequence = 0xFFFFFFFF, greatest_sequence = 0
    cdef size_t i
    if count <= FEW:
        qsort(nodes, count, sizeof(TimerNode), _compare)
        return nodes
    for i in range(count):
        time = _unsigned(nodes[i].timestamp)
        least_time = min(least_time, time)
        greatest_time = max(greatest_time, time)
        least_sequence = min(least_sequence, <uint64_t>nodes[i].sequence)
        greatest_sequence = max(greatest_sequence, <uint64_t>nodes[i].sequence)
    # Radix sort from the lowest digit; only the bits in which the nodes can differ.
    nodes = _sort_digits(nodes, &spare, count, least_sequence,
                         greatest_sequence - least_sequence, 0)
    return _sort_digits(nodes, &spare, count, least_time, greatest_time - least_time, 1)


cdef inline uint64_t _unsigned(int64_t timestamp) noexcept nogil:
    return <uint64_t>timestamp ^ (<uint64_t>1 << 63)


cdef TimerNode* _sort_digits(TimerNode* nodes, TimerNode** spare, size_t count, uint64_t least,
                             uint64_t span, bint by_time) noexcept nogil:
    cdef size_t[1 << DIGIT] starts
    cdef size_t i, start, digit
    cdef uint64_t value
    cdef int shift = 0
    cdef TimerNode* sorted
    while shift < 64 and span >> shift != 0:
        memset(starts, 0, sizeof(starts))
        for i in range(count):
            value = _unsigned(nodes[i].timestamp) if by_time else nodes[i].sequence
            starts[((value - least) >> shift) & ((1 << DIGIT) - 1)] += 1
        start = 0
        for digit in range(<size_t>1 << DIGIT):
            i = starts[digit]
            starts[digit] = start
            start += i
        sorted = spare[0]
        for i in range(count):
            value = _unsigned(nodes[i].timestamp) if by_time else nodes[i].sequence
            digit = ((value - least) >> shift) & ((1 << DIGIT) - 1)
            sorted[starts[digit]] = nodes[i]
            starts[digit] += 1
        spare[0] = nodes
        nodes = sorted
        shift += DIGIT
    return nodes
