# Java's `hashCode` on C values: what a key's bytes mean to Flink.
#
# Every function returns the same signed 32 bits as the Java method in its comment, on any
# platform: arithmetic is unsigned, so that it wraps.  Header only: `cimport` it.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from flinkish._core.values.civil cimport Civil, civil_of_days, floor_div

# Four units of a polynomial hash at once: h*31^4 + a*31^3 + b*31^2 + c*31 + d.  One multiply in
# the chain of dependences instead of four.
@cython.overflowcheck(False)
cdef inline uint32_t hash_four(
    uint32_t h, uint32_t a, uint32_t b, uint32_t c, uint32_t d
) noexcept nogil:
    return h * 923521u + (a * 29791u + b * 961u) + (c * 31u + d)


# Boolean.hashCode
cdef inline int32_t hash_bool(bint value) noexcept nogil:
    return 1237 - 6 * (value != 0)      # 1231 or 1237, without a branch to predict


# Long.hashCode: differs from Integer.hashCode (the value itself) for negative numbers.
cdef inline int32_t hash_long(int64_t value) noexcept nogil:
    cdef uint64_t bits = <uint64_t> value
    return <int32_t> <uint32_t> (bits ^ (bits >> 32))


# Double.hashCode: every NaN counts as one, -0.0 is not 0.0.
cdef inline int32_t hash_double(double value) noexcept nogil:
    cdef int64_t bits
    if value != value:
        return 0x7FF80000
    memcpy(&bits, &value, 8)
    return hash_long(bits)


# Float.hashCode
cdef inline int32_t hash_float(float value) noexcept nogil:
    cdef int32_t bits
    if value != value:
        return 0x7FC00000
    memcpy(&bits, &value, 4)
    return bits


# Arrays.hashCode(byte[])
@cython.overflowcheck(False)
cdef inline int32_t hash_bytes(const uint8_t* data, int64_t size) noexcept nogil:
    cdef const signed char* values = <const signed char*> data
    cdef uint32_t h = 1
    cdef int64_t i = 0
    while i + 4 <= size:
        h = hash_four(
            h,
            <uint32_t> <int32_t> values[i],
            <uint32_t> <int32_t> values[i + 1],
            <uint32_t> <int32_t> values[i + 2],
            <uint32_t> <int32_t> values[i + 3],
        )
        i += 4
    while i < size:
        h = h * 31u + <uint32_t> <int32_t> values[i]
        i += 1
    return <int32_t> h


# String.hashCode of Latin-1 characters (a Python str of kind 1).
@cython.overflowcheck(False)
cdef inline int32_t hash_latin1(const uint8_t* chars, int64_t size) noexcept nogil:
    cdef uint32_t h = 0
    cdef int64_t i = 0
    while i + 4 <= size:
        h = hash_four(h, chars[i], chars[i + 1], chars[i + 2], chars[i + 3])
        i += 4
    while i < size:
        h = h * 31u + chars[i]
        i += 1
    return <int32_t> h


# String.hashCode of UTF-16 code units (a Python str of kind 2: it has no surrogate pairs).
@cython.overflowcheck(False)
cdef inline int32_t hash_utf16(const uint16_t* units, int64_t size) noexcept nogil:
    cdef uint32_t h = 0
    cdef int64_t i
    for i in range(size):
        h = h * 31u + units[i]
    return <int32_t> h


# One code point of a polynomial hash: two UTF-16 units beyond the basic plane.
@cython.overflowcheck(False)
cdef inline uint32_t hash_code_point(uint32_t h, uint32_t point) noexcept nogil:
    if point < 0x10000:
        return h * 31u + point
    h = h * 31u + (0xD7C0u + (point >> 10))
    return h * 31u + (0xDC00u | (point & 0x3FFu))


# String.hashCode of code points (a Python str of kind 4).
cdef inline int32_t hash_utf32(const uint32_t* points, int64_t size) noexcept nogil:
    cdef uint32_t h = 0
    cdef int64_t i
    for i in range(size):
        h = hash_code_point(h, points[i])
    return <int32_t> h


# The code point at byte `at` of a UTF-8 text, which is not ASCII; moves `at` past it.  False
# where the text is not UTF-8 (overlong forms, surrogates and cut-off ends included).
cdef inline bint utf8_code_point(
    const uint8_t* text, int64_t size, int64_t* at, uint32_t* point
) noexcept nogil:
    cdef uint32_t found = text[at[0]], least
    cdef int64_t i = at[0] + 1, end
    if found & 0xE0 == 0xC0:
        found, least, end = found & 0x1F, 0x80, i + 1
    elif found & 0xF0 == 0xE0:
        found, least, end = found & 0x0F, 0x800, i + 2
    elif found & 0xF8 == 0xF0:
        found, least, end = found & 0x07, 0x10000, i + 3
    else:
        return False
    if end > size:
        return False
    for i in range(i, end):
        if text[i] & 0xC0 != 0x80:
            return False
        found = (found << 6) | (text[i] & 0x3F)
    at[0], point[0] = end, found
    return least <= found <= 0x10FFFF and not 0xD800 <= found <= 0xDFFF


# String.hashCode of a UTF-8 text, into `out`.  False where the text is not UTF-8.
@cython.overflowcheck(False)
cdef inline bint hash_utf8(const uint8_t* text, int64_t size, int32_t* out) noexcept nogil:
    cdef uint32_t h = 0, word, point
    cdef int64_t i = 0
    while True:
        while i + 4 <= size:
            memcpy(&word, text + i, 4)
            if word & 0x80808080u:
                break
            h = hash_four(h, text[i], text[i + 1], text[i + 2], text[i + 3])
            i += 4
        if i == size:
            break
        if text[i] < 0x80:
            h = h * 31u + text[i]
            i += 1
        elif utf8_code_point(text, size, &i, &point):
            h = hash_code_point(h, point)
        else:
            return False
    out[0] = <int32_t> h
    return True


# java.time.LocalDate.hashCode
@cython.overflowcheck(False)
cdef inline int32_t hash_date(int64_t year, int month, int day) noexcept nogil:
    cdef uint32_t y = <uint32_t> year
    return <int32_t> ((y & 0xFFFFF800u) ^ ((y << 11) + <uint32_t> (month * 64 + day)))


# LocalDate.ofEpochDay(days).hashCode, in years that `datetime` does not know too: 400 years
# (146,097 days) away, the calendar is the same.
cdef inline int32_t hash_epoch_day(int64_t days) noexcept nogil:
    cdef int64_t era = floor_div(days + 719468, 146097)     # 0 begins on 0000-03-01
    cdef Civil date = civil_of_days(days - era * 146097)
    return hash_date(date.year + era * 400, date.month, date.day)


# java.time.Instant.hashCode; 0 <= nanos < 10^9.
@cython.overflowcheck(False)
cdef inline int32_t hash_instant(int64_t seconds, int64_t nanos) noexcept nogil:
    return <int32_t> (<uint32_t> hash_long(seconds) + 51u * <uint32_t> nanos)


# Instant.hashCode of `value` parts of a second since the epoch, `per_second` of which make one.
# Rounds down, in unsigned numbers (counted from the smallest int64), which cannot overflow and
# divide alike under Python's rule and C's; without a branch, since signs may be random.
@cython.overflowcheck(False)
cdef inline int32_t hash_epoch_parts(int64_t value, uint64_t per_second) noexcept nogil:
    cdef uint64_t smallest = <uint64_t> 1 << 63
    cdef uint64_t shifted = <uint64_t> value + smallest
    cdef int64_t seconds = <int64_t> (shifted // per_second - smallest // per_second)
    cdef int64_t parts = <int64_t> (shifted % per_second) - <int64_t> (smallest % per_second)
    cdef int64_t borrowed = parts < 0
    parts += borrowed * <int64_t> per_second
    return hash_instant(seconds - borrowed, parts * <int64_t> (1000000000 // per_second))


# BigDecimal.hashCode of `size` (1 … 8) little-endian words in two's complement.
@cython.overflowcheck(False)
cdef inline int32_t hash_decimal(const uint32_t* words, int size, int32_t scale) noexcept nogil:
    cdef uint32_t magnitude[8]
    cdef uint32_t h = 0, flip = 0
    cdef uint64_t carry = 0
    cdef bint negative = words[size - 1] >> 31
    cdef int i
    memset(magnitude, 0, sizeof(magnitude))
    if negative:
        flip, carry = 0xFFFFFFFFu, 1
    for i in range(size):
        carry += words[i] ^ flip
        magnitude[i] = <uint32_t> carry
        carry >>= 32
    for i in range(size - 1, -1, -1):
        h = h * 31u + magnitude[i]
    if negative:
        h = 0u - h
    return <int32_t> (h * 31u + <uint32_t> scale)
