# The order of an element queue, without the elements: C memory that holds indices only.
#
# Ordered: an element comes out when it is completed and all before it are out.
# Unordered: as they were completed, but no element passes a watermark, in either direction.
#
# An element is a slot.  Slots with an element form one doubly linked list in the order of putting,
# which is all that the ordered queue needs.  The unordered queue also cuts that list into spans:
#   S1  Spans follow each other in a list.  A watermark is a span of its own; the elements between
#       two watermarks are one span.  No two spans of elements are neighbours.
#   S2  `live` of a span counts its slots; a span without any is freed, unless it is the last.
#   S3  The completed slots of a span, `done` of them, are its chain, in the order of completion.
#   S4  What comes out next is the head of the chain of the first span.
# Without watermarks there is one span, which is processing-time order.
#
# A handle is the index of a slot and its generation, which changes when the handle is renewed and
# when the element is out.  A handle of an older generation is refused by everything.
#
# Nothing here locks or raises.  Ownership: who called `queue_init` calls `queue_release`.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment

cdef enum:
    QUEUE_BITS = 24                  # of a handle, for the index
    QUEUE_SLOTS = (1 << 24) - 1      # most elements
    NO_SLOT = (1 << 24) - 1          # no index, of a slot or a span

cdef struct Slot:
    uint64_t generation              # 1 or more
    uint32_t before                  # in the order of putting
    uint32_t after                   # likewise; of a free slot the next free one
    uint32_t chain                   # the next completed one of its span
    uint32_t span
    uint32_t used                    # 1: holds an element
    uint32_t done                    # 1: and it is completed

cdef struct Span:
    uint32_t live                    # slots in it
    uint32_t done                    # of these in the chain
    uint32_t first                   # of the chain
    uint32_t last
    uint32_t after                   # the next span; of a free one the next free one
    uint32_t watermark               # 1: a watermark, 0: elements

cdef struct QueueSlots:
    Segment slots
    Segment spans
    bint ordered
    size_t live                      # elements
    uint32_t top                     # slots that were ever used
    uint32_t free                    # first free slot below it
    uint32_t head                    # oldest element
    uint32_t tail
    uint32_t span_top
    uint32_t free_span
    uint32_t first_span              # NO_SLOT before the first put, and in an ordered queue
    uint32_t last_span

cdef void queue_init(QueueSlots* queue, bint ordered) noexcept nogil
cdef void queue_release(QueueSlots* queue) noexcept nogil

# The index that the next put will take.
cdef uint32_t queue_next_index(const QueueSlots* queue) noexcept nogil

# Put an element at the end: its handle, or an errno, negated; then nothing has changed.  A
# watermark is completed at once.
cdef int64_t queue_put(QueueSlots* queue, bint watermark) noexcept nogil

# Whether the handle is of an element that is not completed.
cdef bint queue_holds(const QueueSlots* queue, int64_t handle) noexcept nogil

# Both for a handle that is held.
cdef int64_t queue_renew(QueueSlots* queue, int64_t handle) noexcept nogil
cdef void queue_complete(QueueSlots* queue, uint32_t index) noexcept nogil

# What comes out next, and what would after `index`, were that taken; or NO_SLOT.
cdef uint32_t queue_next(const QueueSlots* queue) noexcept nogil
cdef uint32_t queue_following(const QueueSlots* queue, uint32_t index) noexcept nogil

# Let go of what comes out next.
cdef void queue_take(QueueSlots* queue, uint32_t index) noexcept nogil

# What is wrong with the memory, or NULL.  O(n).
cdef const char* queue_fault(const QueueSlots* queue) noexcept nogil
