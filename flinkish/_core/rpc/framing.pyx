"""Frames of the wire: their header, and the cutter that finds them in a stream of bytes."""

import enum

from cpython.buffer cimport (
    PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT32_MAX
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport (
    segment_init, segment_raise, segment_release, segment_reserve,
)

include "wire_records.pyx"

FRAME_HEADER_SIZE = FRAME_HEADER
CONTROL_LIMIT = FRAME_CONTROL_LIMIT
OPEN_LIMIT = FRAME_OPEN_LIMIT
cdef extern from * nogil:
    """
    #define flinkish_add(place, more) ((void)__atomic_fetch_add(place, more, __ATOMIC_RELEASE))
    #define flinkish_load(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
    """
    void flinkish_add(int64_t* place, int64_t more)
    int64_t flinkish_load(int64_t* place)

cdef size_t LARGE = 65536     # missing bytes from which a frame is received straight into place


class FrameKind(enum.IntEnum):
    """The kind of a frame; those from HELLO on are for the connection itself."""

    OPEN = FRAME_OPEN
    OPENED = FRAME_OPENED
    REFUSED = FRAME_REFUSED
    TELL = FRAME_TELL
    ASK = FRAME_ASK
    REPLY = FRAME_REPLY
    ERROR = FRAME_ERROR
    HELLO = FRAME_HELLO
    CHALLENGE = FRAME_CHALLENGE
    PROOF = FRAME_PROOF
    WELCOME = FRAME_WELCOME
    CREDIT = FRAME_CREDIT
    PING = FRAME_PING
    PONG = FRAME_PONG
    GOODBYE = FRAME_GOODBYE


cdef inline void _put32(uint8_t* place, uint32_t value) noexcept nogil:
    place[0] = <uint8_t>(value & 0xFF)
    place[1] = <uint8_t>((value >> 8) & 0xFF)
    place[2] = <uint8_t>((value >> 16) & 0xFF)
    place[3] = <uint8_t>(value >> 24)


cdef inline uint32_t _get32(const uint8_t* place) noexcept nogil:
    return (
        <uint32_t>place[0] | <uint32_t>place[1] << 8
        | <uint32_t>place[2] << 16 | <uint32_t>place[3] << 24
    )


cdef void frame_write(
    uint8_t* place, uint8_t kind, uint8_t flags, uint16_t method, uint32_t endpoint, uint64_t call,
    size_t size,
) noexcept nogil:
    _put32(place, <uint32_t>(size + FRAME_HEADER - 4))
    place[4] = kind
    place[5] = flags
    place[6] = <uint8_t>(method & 0xFF)
    place[7] = <uint8_t>(method >> 8)
    _put32(place + 8, endpoint)
    _put32(place + 12, <uint32_t>call)
    _put32(place + 16, <uint32_t>(call >> 32))


cdef uint64_t frame_length(const uint8_t* header) noexcept nogil:
    return <uint64_t>_get32(header) + 4


cdef void frame_read(Frame* frame, const uint8_t* header) noexcept nogil:
    frame.kind = header[4]
    frame.flags = header[5]
    frame.method = <uint16_t>(header[6] | header[7] << 8)
    frame.endpoint = _get32(header + 8)
    frame.call = <uint64_t>_get32(header + 12) | <uint64_t>_get32(header + 16) << 32
    frame.payload = header + FRAME_HEADER
    frame.length = <Py_ssize_t>frame_length(header)
    frame.size = frame.length - FRAME_HEADER


cdef size_t frames_unsent(
    const uint8_t* frames, size_t size, size_t sent, uint8_t kind
) noexcept nogil:
    cdef size_t place = 0, count = 0
    while place < size:
        if frames[place + 4] == kind and place + frame_length(frames + place) > sent:
            count += 1
        place += frame_length(frames + place)
    return count


def pack_frame(kind, payload=b"", *, flags=0, method=0, endpoint=0, call=0):
    """One frame as bytes.  OverflowError where a number does not fit its field."""
    cdef uint8_t header[FRAME_HEADER]
    cdef size_t size = len(payload)
    if size > UINT32_MAX - FRAME_HEADER:
        raise OverflowError(f"a payload of {size} bytes does not fit a frame")
    frame_write(header, kind, flags, method, endpoint, call, size)
    return PyBytes_FromStringAndSize(<char*>header, FRAME_HEADER) + payload


cdef class FrameSink:
    """Receives the frames of the application; this one keeps them in ``frames``.

    Subclasses are compiled: they override ``accept``, called for each frame, and ``settle``,
    called when those of one piece of the stream have been passed.
    """

    def __cinit__(self, *args, **kwargs):
        self.frames = []

    cdef int accept(self, Frame* frame) except -1:
        payload = PyBytes_FromStringAndSize(<const char*>frame.payload, frame.size)
        self.frames.append(
            (frame.kind, frame.flags, frame.method, frame.endpoint, frame.call, payload)
        )
        return 0

    cdef int settle(self) except -1:
        return 0


cdef class Allowance:
    """Bytes of requests that a peer may send before it hears of more."""

    cdef void grant(self, int64_t size) noexcept nogil:
        flinkish_add(&self.granted, size)

    cdef bint is_spent(self) noexcept nogil:
        return self.arrived >= flinkish_load(&self.granted)


cdef class FrameCutter:
    """Cuts a stream of bytes, in whatever pieces it comes, into frames of ``limit`` bytes at most.

    Frames of the application go to a sink, those of the connection itself are kept for
    ``take_control``.  Until ``authenticate`` is called the first kind is refused, no frame may be
    longer than CONTROL_LIMIT, and every call ends after one frame, since what it means decides
    about the next: ``left`` bytes of the data are to be passed again.

    Errors are ``large_error(message, size, limit)`` for a frame over the limit and
    ``frame_error(message)`` for what is no frame; after one, as after an error of the sink, every
    call is a ``frame_error``.

    Threading: for one thread.  Complexity: one copy of what comes in more than one piece, none of
    the rest.  Memory: that of one frame while it comes in, given back by ``trim``.
    """

    frame_error = ValueError

    @staticmethod
    def large_error(message, size, limit):
        """The error for a frame of ``size`` bytes."""
        return ValueError(message)

    def __cinit__(self, Py_ssize_t limit, *args, **kwargs):
        segment_init(&self.partial)
        if not FRAME_CONTROL_LIMIT <= limit <= <Py_ssize_t>UINT32_MAX:
            raise ValueError(f"limit must be {FRAME_CONTROL_LIMIT} to {UINT32_MAX}, not {limit}")
        self.limit = limit
        self.control = []

    def __dealloc__(self):
        segment_release(&self.partial)

    def authenticate(self):
        """Allow frames of the application from here on."""
        self.authenticated = True

    def allow(self, Allowance allowance not None):
        """Refuse requests that come when this is spent."""
        self.allowance = allowance

    def seal(self, bytes key not None):
        """From here on the stream is one of records that were made with this key."""
        self.opener = RecordOpener(key)

    def take_control(self):
        """The frames of the connection itself since the last call: (kind, call, payload)."""
        taken = self.control
        if taken:
            self.control = []
        return taken

    cdef int _judge(self, const uint8_t* data, size_t n) except -1:
        """Refuse the frame that starts with these 4 bytes or more, if it must be."""
        cdef uint64_t length = frame_length(data)
        cdef uint8_t kind
        if length < FRAME_HEADER:
            raise self.frame_error(
                f"a frame claims {length} bytes, and its header alone has {FRAME_HEADER}: the "
                "stream is damaged, or the peer does not speak this protocol"
            )
        if length > (<uint64_t>self.limit if self.authenticated else FRAME_CONTROL_LIMIT):
            if not self.authenticated:
                raise self.frame_error(
                    f"a frame of {length} bytes came before the peer was authenticated, when "
                    f"{FRAME_CONTROL_LIMIT} are allowed"
                )
            raise self.large_error(
                f"a frame of {length} bytes is coming in, and max_frame_size allows "
                f"{self.limit}: send less at once, or raise max_frame_size on both sides",
                length,
                self.limit,
            )
        if n < 5:
            return 0
        kind = data[4]
        if kind == 0 or kind > FRAME_LAST:
            raise self.frame_error(
                f"a frame of kind {kind} came, and there are 1 to {FRAME_LAST}: the stream is "
                "damaged, or the peer does not speak this protocol"
            )
        if kind < FRAME_CONTROL and not self.authenticated:
            raise self.frame_error(f"a frame of kind {kind} came before the peer was authenticated")
        if kind == FRAME_OPEN and length > FRAME_OPEN_LIMIT:
            raise self.frame_error(
                f"a request to connect has {length} bytes, and {FRAME_OPEN_LIMIT} are allowed"
            )
        if (
            (kind == FRAME_TELL or kind == FRAME_ASK)
            and self.allowance is not None and self.allowance.is_spent()
        ):
            raise self.frame_error(
                f"a request of {length} bytes came after the peer had sent "
                f"{self.allowance.arrived}, which is all that it had credit for (receive_window)"
            )
        if kind >= FRAME_CONTROL and length > FRAME_CONTROL_LIMIT:
            raise self.frame_error(
                f"a frame of kind {kind} has {length} bytes, and {FRAME_CONTROL_LIMIT} are allowed"
            )
        return 0

    cdef int _pass(self, const uint8_t* place, FrameSink sink) except -1:
        cdef Frame frame
        frame_read(&frame, place)
        if self.allowance is not None and (frame.kind == FRAME_TELL or frame.kind == FRAME_ASK):
            self.allowance.arrived += frame.length
        if frame.kind < FRAME_CONTROL:
            sink.accept(&frame)
        else:
            payload = PyBytes_FromStringAndSize(<const char*>frame.payload, frame.size)
            self.control.append((frame.kind, frame.call, payload))
        self.frames += 1
        return 0

    cdef int _feed(self, const uint8_t* data, size_t n, FrameSink sink) except -1:
        cdef size_t more
        cdef uint64_t length
        while n != 0:
            if self.held == 0 and n >= FRAME_HEADER:
                self._judge(data, n)
                length = frame_length(data)
                if length <= n:
                    self._pass(data, sink)
                    data += length
                    n -= length
                    if not self.authenticated:
                        break
                    continue
            more = min(n, (self.wanted if self.wanted else <size_t>FRAME_HEADER) - self.held)
            segment_raise(segment_reserve(&self.partial, self.held + more))
            memcpy(self.partial.base + self.held, data, more)
            self.held += more
            data += more
            n -= more
            if self.wanted == 0 and self.held >= 4:
                self._judge(<uint8_t*>self.partial.base, self.held)
                if self.held == FRAME_HEADER:
                    self.wanted = frame_length(<uint8_t*>self.partial.base)
                    segment_raise(segment_reserve(&self.partial, self.wanted))
            if self.wanted != 0 and self.held == self.wanted:
                self._pass(<uint8_t*>self.partial.base, sink)
                self.held = self.wanted = 0
                if not self.authenticated:
                    break
        self.left = n
        return 0

    cdef int _feed_records(self, const uint8_t* data, size_t n, FrameSink sink) except -1:
        cdef int status
        while True:
            status = self.opener.take(&data, &n)
            if status == RECORD_PART:
                self.left = 0
                return 0
            if status != RECORD_WHOLE:
                break
            self._feed(self.opener.payload, self.opener.size, sink)
        if status == RECORD_NO_MEMORY:
            raise MemoryError("no memory for a record that comes in")
        if status == RECORD_WRONG_SIZE:
            raise self.frame_error(
                f"record {self.opener.key.number} claims a size that is not 1 to {RECORD_LIMIT}: "
                "the stream was damaged, or somebody sits between the two services"
            )
        raise self.frame_error(
            f"record {self.opener.key.number} has a wrong code: it was damaged, repeated, or made "
            "by somebody who sits between the two services"
        )

    cdef Py_ssize_t feed(self, const uint8_t* data, size_t n, FrameSink sink) except -1:
        cdef unsigned long long before = self.frames
        if self.broken:
            raise self.frame_error("this stream was damaged before: close it and connect again")
        if self.exports != 0:
            raise BufferError("the rest of a frame is being received: release its buffer first")
        self.broken = True
        try:
            if self.opener is None:
                self._feed(data, n, sink)
            else:
                self._feed_records(data, n, sink)
        finally:
            sink.settle()
        self.broken = False
        return <Py_ssize_t>(self.frames - before)

    def cut(self, data, FrameSink sink not None):
        """Take in the next bytes of the stream; how many frames were complete with them."""
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.feed(<const uint8_t*>view.buf, view.len, sink)
        finally:
            PyBuffer_Release(&view)

    def cut_front(self, data, Py_ssize_t size, FrameSink sink not None):
        """The same with the first ``size`` bytes of a buffer that is used again and again."""
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if not 0 <= size <= view.len:
                raise ValueError(f"size must be 0 to {view.len}, not {size}")
            return self.feed(<const uint8_t*>view.buf, size, sink)
        finally:
            PyBuffer_Release(&view)

    # --- large frames, received straight into place

    @property
    def missing(self):
        """Bytes that a large frame still lacks, 0 unless they are many.

        When it is not 0, the cutter itself is a writable buffer of so many bytes: receive into
        it and call ``filled``.
        """
        if self.broken or self.opener is not None:
            return 0
        if self.wanted == 0 or self.wanted - self.held < LARGE:
            return 0
        return self.wanted - self.held

    def filled(self, Py_ssize_t size, FrameSink sink not None):
        """The first ``size`` bytes of the buffer have come; how many frames were complete: 0, 1."""
        if self.broken or self.opener or not 0 <= size <= <Py_ssize_t>(self.wanted - self.held):
            raise ValueError(f"{size} bytes were not asked for")
        if self.exports != 0:
            raise BufferError("release the buffer first")
        self.held += size
        if self.held != self.wanted or size == 0:
            return 0
        self.broken = True
        try:
            self._pass(<uint8_t*>self.partial.base, sink)
        finally:
            self.held = self.wanted = 0
            sink.settle()
        self.broken = False
        return 1

    def __getbuffer__(self, Py_buffer* view, int flags):
        cdef size_t n = 0
        if not self.broken and self.opener is None and self.wanted != 0:
            n = self.wanted - self.held
        if n == 0:
            raise BufferError("no large frame is coming in")
        PyBuffer_FillInfo(view, self, self.partial.base + self.held, <Py_ssize_t>n, 0, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer* view):
        self.exports -= 1

    def trim(self):
        """Give memory back that only a large frame needed; for a moment when little comes in."""
        if self.held == 0 and self.exports == 0:
            segment_release(&self.partial)
            segment_init(&self.partial)
        if self.opener is not None:
            self.opener.trim()

    def _check(self):
        """Raise AssertionError where the invariants of ``framing.pxd`` do not hold."""
        assert self.held <= self.partial.size, "C1"
        assert self.wanted == 0 or self.held < self.wanted, "C1"
        assert self.wanted != 0 or self.held < FRAME_HEADER or self.broken, "C1"
        assert self.wanted <= <size_t>self.limit, "C2"
