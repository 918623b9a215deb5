"""The windows that fired; described in ``windows/panes/output.pxd``."""

from libc.string cimport memcpy, memmove

import numpy as np

from flinkish._core.memory.segment cimport segment_init, segment_release, segment_reserve


cdef void fired_init(Fired* fired, uint32_t stride) noexcept nogil:
    segment_init(&fired.rows)
    segment_init(&fired.begins)
    segment_init(&fired.ends)
    segment_init(&fired.records)
    segment_init(&fired.late.segment)
    fired.late.count = 0
    fired.count = 0
    fired.stride = stride


cdef void fired_release(Fired* fired) noexcept nogil:
    segment_release(&fired.rows)
    segment_release(&fired.begins)
    segment_release(&fired.ends)
    segment_release(&fired.records)
    segment_release(&fired.late.segment)
    fired.late.count = 0
    fired.count = 0


cdef int fired_push(Fired* fired, uint32_t row, int64_t begin, int64_t end,
                    char** record) noexcept nogil:
    cdef size_t count = fired.count + 1
    cdef int status = segment_reserve(&fired.rows, count * sizeof(uint32_t))
    if status == 0:
        status = segment_reserve(&fired.begins, count * sizeof(int64_t))
    if status == 0:
        status = segment_reserve(&fired.ends, count * sizeof(int64_t))
    if status == 0:
        status = segment_reserve(&fired.records, count * fired.stride)
    if status != 0:
        return status
    (<uint32_t*>fired.rows.base)[fired.count] = row
    (<int64_t*>fired.begins.base)[fired.count] = begin
    (<int64_t*>fired.ends.base)[fired.count] = end
    record[0] = fired_record(fired, fired.count)
    fired.count = count
    return 0


cdef void fired_sift(Fired* fired, size_t first) noexcept nogil:
    cdef uint32_t* rows = <uint32_t*>fired.rows.base
    cdef int64_t* begins = <int64_t*>fired.begins.base
    cdef int64_t* ends = <int64_t*>fired.ends.base
    cdef size_t kept = first, at
    for at in range(first, fired.count):
        if record_elements(fired_record(fired, at)) == 0:
            continue
        if kept != at:
            rows[kept], begins[kept], ends[kept] = rows[at], begins[at], ends[at]
            memmove(fired_record(fired, kept), fired_record(fired, at), fired.stride)
        kept += 1
    fired.count = kept


cdef object copy_of(const char* base, size_t size, object kind):
    cdef object array = np.empty(size, np.uint8)
    cdef unsigned char[::1] view = array
    if size:
        memcpy(&view[0], base, size)
    return array.view(kind)


cdef tuple fired_take(Fired* fired):
    cdef size_t count = fired.count
    cdef tuple taken = (
        copy_of(fired.rows.base, count * sizeof(uint32_t), np.uint32),
        copy_of(fired.begins.base, count * sizeof(int64_t), np.int64),
        copy_of(fired.ends.base, count * sizeof(int64_t), np.int64),
        copy_of(fired.records.base, count * fired.stride, np.uint8).reshape(count, fired.stride),
    )
    fired.count = 0
    return taken
