"""The order of an element queue; described in ``queue_slots.pxd``."""

from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from flinkish._core.memory.segment cimport segment_init, segment_release, segment_reserve

cdef uint64_t GENERATIONS = <uint64_t>1 << (63 - QUEUE_BITS)


cdef inline Slot* _slot(const QueueSlots* queue, uint32_t index) noexcept nogil:
    return <Slot*>queue.slots.base + index


cdef inline Span* _span(const QueueSlots* queue, uint32_t index) noexcept nogil:
    return <Span*>queue.spans.base + index


cdef inline int64_t _handle(const Slot* slot, uint32_t index) noexcept nogil:
    return <int64_t>(slot.generation << QUEUE_BITS | index)


cdef inline void _next_generation(Slot* slot) noexcept nogil:
    slot.generation += 1
    if slot.generation == GENERATIONS:
        slot.generation = 1


cdef void queue_init(QueueSlots* queue, bint ordered) noexcept nogil:
    memset(queue, 0, sizeof(QueueSlots))
    segment_init(&queue.slots)
    segment_init(&queue.spans)
    queue.ordered = ordered
    queue.free = queue.free_span = queue.head = queue.tail = NO_SLOT
    queue.first_span = queue.last_span = NO_SLOT


cdef void queue_release(QueueSlots* queue) noexcept nogil:
    segment_release(&queue.slots)
    segment_release(&queue.spans)


# --- spans

cdef uint32_t _span_for(QueueSlots* queue, bint watermark) noexcept nogil:
    """The span for a new slot, made if need be; NO_SLOT where there is no memory."""
    cdef uint32_t index = queue.last_span
    cdef Span* span
    if index != NO_SLOT:
        span = _span(queue, index)
        if span.live == 0 or (not watermark and not span.watermark):
            span.watermark = watermark
            return index
    index = queue.free_span
    if index == NO_SLOT:
        index = queue.span_top
        if segment_reserve(&queue.spans, (<size_t>index + 1) * sizeof(Span)) != 0:
            return NO_SLOT
        queue.span_top += 1
    else:
        queue.free_span = _span(queue, index).after
    span = _span(queue, index)
    span.live = span.done = 0
    span.first = span.last = span.after = NO_SLOT
    span.watermark = watermark
    if queue.last_span == NO_SLOT:
        queue.first_span = index
    else:
        _span(queue, queue.last_span).after = index
    queue.last_span = index
    return index


cdef void _leave_span(QueueSlots* queue, uint32_t index) noexcept nogil:
    """Let go of the head of the first span's chain."""
    cdef uint32_t first = queue.first_span
    cdef Span* span = _span(queue, first)
    span.first = _slot(queue, index).chain
    if span.first == NO_SLOT:
        span.last = NO_SLOT
    span.live -= 1
    span.done -= 1
    if span.live == 0 and span.after != NO_SLOT:
        queue.first_span = span.after
        span.after = queue.free_span
        queue.free_span = first


# --- in

cdef uint32_t queue_next_index(const QueueSlots* queue) noexcept nogil:
    return queue.top if queue.free == NO_SLOT else queue.free


cdef int64_t queue_put(QueueSlots* queue, bint watermark) noexcept nogil:
    cdef uint32_t index = queue.free, span = NO_SLOT
    cdef Slot* slot
    cdef int status
    if index == NO_SLOT:
        index = queue.top
        status = segment_reserve(&queue.slots, (<size_t>index + 1) * sizeof(Slot))
        if status != 0:
            return -status
    if not queue.ordered:
        span = _span_for(queue, watermark)
        if span == NO_SLOT:
            return -ENOMEM
        _span(queue, span).live += 1
    slot = _slot(queue, index)
    if index == queue.top:
        queue.top += 1
        slot.generation = 1
    else:
        queue.free = slot.after
    slot.used = 1
    slot.done = 0
    slot.before = queue.tail
    slot.after = slot.chain = NO_SLOT
    slot.span = span
    if queue.tail == NO_SLOT:
        queue.head = index
    else:
        _slot(queue, queue.tail).after = index
    queue.tail = index
    queue.live += 1
    if watermark:
        queue_complete(queue, index)
    return _handle(slot, index)


# --- completion

cdef bint queue_holds(const QueueSlots* queue, int64_t handle) noexcept nogil:
    cdef uint32_t index = <uint32_t>(handle & NO_SLOT)
    cdef Slot* slot
    if handle <= 0 or index >= queue.top:
        return False
    slot = _slot(queue, index)
    return slot.used and not slot.done and slot.generation == <uint64_t>handle >> QUEUE_BITS


cdef int64_t queue_renew(QueueSlots* queue, int64_t handle) noexcept nogil:
    cdef uint32_t index = <uint32_t>(handle & NO_SLOT)
    _next_generation(_slot(queue, index))
    return _handle(_slot(queue, index), index)


cdef void queue_complete(QueueSlots* queue, uint32_t index) noexcept nogil:
    cdef Slot* slot = _slot(queue, index)
    cdef Span* span
    slot.done = 1
    if queue.ordered:
        return
    span = _span(queue, slot.span)
    span.done += 1
    if span.first == NO_SLOT:
        span.first = index
    else:
        _slot(queue, span.last).chain = index
    span.last = index


# --- out

cdef uint32_t queue_next(const QueueSlots* queue) noexcept nogil:
    if queue.live == 0:
        return NO_SLOT
    if queue.ordered:
        return queue.head if _slot(queue, queue.head).done else NO_SLOT
    return _span(queue, queue.first_span).first


cdef uint32_t queue_following(const QueueSlots* queue, uint32_t index) noexcept nogil:
    cdef Slot* slot = _slot(queue, index)
    cdef Span* span
    if queue.ordered:
        if slot.after != NO_SLOT and _slot(queue, slot.after).done:
            return slot.after
        return NO_SLOT
    if slot.chain != NO_SLOT:
        return slot.chain
    # The end of a chain.  If that was all of its span, the turn of the next one comes.
    span = _span(queue, slot.span)
    if span.after != NO_SLOT and span.done == span.live:
        return _span(queue, span.after).first
    return NO_SLOT


cdef void queue_take(QueueSlots* queue, uint32_t index) noexcept nogil:
    cdef Slot* slot = _slot(queue, index)
    if slot.before == NO_SLOT:
        queue.head = slot.after
    else:
        _slot(queue, slot.before).after = slot.after
    if slot.after == NO_SLOT:
        queue.tail = slot.before
    else:
        _slot(queue, slot.after).before = slot.before
    if not queue.ordered:
        _leave_span(queue, index)
    queue.live -= 1
    slot.used = slot.done = 0
    _next_generation(slot)
    slot.after = queue.free
    queue.free = index


# --- the check

cdef const char* _list_fault(const QueueSlots* queue) noexcept nogil:
    cdef size_t live = 0, free = 0
    cdef uint32_t before = NO_SLOT, index = queue.head
    while index != NO_SLOT:
        if live > queue.live or not _slot(queue, index).used or _slot(queue, index).before != before:
            return b"the list of elements is torn"
        live += 1
        before = index
        index = _slot(queue, index).after
    if before != queue.tail or live != queue.live:
        return b"the list of elements does not end where it should"
    index = queue.free
    while index != NO_SLOT:
        if free > queue.top or _slot(queue, index).used or _slot(queue, index).done:
            return b"a slot in use is in the list of free ones"
        free += 1
        index = _slot(queue, index).after
    if live + free != queue.top:
        return b"a slot is neither in use nor free"
    return NULL


cdef const char* _chain_fault(const QueueSlots* queue, const Span* span, uint32_t at) noexcept nogil:
    cdef uint32_t chained = 0, before = NO_SLOT, index = span.first
    while index != NO_SLOT:
        if not _slot(queue, index).done or _slot(queue, index).span != at or chained > span.live:
            return b"a chain holds what is not completed, or not of its span (S3)"
        chained += 1
        before = index
        index = _slot(queue, index).chain
    if chained != span.done or before != span.last:
        return b"a chain does not hold what is completed (S3)"
    return NULL


cdef const char* queue_fault(const QueueSlots* queue) noexcept nogil:
    cdef const char* fault = _list_fault(queue)
    cdef size_t found = 0
    cdef uint32_t at = queue.first_span, index = queue.head, i, last = NO_SLOT, free = 0
    cdef uint32_t spans = 0
    cdef bint after_elements = False
    cdef Span* span
    while fault == NULL and at != NO_SLOT:
        span = _span(queue, at)
        if span.live == 0 and at != queue.last_span:
            return b"a span is empty and not the last (S2)"
        if span.watermark and span.live > 1:
            return b"a watermark is not alone in its span (S1)"
        if not span.watermark and after_elements:
            return b"two spans of elements are neighbours (S1)"
        after_elements = not span.watermark
        for i in range(span.live):
            if index == NO_SLOT or _slot(queue, index).span != at:
                return b"spans and elements are in different orders (S1)"
            index = _slot(queue, index).after
        found += span.live
        fault = _chain_fault(queue, span, at)
        spans += 1
        last = at
        at = span.after
    if fault != NULL:
        return fault
    at = queue.free_span
    while at != NO_SLOT and free <= queue.span_top:
        free += 1
        at = _span(queue, at).after
    if spans + free != queue.span_top or last != queue.last_span:
        return b"a span is neither in use nor free"
    if not queue.ordered and found != queue.live:
        return b"an element is in no span (S1)"
    return NULL
