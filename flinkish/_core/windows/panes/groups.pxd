# The groups of a batch: one record for each (key row, pane) that occurs in it.
#
# Rows of a batch meet here first, so that the table, which is larger than any cache, is asked
# once a group and not once a row.  An open-addressing index of (row, pane) leads to the number
# of a group, counted from 1 in order of first arrival; record 0 (NO_GROUP) takes rows that
# belong nowhere.  All of it is process memory and lasts from `groups_begin` to the next one.
#
# Statuses are 0 or an errno.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment

cdef struct GroupSlot:
    int64_t pane
    uint32_t row
    uint32_t group               # 0: the slot is free

cdef struct GroupName:
    int64_t pane
    uint32_t row
    uint32_t first               # the caller's number of the first row of the group

cdef struct Groups:
    Segment index
    Segment names                # GroupNames, by group
    Segment records              # of `stride` bytes, by group
    uint64_t slots               # a power of two
    uint32_t count               # groups, record 0 included
    uint32_t stride

cdef void groups_init(Groups* groups, uint32_t stride) noexcept nogil
cdef void groups_release(Groups* groups) noexcept nogil

# Forget all groups; record 0 is zero.
cdef int groups_begin(Groups* groups) noexcept nogil

# Write the group of each of `count` rows, made when there is none; `first` is the number of the
# first row.  Rows with skip[i] != 0 are given NO_GROUP.
cdef int groups_find(Groups* groups, const uint32_t* rows, const int64_t* panes,
                     const char* skip, uint32_t count, uint32_t first, uint32_t* out) noexcept nogil

cdef inline GroupName* group_name(Groups* groups, uint32_t group) noexcept nogil:
    return (<GroupName*>groups.names.base) + group

cdef inline char* group_record(Groups* groups, uint32_t group) noexcept nogil:
    return groups.records.base + <size_t>group * groups.stride
