# Bytes written and read in sequence: variable-length numbers, as the log holds them.
#
# Both sides note a failure instead of returning it, so that a whole record is written or read
# before anybody asks: `Writer.status` is an errno, `Reader.failed` says that the bytes ended
# early or a number made no sense.  A failed reader reads zeros.

cimport cython
from libc.errno cimport EBADMSG
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport Segment, segment_init, segment_reserve

cdef struct Writer:
    Segment segment
    size_t at
    int status

cdef struct Reader:
    const uint8_t* at
    const uint8_t* end
    bint failed

# Nothing written yet; the caller releases the segment.
cdef inline void writer_init(Writer* writer) noexcept nogil:
    segment_init(&writer.segment)
    writer.at = 0
    writer.status = 0

# NULL stands for bytes that a damaged table does not have.
cdef inline void put_bytes(Writer* writer, const void* data, size_t size) noexcept nogil:
    if data == NULL and writer.status == 0:
        writer.status = EBADMSG
    if writer.at + size > writer.segment.size and writer.status == 0:
        writer.status = segment_reserve(&writer.segment, writer.at + size + 64)
    if writer.status == 0:
        memcpy(writer.segment.base + writer.at, data, size)
        writer.at += size

cdef inline void put_byte(Writer* writer, uint8_t byte) noexcept nogil:
    put_bytes(writer, &byte, 1)

# Seven bits a byte, low ones first.
cdef inline void put_number(Writer* writer, uint64_t number) noexcept nogil:
    cdef uint8_t[10] digits
    cdef size_t count = 0
    while number >= 0x80:
        digits[count] = <uint8_t>(number | 0x80)
        number >>= 7
        count += 1
    digits[count] = <uint8_t>number
    put_bytes(writer, digits, count + 1)

# Small differences, of either sign, in few bytes.  They wrap, and wrap back when they are read.
@cython.overflowcheck(False)
cdef inline void put_difference(Writer* writer, int64_t number, int64_t previous) noexcept nogil:
    cdef uint64_t difference = <uint64_t>number - <uint64_t>previous
    put_number(writer, (difference << 1) ^ (<uint64_t>0 - (difference >> 63)))

cdef inline const uint8_t* get_bytes(Reader* reader, size_t size) noexcept nogil:
    cdef const uint8_t* found = reader.at
    if size > <size_t>(reader.end - reader.at):
        reader.failed = True
        reader.at = reader.end
        return NULL
    reader.at += size
    return found

cdef inline uint8_t get_byte(Reader* reader) noexcept nogil:
    cdef const uint8_t* found = get_bytes(reader, 1)
    return found[0] if found != NULL else 0

@cython.overflowcheck(False)
cdef inline uint64_t get_number(Reader* reader) noexcept nogil:
    cdef uint64_t number = 0
    cdef int shift = 0
    cdef uint8_t digit
    while True:
        digit = get_byte(reader)
        number |= <uint64_t>(digit & 0x7F) << shift
        if digit < 0x80:
            return number
        shift += 7
        if shift > 63:
            reader.failed = True
            return 0

# A number of things of which each takes at least one more byte.
cdef inline uint32_t get_count(Reader* reader) noexcept nogil:
    cdef uint64_t number = get_number(reader)
    if number > <uint64_t>(reader.end - reader.at):
        reader.failed = True
        return 0
    return <uint32_t>number

@cython.overflowcheck(False)
cdef inline int64_t get_difference(Reader* reader, int64_t previous) noexcept nogil:
    cdef uint64_t folded = get_number(reader)
    return <int64_t>(<uint64_t>previous + ((folded >> 1) ^ (<uint64_t>0 - (folded & 1))))
