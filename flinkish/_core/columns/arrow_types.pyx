"""Types of Arrow arrays; described in ``columns/arrow_types.pxd``."""

from libc.stdlib cimport atoi
from libc.string cimport strchr


cdef inline int _described(ArrowType* out, int layout, bint flag, int32_t width,
                           int64_t detail) noexcept nogil:
    out.layout, out.flag, out.width, out.detail = layout, flag, width, detail
    return layout


cdef inline int64_t _parts_of_second(char unit) noexcept nogil:
    if unit == b"s":
        return 1
    if unit == b"m":
        return 1_000
    if unit == b"u":
        return 1_000_000
    return 1_000_000_000 if unit == b"n" else 0


cdef int _of_one_letter(char letter, ArrowType* out) noexcept nogil:
    cdef const char* integers = b"cCsSiIlL"
    cdef const char* found = strchr(integers, letter) if letter else NULL
    cdef int place
    if found != NULL:
        place = <int>(found - integers)
        return _described(out, LAYOUT_UINT if place & 1 else LAYOUT_INT, 0, 1 << (place >> 1), 0)
    if letter == b"u" or letter == b"z":
        return _described(out, LAYOUT_OFFSETS_32, letter == b"u", 0, 0)
    if letter == b"U" or letter == b"Z":
        return _described(out, LAYOUT_OFFSETS_64, letter == b"U", 0, 0)
    if letter == b"f" or letter == b"g":
        return _described(out, LAYOUT_FLOAT, 0, 4 if letter == b"f" else 8, 0)
    if letter == b"b":
        return _described(out, LAYOUT_BITS, 0, 0, 0)
    if letter == b"?":
        return _described(out, LAYOUT_FLAGS, 0, 1, 0)
    return _described(out, LAYOUT_NULL if letter == b"n" else LAYOUT_UNKNOWN, 0, 0, 0)


cdef int arrow_type(const ArrowSchema* schema, ArrowType* out) noexcept nogil:
    cdef const char* text = schema.format
    cdef char first = text[0], second = text[1] if text[0] else 0
    cdef const char* found
    cdef int64_t parts
    cdef int scale, bits = 128
    if second == 0:
        return _of_one_letter(first, out)
    if first == b"v" and (second == b"u" or second == b"z"):
        return _described(out, LAYOUT_VIEWS, second == b"u", 16, 0)
    if first == b"w" and second == b":":
        return _described(out, LAYOUT_FIXED, 0, atoi(text + 2), 0)
    if first == b"t" and second == b"d" and text[2] == b"D":
        return _described(out, LAYOUT_DAYS, 0, 4, 0)
    if first == b"t" and second == b"s":
        parts = _parts_of_second(text[2])
        if parts != 0:      # tsu:UTC, or tsu: without a time zone
            return _described(out, LAYOUT_EPOCH, text[3] != 0 and text[4] != 0, 8, parts)
    elif first == b"d" and second == b":":      # d:precision,scale[,bits]
        found = strchr(text, b",")
        if found != NULL:
            scale = atoi(found + 1)
            found = strchr(found + 1, b",")
            if found != NULL:
                bits = atoi(found + 1)
            return _described(out, LAYOUT_DECIMAL, 0, bits // 8, scale)
    elif first == b"+" and second == b"s":
        return _described(out, LAYOUT_STRUCT, 0, 0, 0)
    return _described(out, LAYOUT_UNKNOWN, 0, 0, 0)
