"""The groups of a batch; described in ``windows/panes/groups.pxd``."""

cimport cython
from libc.errno cimport EOVERFLOW
from libc.string cimport memset

from flinkish._core.memory.segment cimport prefetch, segment_init, segment_release, segment_reserve

cdef enum:
    PROBES = 32        # rows whose slots are asked for at once
    FEWEST = 1024      # slots
    MOST = 1 << 30     # groups


cdef void groups_init(Groups* groups, uint32_t stride) noexcept nogil:
    segment_init(&groups.index)
    segment_init(&groups.names)
    segment_init(&groups.records)
    groups.slots = 0
    groups.count = 0
    groups.stride = stride


cdef void groups_release(Groups* groups) noexcept nogil:
    segment_release(&groups.index)
    segment_release(&groups.names)
    segment_release(&groups.records)
    groups.slots = 0
    groups.count = 0


# It wraps.
@cython.overflowcheck(False)
cdef inline uint64_t hash_group(uint32_t row, int64_t pane) noexcept nogil:
    cdef uint64_t mixed = <uint64_t>row * <uint64_t>0x9E3779B97F4A7C15
    mixed ^= <uint64_t>pane * <uint64_t>0xC2B2AE3D27D4EB4F
    mixed ^= mixed >> 32
    mixed *= <uint64_t>0xD6E8FEB86659FD93
    return mixed ^ (mixed >> 32)


cdef int resize(Groups* groups, uint64_t slots) noexcept nogil:
    """Build the index anew with this many slots."""
    cdef GroupSlot* index
    cdef uint64_t mask = slots - 1, at
    cdef uint32_t group
    cdef GroupName* name
    cdef int status = segment_reserve(&groups.index, slots * sizeof(GroupSlot))
    if status != 0:
        return status
    index = <GroupSlot*>groups.index.base
    memset(index, 0, slots * sizeof(GroupSlot))
    for group in range(1, groups.count):
        name = group_name(groups, group)
        at = hash_group(name.row, name.pane) & mask
        while index[at].group != 0:
            at = (at + 1) & mask
        index[at].group = group
        index[at].row = name.row
        index[at].pane = name.pane
    groups.slots = slots
    return 0


cdef int reserve(Groups* groups, uint64_t count) noexcept nogil:
    """Room for this many groups at half load."""
    cdef uint64_t slots = groups.slots if groups.slots else FEWEST
    cdef int status
    if count > MOST:
        return EOVERFLOW
    status = segment_reserve(&groups.names, count * sizeof(GroupName))
    if status == 0:
        status = segment_reserve(&groups.records, count * groups.stride)
    if status != 0:
        return status
    while count * 2 > slots:
        slots *= 2
    return resize(groups, slots) if slots != groups.slots else 0


cdef int groups_begin(Groups* groups) noexcept nogil:
    cdef uint64_t slots = FEWEST
    cdef int status
    # As large as the last batch needed, so that a small one does not pay for a large one before.
    while slots < <uint64_t>groups.count * 4:
        slots *= 2
    groups.count = 0
    status = resize(groups, slots)
    if status == 0:
        status = reserve(groups, PROBES + 1)
    if status == 0:
        groups.count = 1
        memset(groups.records.base, 0, groups.stride)
    return status


cdef int groups_find(Groups* groups, const uint32_t* rows, const int64_t* panes,
                     const char* skip, uint32_t count, uint32_t first, uint32_t* out) noexcept nogil:
    cdef uint64_t[PROBES] hashes
    cdef GroupSlot* index
    cdef uint64_t mask, at
    cdef uint32_t start = 0, size, i, group
    cdef int status
    while start < count:
        size = min(count - start, <uint32_t>PROBES)
        status = reserve(groups, <uint64_t>groups.count + PROBES)
        if status != 0:
            return status
        index = <GroupSlot*>groups.index.base
        mask = groups.slots - 1
        for i in range(size):
            hashes[i] = hash_group(rows[start + i], panes[start + i]) & mask
            prefetch(index + hashes[i])
        for i in range(start, start + size):
            if skip[i]:
                out[i] = NO_GROUP
                continue
            at = hashes[i - start]
            while index[at].group != 0 and (index[at].row != rows[i] or index[at].pane != panes[i]):
                at = (at + 1) & mask
            group = index[at].group
            if group == 0:
                group = groups.count
                groups.count += 1
                index[at].group = group
                index[at].row = rows[i]
                index[at].pane = panes[i]
                group_name(groups, group)[0] = GroupName(panes[i], rows[i], first + i)
                memset(group_record(groups, group), 0, groups.stride)
            out[i] = group
        start += size
    return 0
