"""Which mail comes next; described in ``mailbox/lanes.pxd``."""

from libc.errno cimport EOVERFLOW
from libc.stdint cimport INT32_MIN
from libc.string cimport memset

from flinkish._core.memory.segment cimport segment_init, segment_release, segment_reserve

cdef uint64_t SEQUENCE = (<uint64_t>1 << 62) - 1    # the bits of a rank below the kind
cdef uint32_t MOST = 0x7FFFFFFF                     # mails at a time


cdef inline MailNode* _nodes(MailLanes* lanes) noexcept nogil:
    return <MailNode*>lanes.nodes.base


cdef inline MailLane* _lanes(MailLanes* lanes) noexcept nogil:
    return <MailLane*>lanes.lanes.base


cdef void lanes_init(MailLanes* lanes) noexcept nogil:
    memset(lanes, 0, sizeof(MailLanes))
    segment_init(&lanes.nodes)
    segment_init(&lanes.lanes)
    lanes.sequence = 1
    lanes.batch_end = 1


cdef void lanes_release(MailLanes* lanes) noexcept nogil:
    segment_release(&lanes.nodes)
    segment_release(&lanes.lanes)


cdef void lanes_trim(MailLanes* lanes) noexcept nogil:
    lanes_release(lanes)
    segment_init(&lanes.nodes)
    segment_init(&lanes.lanes)
    lanes.used = lanes.free = lanes.last = 0


# --- put --------------------------------------------------------------------------------------

cdef int lanes_room(MailLanes* lanes, uint32_t* index) noexcept nogil:
    cdef int status
    if lanes.lanes.size < (<size_t>lanes.lane_count + 1) * sizeof(MailLane):
        status = segment_reserve(&lanes.lanes, (<size_t>lanes.lane_count + 4) * sizeof(MailLane))
        if status != 0:
            return status
    if lanes.free != 0:
        index[0] = lanes.free - 1
        return 0
    if lanes.nodes.size < (<size_t>lanes.used + 1) * sizeof(MailNode):
        if lanes.used >= MOST:
            return EOVERFLOW
        status = segment_reserve(&lanes.nodes, (<size_t>lanes.used + 16) * sizeof(MailNode))
        if status != 0:
            return status
    index[0] = lanes.used
    return 0


cdef inline bint _is(const MailLane* lane, int32_t kind, int32_t priority,
                     int32_t visible) noexcept nogil:
    return lane.priority == priority and lane.kind == kind and lane.visible == visible


cdef MailLane* _lane_of(MailLanes* lanes, int32_t kind, int32_t priority,
                        int32_t visible) noexcept nogil:
    """The lane for such mails, made if need be."""
    cdef MailLane* all_lanes = _lanes(lanes)
    cdef MailLane* lane
    cdef uint32_t i
    if lanes.last < lanes.lane_count and _is(&all_lanes[lanes.last], kind, priority, visible):
        return &all_lanes[lanes.last]
    for i in range(lanes.lane_count):
        if _is(&all_lanes[i], kind, priority, visible):
            lanes.last = i
            return &all_lanes[i]
    lanes.last = lanes.lane_count
    lanes.lane_count += 1
    lane = &all_lanes[lanes.last]
    lane.head = lane.tail = 0
    lane.kind = kind
    lane.priority = priority
    lane.visible = visible
    return lane


cdef void lanes_put(MailLanes* lanes, int32_t kind, int32_t priority,
                    int32_t visible) noexcept nogil:
    cdef MailLane* lane = _lane_of(lanes, kind, priority, visible)
    cdef uint32_t link
    cdef MailNode* node
    if lanes.free != 0:
        link = lanes.free
        lanes.free = _nodes(lanes)[link - 1].next
    else:
        lanes.used += 1
        link = lanes.used
    node = &_nodes(lanes)[link - 1]
    node.rank = (<uint64_t>kind << 62) | lanes.sequence
    lanes.sequence += 1
    lanes.count += 1
    if kind == KIND_FRONT:
        node.rank = SEQUENCE - node.rank
        node.next = lane.head
        lane.head = link
        lane.rank = node.rank
        if lane.tail == 0:
            lane.tail = link
        return
    node.next = 0
    if lane.tail == 0:
        lane.head = link
        lane.rank = node.rank
    else:
        _nodes(lanes)[lane.tail - 1].next = link
    lane.tail = link


# --- take -------------------------------------------------------------------------------------

cdef inline bint _is_late(MailLanes* lanes, const MailLane* lane) noexcept nogil:
    """Whether the first mail of the lane is not of the batch."""
    return (lane.rank & SEQUENCE) >= lanes.batch_end


cdef MailLane* _find(MailLanes* lanes, int32_t mode, int64_t priority) noexcept nogil:
    cdef MailLane* lane = _lanes(lanes)
    cdef MailLane* end = lane + lanes.lane_count
    cdef MailLane* first = NULL
    cdef MailLane* patient = NULL            # the first that is not urgent
    cdef bint spent = lanes.overtakes >= BURST
    while lane != end:
        if (lane.priority if mode == TAKE_ORIGINAL else lane.visible) >= priority:
            if lane.kind == KIND_FRONT:
                if first == NULL or lane.rank < first.rank:
                    first = lane
            elif mode == TAKE_BATCH and _is_late(lanes, lane) and (
                    lane.kind == KIND_NORMAL or spent):
                pass
            else:
                if first == NULL or lane.rank < first.rank:
                    first = lane
                if lane.kind == KIND_NORMAL and (patient == NULL or lane.rank < patient.rank):
                    patient = lane
        lane += 1
    if spent and patient != NULL and first.kind == KIND_URGENT and _is_late(lanes, first):
        return patient
    return first


cdef bint lanes_take(MailLanes* lanes, int32_t mode, int64_t priority,
                     uint32_t* index) noexcept nogil:
    cdef MailLane* lane = _find(lanes, mode, INT32_MIN if mode == TAKE_BATCH else priority)
    cdef MailNode* node
    cdef uint32_t link
    if lane == NULL:
        return 0
    if lane.kind == KIND_URGENT and _is_late(lanes, lane):
        # What is queued after an urgent mail joins the batch with it (Flink: TaskMailboxImpl).
        lanes.batch_end = lanes.sequence
        if lanes.overtakes < BURST:
            lanes.overtakes += 1
    elif lane.kind == KIND_NORMAL and mode != TAKE_BATCH:
        lanes.overtakes = 0
    link = lane.head
    node = &_nodes(lanes)[link - 1]
    lane.head = node.next
    node.next = lanes.free
    lanes.free = link
    lanes.count -= 1
    index[0] = link - 1
    if lane.head != 0:
        lane.rank = _nodes(lanes)[lane.head - 1].rank
    else:
        lanes.lane_count -= 1
        lane[0] = _lanes(lanes)[lanes.lane_count]
    return 1


cdef void lanes_batch(MailLanes* lanes) noexcept nogil:
    lanes.batch_end = lanes.sequence
    lanes.overtakes = 0


# --- doubts -----------------------------------------------------------------------------------

cdef const char* lanes_fault(MailLanes* lanes) noexcept nogil:
    cdef MailLane* lane
    cdef MailNode* node
    cdef uint64_t before
    cdef uint32_t i, j, link, last
    cdef int64_t in_lanes = 0, unused = 0
    if lanes.used * sizeof(MailNode) > lanes.nodes.size:
        return "more nodes in use than there is memory for"
    if lanes.lane_count * sizeof(MailLane) > lanes.lanes.size:
        return "more lanes than there is memory for"
    for i in range(lanes.lane_count):
        lane = &_lanes(lanes)[i]
        if lane.head == 0 or lane.tail == 0:
            return "an empty lane"
        for j in range(i):
            if _is(&_lanes(lanes)[j], lane.kind, lane.priority, lane.visible):
                return "two lanes for the same mails"
        before = 0
        link = lane.head
        last = 0
        if _nodes(lanes)[link - 1].rank != lane.rank:
            return "a lane with another rank than its head"
        while link != 0:
            if link > lanes.used:
                return "a link past the last node"
            node = &_nodes(lanes)[link - 1]
            if node.rank <= before:
                return "a mail before an earlier one"
            if node.rank >> 62 != <uint64_t>lane.kind:
                return "a mail in a lane of another kind"
            before = node.rank
            in_lanes += 1
            if in_lanes > lanes.used:
                return "lanes run in a circle"
            last = link
            link = node.next
        if last != lane.tail:
            return "a lane does not end at its tail"
    link = lanes.free
    while link != 0:
        unused += 1
        if link > lanes.used or unused > lanes.used:
            return "a broken free list"
        link = _nodes(lanes)[link - 1].next
    if in_lanes != lanes.count or in_lanes + unused != lanes.used:
        return "nodes in lanes, free nodes and the counts do not agree"
    if lanes.batch_end > lanes.sequence or lanes.overtakes > BURST:
        return "a batch beyond the last mail, or too many overtakes"
    return NULL
