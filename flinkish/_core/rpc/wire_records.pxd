# Records: pieces of a stream between two processes, each with a code that only its two ends can make.
#
# A record, little endian:
#
#     u32 size       bytes of the payload, 1 to RECORD_LIMIT
#     payload        bytes of the stream; frames begin and end anywhere in it
#     16 bytes       the code: of payloads below LANES_FROM bytes
#                        SipHash-2-4-128(key, u64 number, u64 size, payload)
#                    of larger ones, whose whole stripes of 32 bytes are dealt out to four lanes,
#                        SipHash-2-4-128(key, u64 number, u64 size, lane 0, … lane 3, the rest)
#                    with lane i = SipHash-2-4-128(lane key i, words i, i + 4, i + 8 … of the stripes)
#                    and lane key i = SipHash-2-4-128(key, u64 i)
#
# Why the second is as good as the first: SipHash is a pseudo-random function, to whom the key is not
# known.  The keys of the lanes are its values at places where no record asks for it (their data have 8
# bytes, those of records 17 and more), so lanes are four more such functions.  Of two different records
# of the same number and size either the rest differs or what a lane reads, and then the lane's 128 bits
# do, but for a chance of 2**-128.  So the last SipHash is asked at a place where it never was, and its
# value there can only be guessed.  The size decides between the two forms, and is in both.
#
# Each direction has a key of its own, and numbers its records from 0 on.  So a record that was
# changed, made by somebody else, repeated, left out, moved, or sent back to its maker has a code that
# is not the one expected, and the stream ends there.
#
# Invariants:
#   T1  Nothing of a record is passed on before its code was found to be right.
#   T2  A size is judged before memory is asked for; what is held is one record at most.
#   T3  After a record that is refused the place in the stream is lost: FrameCutter is `broken`.
#
# Threads: a sealer belongs to the flusher of its buffer (B3), an opener to who reads (R1).
# Ownership: __cinit__ makes the segments, __dealloc__ releases them.

from libc.stdint cimport uint8_t, uint64_t

from flinkish._core.memory.segment cimport Segment

cdef enum:
    RECORD_HEAD = 4              # bytes
    RECORD_TAG = 16
    LANES_FROM = 512             # bytes of a payload from which on four lanes are faster than one
    RECORD_LIMIT = 65536         # bytes of a payload: small enough to stay in a core's cache
    RECORD_BATCH = 262144        # bytes of the payloads that are written at once

cdef enum RecordStatus:
    RECORD_PART                  # more bytes are needed
    RECORD_WHOLE                 # the payload is there, and right
    RECORD_WRONG_SIZE
    RECORD_WRONG_TAG
    RECORD_NO_MEMORY

# A key and how many records were made, or opened, with it.
cdef struct RecordKey:
    uint64_t first
    uint64_t second
    uint64_t number
    uint64_t[8] lanes            # the first words of the lanes' keys, then the second ones

cdef void record_tag(
    uint8_t* tag, const RecordKey* key, const uint8_t* payload, size_t size
) noexcept nogil

cdef class RecordSealer:
    cdef RecordKey key
    cdef Segment records         # what is to be written
    cdef size_t size             # bytes of it
    cdef size_t sent             # bytes that are written
    cdef size_t payload          # bytes of the stream in it
    # Make the next records, of RECORD_BATCH of these bytes at most; RECORD_WHOLE or RECORD_NO_MEMORY.
    cdef int load(self, const uint8_t* data, size_t n) noexcept nogil
    cdef void trim(self) noexcept

cdef class RecordOpener:
    cdef RecordKey key
    cdef Segment partial         # the front of a record that has not arrived as a whole
    cdef size_t held
    cdef const uint8_t* payload  # valid until the next call, and as long as the data
    cdef size_t size
    # Take bytes off the front of the data until a record is whole; a RecordStatus.
    cdef int take(self, const uint8_t** data, size_t* n) noexcept nogil
    cdef void trim(self) noexcept
