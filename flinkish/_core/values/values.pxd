# Python values as tagged bytes, the form in which tables and logs hold them.
#
# A value is (tag, size, bytes).  Up to eight bytes travel inside a 64-bit word; longer ones
# lie in a slab.  Scalars have one canonical form, so equal keys have equal bytes; what has
# none (lists, dicts, objects) is pickled and may be a value but not a key.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from flinkish._core.memory.segment cimport Segment

include "plain.pxd"
include "pieces.pxd"

cdef enum Tag:
    TAG_EMPTY = 0       # nothing is stored
    TAG_NONE = 1
    TAG_BOOL = 2        # one byte
    TAG_INT = 3         # int64
    TAG_BIGINT = 4      # two's complement, little endian, as short as it can be
    TAG_FLOAT = 5       # IEEE double
    TAG_STR = 6         # UTF-8
    TAG_BYTES = 7
    TAG_DATE = 8        # int64: proleptic Gregorian ordinal
    TAG_DATETIME = 9    # int64: microseconds since 1970 of a naive datetime
    TAG_INSTANT = 10    # int64: microseconds since 1970, UTC
    TAG_DECIMAL = 11    # its digits as text
    TAG_TUPLE = 12      # elements in a row, each a piece
    TAG_PICKLE = 13     # protocol 5
    TAG_CHAIN = 14      # not a value: a cell that heads a chain of entries
    TAG_SCOPED = 15     # a key within a namespace: two pieces

cdef struct Encoded:
    uint8_t tag
    uint32_t size
    uint64_t word           # the bytes themselves when they fit
    const char* data        # the bytes: &word, or memory of the object that encode returned

# Encode anything.  The object returned owns `data`; keep it until the bytes are copied.
# Errors: what pickle raises; OverflowError past 4 GiB.
cdef object encode_value(object value, Encoded* out)

# Encode a key canonically.  TypeError for None and for what has no canonical form.
cdef object encode_key(object key, Encoded* out)

# Encode a key within a namespace (anything that encode_key takes).
cdef object encode_scoped(object key, object namespace, Encoded* out)

# ValueError for bytes that are no value, DamagedTable for NULL.
cdef object decode_value(uint8_t tag, uint32_t size, const char* data)

# The key of a TAG_SCOPED value, or of any other its own value.
cdef object decode_key(uint8_t tag, uint32_t size, const char* data)
cdef object decode_namespace(uint8_t tag, uint32_t size, const char* data)

# Whether a value, key or scoped key with this tag can have this size.
cdef inline bint value_fits(uint8_t tag, uint32_t size) noexcept nogil:
    if tag == TAG_INT or tag == TAG_FLOAT or TAG_DATE <= tag <= TAG_INSTANT:
        return size == 8
    if tag == TAG_BOOL:
        return size == 1
    if tag == TAG_EMPTY or tag == TAG_NONE:
        return size == 0
    return tag <= TAG_SCOPED and tag != TAG_CHAIN

# Where the bytes of a (size, word) pair are: in the word, or in a slab at offset word.  NULL when
# that is outside of the slab: the table is damaged.
cdef inline const char* bytes_of(uint32_t size, const uint64_t* word,
                                 const Segment* slab) noexcept nogil:
    if size <= 8:
        return <const char*>word
    if size > slab.size or word[0] > slab.size - size:
        return NULL
    return slab.base + word[0]

# Whether a (size, word) pair has these bytes; numbers and times, all of eight, without a call.
cdef inline bint same_bytes(uint32_t size, const uint64_t* word, const Segment* slab,
                            const char* data) noexcept nogil:
    cdef const char* own
    cdef uint64_t other
    if size == 8:
        memcpy(&other, data, 8)
        return word[0] == other
    own = bytes_of(size, word, slab)
    return own != NULL and memcmp(own, data, size) == 0

cdef uint32_t hash_bytes(uint8_t tag, uint32_t size, const char* data) noexcept nogil
