"""Records of a stream, each with a code that only its two ends can make; described in ``wire_records.pxd``.

SipHash is a keyed function for exactly this: a code of 128 bits for a message of any length, which
a stranger to the key can do no more than guess.  It is made of additions and rotations of words
only, so its time does not depend on its data, and it needs neither tables nor a library.  Large payloads
are read by four of them side by side, at several times the speed.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport segment_init, segment_release, segment_reserve

RECORD_OVERHEAD = RECORD_HEAD + RECORD_TAG
RECORD_PAYLOAD = RECORD_LIMIT

cdef extern from "<endian.h>" nogil:
    uint64_t le64toh(uint64_t word)
    uint64_t htole64(uint64_t word)

cdef struct Sip:
    uint64_t a
    uint64_t b
    uint64_t c
    uint64_t d


cdef inline uint64_t _turn(uint64_t word, int bits) noexcept nogil:
    return word << bits | word >> (64 - bits)


cdef inline void _round(Sip* s) noexcept nogil:
    s.a += s.b
    s.b = _turn(s.b, 13) ^ s.a
    s.a = _turn(s.a, 32)
    s.c += s.d
    s.d = _turn(s.d, 16) ^ s.c
    s.a += s.d
    s.d = _turn(s.d, 21) ^ s.a
    s.c += s.b
    s.b = _turn(s.b, 17) ^ s.c
    s.c = _turn(s.c, 32)


cdef inline void _absorb(Sip* s, uint64_t word) noexcept nogil:
    s.d ^= word
    _round(s)
    _round(s)
    s.a ^= word


cdef inline uint64_t _word(const uint8_t* place, size_t size) noexcept nogil:
    """Up to 8 bytes, little endian."""
    cdef uint64_t word = 0
    memcpy(&word, place, size)
    return le64toh(word)


cdef inline void _put_word(uint8_t* place, uint64_t word, size_t size) noexcept nogil:
    word = htole64(word)
    memcpy(place, &word, size)


cdef inline void _begin(Sip* s, uint64_t first, uint64_t second) noexcept nogil:
    s.a = first ^ <uint64_t>0x736F6D6570736575
    s.b = second ^ <uint64_t>0x646F72616E646F6D ^ 0xEE
    s.c = first ^ <uint64_t>0x6C7967656E657261
    s.d = second ^ <uint64_t>0x7465646279746573


cdef inline void _finish(
    Sip* s, uint8_t* tag, const uint8_t* rest, size_t size, uint64_t total
) noexcept nogil:
    """Absorb what is left, ``total`` bytes in all, and write the code."""
    cdef int i, half
    while size >= 8:
        _absorb(s, _word(rest, 8))
        rest += 8
        size -= 8
    _absorb(s, _word(rest, size) | total << 56)
    s.c ^= 0xEE
    for half in range(2):
        for i in range(4):
            _round(s)
        _put_word(tag + 8 * half, s.a ^ s.b ^ s.c ^ s.d, 8)
        s.b ^= 0xDD


cdef void record_tag(
    uint8_t* tag, const RecordKey* key, const uint8_t* payload, size_t size
) noexcept nogil:
    cdef Sip s
    cdef size_t striped = 0, at
    cdef uint8_t codes[SIP_LANES * RECORD_TAG]
    _begin(&s, key.first, key.second)
    _absorb(&s, key.number)
    _absorb(&s, size)
    if size < LANES_FROM:
        _finish(&s, tag, payload, size, 16 + size)
        return
    striped = size // SIP_STRIPE * SIP_STRIPE
    sip_lanes(key.lanes, payload, striped, codes)
    for at in range(0, <size_t>(SIP_LANES * RECORD_TAG), 8):
        _absorb(&s, _word(codes + at, 8))
    size -= striped
    _finish(&s, tag, payload + striped, size, 16 + SIP_LANES * RECORD_TAG + size)


def siphash(bytes key not None, bytes data not None):
    """SipHash-2-4 of the data with 128 bits, by a key of 16 bytes."""
    cdef Sip s
    cdef RecordKey words
    cdef uint8_t tag[RECORD_TAG]
    _read_key(&words, key)
    _begin(&s, words.first, words.second)
    _finish(
        &s, tag, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data),
        PyBytes_GET_SIZE(data),
    )
    return PyBytes_FromStringAndSize(<char*>tag, RECORD_TAG)


def lanes(bytes key not None, bytes data not None, *, bint plain=False):
    """The codes of the four lanes of a payload, one after the other; ``plain``: without AVX2."""
    cdef RecordKey words
    cdef uint8_t codes[SIP_LANES * RECORD_TAG]
    cdef const uint8_t* place = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef size_t size = PyBytes_GET_SIZE(data) // SIP_STRIPE * SIP_STRIPE
    _read_key(&words, key)
    if plain:
        sip_lanes_plain(words.lanes, place, size, codes)
    else:
        sip_lanes(words.lanes, place, size, codes)
    return PyBytes_FromStringAndSize(<char*>codes, SIP_LANES * RECORD_TAG)


cdef int _read_key(RecordKey* into, bytes key) except -1:
    if key is None or PyBytes_GET_SIZE(key) != 16:
        raise ValueError("a key has 16 bytes")
    cdef const uint8_t* place = <const uint8_t*>PyBytes_AS_STRING(key)
    cdef Sip s
    cdef uint8_t tag[RECORD_TAG]
    cdef uint64_t lane
    into.first = _word(place, 8)
    into.second = _word(place + 8, 8)
    into.number = 0
    for lane in range(<uint64_t>SIP_LANES):
        _begin(&s, into.first, into.second)
        _absorb(&s, lane)
        _finish(&s, tag, tag, 0, 8)
        into.lanes[lane] = _word(tag, 8)
        into.lanes[SIP_LANES + lane] = _word(tag + 8, 8)
    return 0


cdef class RecordSealer:
    """Makes records of a stream that goes out."""

    def __cinit__(self, bytes key not None):
        segment_init(&self.records)
        _read_key(&self.key, key)

    def __dealloc__(self):
        segment_release(&self.records)

    cdef int load(self, const uint8_t* data, size_t n) noexcept nogil:
        cdef size_t size, left = min(n, <size_t>RECORD_BATCH)
        cdef size_t count = (left + RECORD_LIMIT - 1) // RECORD_LIMIT
        if segment_reserve(&self.records, left + count * (RECORD_HEAD + RECORD_TAG)) != 0:
            return RECORD_NO_MEMORY
        cdef uint8_t* place = <uint8_t*>self.records.base
        self.payload = left
        while left != 0:
            size = min(left, <size_t>RECORD_LIMIT)
            _put_word(place, size, RECORD_HEAD)
            place += RECORD_HEAD
            memcpy(place, data, size)
            record_tag(place + size, &self.key, place, size)
            self.key.number += 1
            place += size + RECORD_TAG
            data += size
            left -= size
        self.size = place - <uint8_t*>self.records.base
        self.sent = 0
        return RECORD_WHOLE

    cdef void trim(self) noexcept:
        segment_release(&self.records)
        segment_init(&self.records)
        self.size = self.sent = self.payload = 0

    def seal(self, bytes data not None):
        """Records of these bytes."""
        cdef const uint8_t* place = <const uint8_t*>PyBytes_AS_STRING(data)
        cdef size_t left = PyBytes_GET_SIZE(data)
        sealed = []
        while left:
            if self.load(place, left) != RECORD_WHOLE:
                raise MemoryError("no memory for a record")
            sealed.append(PyBytes_FromStringAndSize(self.records.base, self.size))
            place += self.payload
            left -= self.payload
        return b"".join(sealed)


cdef class RecordOpener:
    """Finds the records in a stream that comes in, and checks them."""

    def __cinit__(self, bytes key not None):
        segment_init(&self.partial)
        _read_key(&self.key, key)

    def __dealloc__(self):
        segment_release(&self.partial)

    cdef int take(self, const uint8_t** data, size_t* n) noexcept nogil:
        cdef const uint8_t* record = data[0]
        cdef size_t wanted, more, have = n[0]
        cdef uint8_t tag[RECORD_TAG]
        cdef uint8_t differs = 0
        cdef int i
        # The bytes of one record: from the data where they lie there, else gathered.
        if self.held == 0 and have >= RECORD_HEAD:
            wanted = _word(record, RECORD_HEAD)
            if wanted == 0 or wanted > RECORD_LIMIT:
                return RECORD_WRONG_SIZE
            wanted += RECORD_HEAD + RECORD_TAG
            if have < wanted:
                record = NULL
            else:
                data[0] += wanted
                n[0] -= wanted
        else:
            record = NULL
        while record == NULL:
            wanted = RECORD_HEAD
            if self.held >= RECORD_HEAD:
                wanted = _word(<uint8_t*>self.partial.base, RECORD_HEAD)
                if wanted == 0 or wanted > RECORD_LIMIT:
                    return RECORD_WRONG_SIZE
                wanted += RECORD_HEAD + RECORD_TAG
                if self.held == wanted:
                    record = <const uint8_t*>self.partial.base
                    self.held = 0
                    break
            if n[0] == 0:
                return RECORD_PART
            more = min(n[0], wanted - self.held)
            if segment_reserve(&self.partial, wanted) != 0:
                return RECORD_NO_MEMORY
            memcpy(self.partial.base + self.held, data[0], more)
            self.held += more
            data[0] += more
            n[0] -= more
        self.payload = record + RECORD_HEAD
        self.size = wanted - RECORD_HEAD - RECORD_TAG
        record_tag(tag, &self.key, self.payload, self.size)
        for i in range(RECORD_TAG):    # all of them: the time shall not tell how many are right
            differs |= tag[i] ^ self.payload[self.size + i]
        if differs:
            return RECORD_WRONG_TAG
        self.key.number += 1
        return RECORD_WHOLE

    cdef void trim(self) noexcept:
        if self.held == 0:
            segment_release(&self.partial)
            segment_init(&self.partial)
