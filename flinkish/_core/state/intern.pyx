"""Rows for whole columns of keys; described in ``state/intern.pxd``."""

from libc.stdint cimport uint16_t

from flinkish._core.memory.segment cimport prefetch
from flinkish._core.values.values cimport TAG_EMPTY, hash_bytes, value_fits

cdef enum:
    BLOCK = 32  # keys whose memory is asked for at once: more than a core can wait for


cdef struct Key:
    const char* data
    uint32_t size
    uint32_t hash
    uint8_t tag


cdef KeyFault check_column(Table* table, const KeyColumn* keys, Py_ssize_t* at) noexcept nogil:
    cdef int32_t first = <int32_t>header_of(table).first_key_group
    cdef int32_t last = <int32_t>header_of(table).last_key_group
    cdef int32_t start, end
    cdef Py_ssize_t i
    for i in range(keys.count):
        at[0] = i
        if keys.key_groups != NULL and not first <= keys.key_groups[i] <= last:
            return KEY_FOREIGN
        if keys.offsets == NULL:
            continue
        start, end = keys.offsets[i], keys.offsets[i + 1]
        if not 0 <= start <= end <= keys.text_size:
            return KEY_OUTSIDE
        if keys.tag == TAG_EMPTY and (
            start == end
            or keys.text[start] == TAG_EMPTY
            or not value_fits(<uint8_t>keys.text[start], <uint32_t>(end - start - 1))
        ):
            return KEY_UNTAGGED
    return KEYS_GOOD


cdef inline void read_key(const KeyColumn* keys, Py_ssize_t at, Key* out) noexcept nogil:
    cdef bint own = keys.tag == TAG_EMPTY
    if keys.numbers != NULL:
        out.data = <const char*>&keys.numbers[at]
        out.size = 8
        out.tag = keys.tag
    else:
        out.data = keys.text + keys.offsets[at] + own
        out.size = <uint32_t>(keys.offsets[at + 1] - keys.offsets[at] - own)
        out.tag = <uint8_t>keys.text[keys.offsets[at]] if own else keys.tag
    out.hash = hash_bytes(out.tag, out.size, out.data)


cdef inline void fetch_block(Table* table, const Key* block, Py_ssize_t count) noexcept nogil:
    """Ask for the memory in which the keys of a block will be looked for."""
    cdef TableHeader* header = header_of(table)
    cdef Slot* index = <Slot*>table.index.base
    cdef uint32_t mask = header.index_size - 1
    cdef Slot* slot
    cdef Row* row
    cdef Py_ssize_t i
    if header.live_rows == 0:
        return
    for i in range(count):
        prefetch(index + (block[i].hash & mask))
    for i in range(count):
        slot = index + (block[i].hash & mask)
        if slot.hash == block[i].hash and slot.id != 0:
            prefetch(row_at(table, slot.id - 1))
    for i in range(count):
        slot = index + (block[i].hash & mask)
        if block[i].size > 8 and slot.hash == block[i].hash and slot.id != 0:
            row = row_at(table, slot.id - 1)
            if row.size > 8 and row.word < table.slab.size:
                prefetch(table.slab.base + row.word)


cdef int intern_column(Table* table, const KeyColumn* keys, uint32_t* rows) noexcept nogil:
    cdef Key[BLOCK] block
    cdef uint16_t key_group = <uint16_t>header_of(table).first_key_group
    cdef Py_ssize_t start = 0, count, i
    cdef int status
    while start < keys.count:
        count = min(keys.count - start, <Py_ssize_t>BLOCK)
        for i in range(count):
            read_key(keys, start + i, &block[i])
        fetch_block(table, block, count)
        for i in range(count):
            if keys.key_groups != NULL:
                key_group = <uint16_t>keys.key_groups[start + i]
            status = table_intern_hashed(table, block[i].tag, block[i].size, block[i].data,
                                         block[i].hash, key_group, &rows[start + i])
            if status != 0:
                return status
        start += count
    return 0


cdef int raise_fault(KeyFault fault, const KeyColumn* keys, Py_ssize_t at) except -1:
    if fault == KEY_UNTAGGED:
        raise ValueError(f"key {at} does not begin with its tag, as packed keys do")
    raise ValueError(
        f"key {at} is said to be at {keys.offsets[at]}..{keys.offsets[at + 1]} in "
        f"{keys.text_size} bytes"
    )
