# The order of a mailbox, in integers only: which mail comes next.
#
# A mail is a node: its index is also the place of the Python object in the list of the mailbox.
# Nodes of one kind and one pair of priorities form a lane, a linked list in the order in which
# they are to be taken.  Which mail comes next is found by looking at the first node of each lane,
# so it costs the number of lanes, however deep they are.
#
# Invariants:
#   N1  `rank` orders all mails: the kind in the two upper bits, a sequence number below.  Within
#       a lane ranks rise from head to tail; no two mails have the same.
#   N2  A lane is never empty: the last mail takes it away.  No two lanes have equal kind,
#       priority and `visible`.
#   N3  Each index below `used` is in exactly one lane or in the free list, whose links run
#       through `next`.  Links are index + 1, 0 is the end.
#   N4  `count` is the number of nodes in all lanes.
#   N5  Mails put before the batch was made have sequence numbers below `batch_end`.  So a batch
#       is a border, not a place, and making one moves nothing.
#
# Threads: the caller holds the lock of the mailbox.  `count` alone may be read without it.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment

cdef enum MailKind:
    KIND_FRONT    # last put, first taken
    KIND_URGENT   # before what is normal, in order of putting
    KIND_NORMAL   # in order of putting

cdef enum TakeMode:
    TAKE_VISIBLE    # by what a mail shows as its priority
    TAKE_ORIGINAL   # by its own priority, which a deferrable mail hides
    TAKE_BATCH      # the batch, and what is urgent

cdef enum:
    # So often may urgent mail that came after the batch pass it; then what waits gets its turn.
    BURST = 1024

cdef struct MailNode:
    uint64_t rank
    uint32_t next          # in the lane or the free list

cdef struct MailLane:
    uint64_t rank          # of the head
    uint32_t head          # first node, + 1
    uint32_t tail          # last node, + 1
    int32_t priority
    int32_t visible        # priority, or -1 when deferrable
    int32_t kind           # MailKind

cdef struct MailLanes:
    Segment nodes          # of MailNode
    Segment lanes          # of MailLane
    uint32_t lane_count
    uint32_t used          # nodes that were ever taken into use
    uint32_t free          # first free node, + 1
    uint32_t last          # the lane of the latest put: a guess, to be checked
    uint32_t overtakes     # how often urgent mail that came after the batch passed it lately
    int64_t count
    uint64_t sequence      # of the next mail; starts at 1
    uint64_t batch_end     # sequence numbers below belong to the batch

cdef void lanes_init(MailLanes* lanes) noexcept nogil
cdef void lanes_release(MailLanes* lanes) noexcept nogil

# Make room for one more mail: 0 or an errno; `index` is where lanes_put will put it.
cdef int lanes_room(MailLanes* lanes, uint32_t* index) noexcept nogil

# Put a mail, after lanes_room with nothing in between.
cdef void lanes_put(MailLanes* lanes, int32_t kind, int32_t priority, int32_t visible) noexcept nogil

# Take the next mail with `priority` or more: 1 and its index, or 0.
cdef bint lanes_take(MailLanes* lanes, int32_t mode, int64_t priority, uint32_t* index) noexcept nogil

# Everything so far becomes the batch.
cdef void lanes_batch(MailLanes* lanes) noexcept nogil

# Give memory back; only when empty.
cdef void lanes_trim(MailLanes* lanes) noexcept nogil

# What is wrong, or NULL.
cdef const char* lanes_fault(MailLanes* lanes) noexcept nogil
