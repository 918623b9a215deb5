# Frames: how messages lie in the stream of bytes between two processes, and how they are cut out.
#
# A frame, little endian, FRAME_HEADER bytes and the payload:
#
#     u32 rest       bytes that follow this field: 16 and the payload
#     u8  kind       1 .. 63 of the application, 64 .. 79 of the connection itself
#     u8  flags
#     u16 method
#     u32 endpoint
#     u64 call
#     payload
#
# Invariants of a cutter:
#   C1  `held` bytes of a frame that has not arrived as a whole lie at the front of `partial`.
#       `wanted` is the length of that frame, or 0 while even its header is incomplete.
#   C2  A header is judged as soon as it is there, and its length as soon as its first four bytes
#       are, before memory is asked for: what a header claims costs nothing until it is allowed.
#   C3  A sink sees whole, allowed frames only, in the order in which they came, and never a byte
#       past the data.  How the stream was torn into pieces makes no difference.
#   C4  After an error, of the stream or of the sink, the place in the stream is lost: the cutter
#       is `broken` and refuses everything.
#   C5  While somebody holds a buffer of the rest of a large frame (`exports`), `partial` stays
#       where it is.
#
#   C6  After `seal` the stream is one of records (`wire_records.pxd`), and what a sink sees came out of
#       records that were right.  Then no large frame is received straight into place.
#   C7  A request is refused as soon as its header is there if the peer has no credit for it
#       (`Allowance`), by the sender's own rule (B6): what is held for a peer is a window and a frame.
#
# Threads: a cutter belongs to the thread that reads its stream.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment

include "sip_lanes.pxd"
include "wire_records.pxd"

cdef enum:
    FRAME_HEADER = 20            # bytes
    FRAME_CONTROL = 64           # the first kind of the connection itself
    FRAME_LAST = 79
    FRAME_CONTROL_LIMIT = 8192   # bytes of a frame of the connection itself
    FRAME_OPEN_LIMIT = 65536     # and of an OPEN, for which no credit is needed

# Kinds of the application: what two services say to each other.
cdef enum FrameKinds:
    FRAME_OPEN = 1
    FRAME_OPENED
    FRAME_REFUSED
    FRAME_TELL
    FRAME_ASK
    FRAME_REPLY
    FRAME_ERROR
    # Kinds of the connection: the handshake, byte credits, heartbeats, the end.
    FRAME_HELLO = 64
    FRAME_CHALLENGE
    FRAME_PROOF
    FRAME_WELCOME
    FRAME_CREDIT
    FRAME_PING
    FRAME_PONG
    FRAME_GOODBYE

cdef struct Frame:
    uint8_t kind
    uint8_t flags
    uint16_t method
    uint32_t endpoint
    uint64_t call
    const uint8_t* payload       # valid during the call that passes the frame
    Py_ssize_t size              # bytes of the payload
    Py_ssize_t length            # bytes of the whole frame: what consumed() is told

# Write the header of a frame with `size` bytes of payload.
cdef void frame_write(
    uint8_t* place, uint8_t kind, uint8_t flags, uint16_t method, uint32_t endpoint, uint64_t call,
    size_t size,
) noexcept nogil

# Length of the frame whose first bytes are these.
cdef uint64_t frame_length(const uint8_t* header) noexcept nogil

# How many of the frames that lie here are of a kind and end after the first `sent` bytes.
cdef size_t frames_unsent(
    const uint8_t* frames, size_t size, size_t sent, uint8_t kind
) noexcept nogil

# Read a header; payload, size and length are set, too.
cdef void frame_read(Frame* frame, const uint8_t* header) noexcept nogil

# Receives the frames of the application.  The base class keeps them, for tests.
cdef class FrameSink:
    cdef readonly list frames    # of (kind, flags, method, endpoint, call, payload)
    # Take one frame.  Called with the GIL, in the order of the stream; an error ends the stream.
    cdef int accept(self, Frame* frame) except -1
    # All frames of one piece of the stream were passed: wake the threads that got some.
    cdef int settle(self) except -1

# Bytes of requests that the peer may send: `granted` grows when credit is given back, before the
# peer can hear of it, on any thread; `arrived` belongs to who reads.
cdef class Allowance:
    cdef int64_t granted
    cdef int64_t arrived
    cdef void grant(self, int64_t size) noexcept nogil
    cdef bint is_spent(self) noexcept nogil

cdef class FrameCutter:
    cdef Allowance allowance             # None: no limit
    cdef Segment partial
    cdef size_t held
    cdef size_t wanted
    cdef readonly Py_ssize_t limit       # bytes of a whole frame
    cdef readonly bint authenticated     # frames of the application are allowed
    cdef readonly bint broken
    cdef readonly unsigned long long frames    # passed so far
    cdef readonly size_t left            # bytes of the last piece that were not looked at
    cdef Py_ssize_t exports
    cdef RecordOpener opener             # None while the stream is one of bare frames
    cdef list control                    # frames of the connection that nobody has taken yet

    # Cut `n` bytes; how many frames were passed.
    cdef Py_ssize_t feed(self, const uint8_t* data, size_t n, FrameSink sink) except -1
    cdef int _feed(self, const uint8_t* data, size_t n, FrameSink sink) except -1
    cdef int _feed_records(self, const uint8_t* data, size_t n, FrameSink sink) except -1
    cdef int _judge(self, const uint8_t* data, size_t n) except -1
    cdef int _pass(self, const uint8_t* place, FrameSink sink) except -1
