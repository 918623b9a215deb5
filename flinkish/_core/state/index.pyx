"""The indexes of a table: of rows by key, of entries of maps; described in ``state/index.pxd``."""

cimport cython
from libc.errno cimport EBADMSG, EOVERFLOW
from libc.string cimport memset

from flinkish._core.memory.segment cimport Segment, prefetch, segment_reserve
from flinkish._core.values.values cimport TAG_EMPTY

cdef enum:
    AHEAD = 16  # rows between asking for memory and using it

cdef uint64_t MOST_SLOTS = <uint64_t>1 << 31


cdef int index_resize(Table* table, uint32_t slots) noexcept nogil:
    """Build the index anew with this many slots.  Rows carry their hash: one pass."""
    cdef TableHeader* header = header_of(table)
    cdef uint32_t mask = slots - 1
    cdef uint32_t row, left = header.live_rows
    cdef Slot* index
    cdef Row* found
    cdef int status = segment_reserve(&table.index, <size_t>slots * sizeof(Slot))
    if status != 0:
        return status
    index = <Slot*>table.index.base
    memset(index, 0, <size_t>slots * sizeof(Slot))
    header.index_sum = 0
    for row in range(header.rows):
        # Rows come in sequence, their slots do not: ask for a slot well before its row's turn.
        if header.rows - row > AHEAD:
            prefetch(index + (row_at(table, row + AHEAD).hash & mask))
        found = row_at(table, row)
        if found.tag == TAG_EMPTY:
            continue
        if left == 0:
            table.damaged = True
            break
        left -= 1
        index_insert(index, mask, row, found.hash, &header.index_sum)
    header.index_size = slots
    return EBADMSG if table.damaged else 0


cdef inline uint64_t slots_for(uint64_t slots, uint64_t taken) noexcept nogil:
    """How many slots, `slots` or more, keep the load of so many taken ones at or below 70 %."""
    if taken * 10 <= slots * 7:
        return slots
    slots = slots if slots else 16
    while taken * 10 > slots * 7:
        slots *= 2
    return slots


cdef inline int index_reserve(Table* table, uint32_t rows) noexcept nogil:
    cdef uint64_t slots = slots_for(header_of(table).index_size, rows)
    if slots == header_of(table).index_size:
        return 0
    return index_resize(table, <uint32_t>slots) if slots <= MOST_SLOTS else EOVERFLOW


cdef inline uint64_t slot_word(const Slot* slot) noexcept nogil:
    return <uint64_t>slot.hash << 32 | slot.id


@cython.overflowcheck(False)
cdef bint index_insert(Slot* index, uint32_t mask, uint32_t identifier, uint32_t hash,
                       uint64_t* total) noexcept nogil:
    cdef uint32_t at = hash & mask
    cdef uint32_t left = mask
    while index[at].id != 0:
        if left == 0:
            return 0
        left -= 1
        at = (at + 1) & mask
    index[at].id = identifier + 1
    index[at].hash = hash
    total[0] += slot_word(&index[at])
    return 1


# Distances in the ring of slots wrap.
@cython.overflowcheck(False)
cdef bint index_remove(Slot* index, uint32_t mask, uint32_t identifier, uint32_t hash,
                       uint64_t* total) noexcept nogil:
    """Backward shift: no tombstones, probes stay short."""
    cdef uint32_t hole = hash & mask
    cdef uint32_t left = mask
    cdef uint32_t at
    while index[hole].id != identifier + 1:
        if index[hole].id == 0 or left == 0:
            return 0
        left -= 1
        hole = (hole + 1) & mask
    total[0] -= slot_word(&index[hole])
    at = hole
    for left in range(mask):
        at = (at + 1) & mask
        if index[at].id == 0:
            break
        # An entry may move back into the hole only if its home is not after the hole.
        if ((at - index[at].hash) & mask) >= ((at - hole) & mask):
            index[hole] = index[at]
            hole = at
    index[hole].id = index[hole].hash = 0
    return 1


@cython.overflowcheck(False)
cdef uint64_t sum_of_slots(const Segment* index, uint32_t slots) noexcept nogil:
    """The sum that `index_insert` and `index_remove` have to have kept: empty slots are 0."""
    cdef uint64_t found = 0
    cdef uint32_t at
    for at in range(slots):
        found += slot_word((<const Slot*>index.base) + at)
    return found
