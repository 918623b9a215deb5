"""Frames on their way out of the process: coalesced, bounded by byte credits."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcpy

from flinkish._core.rpc.framing cimport (
    FRAME_ASK, FRAME_CONTROL, FRAME_CREDIT, FRAME_HEADER, FRAME_OPEN, FRAME_OPEN_LIMIT, FRAME_TELL,
    Allowance, frame_write,
)
from flinkish._core.memory.segment cimport segment_reserve
from flinkish._core.memory.pthreads cimport mutex_enter, pthread_mutex_lock, pthread_mutex_unlock

include "frame_writer.pyx"

cdef uint32_t QUICK = 2           # flushes by senders between two visits of the I/O thread
cdef size_t HEAVY = 65536         # bytes from which a sender flushes in any case


cdef class FrameBuffer(FrameWriter):
    """The way out of one connection.

    Subclasses write: they say what ``_transmit`` (flush now), ``_ring`` (let the I/O thread
    flush), ``_await_credit(size, timeout_ms)`` (what is left of the time), ``_shut_error()`` and
    ``_large_error(kind, size, limit)`` are.

    ``window`` is how many bytes of requests the peer may have under way to us.
    """

    def __cinit__(self, *args, **kwargs):
        self.largest = 8192
        self.allowance = Allowance()

    # --- put

    cdef int _manner(self) noexcept nogil:
        """Who carries away what was just put; under the lock."""
        if self.flushing:
            return PUT_LEFT
        if not self.indirect and (self.quick < QUICK or self.filled >= HEAVY):
            self.quick += 1
            return PUT_FLUSH
        if self.rung:
            return PUT_LEFT
        self.rung = True
        return PUT_RING

    cdef int _put(
        self, uint8_t kind, uint8_t flags, uint16_t method, uint32_t endpoint, uint64_t call,
        const uint8_t* payload, size_t size, int manner,
    ) noexcept nogil:
        """Append a frame; a PutStatus.  Under the lock."""
        cdef size_t length = FRAME_HEADER + size
        cdef bint request = kind == FRAME_TELL or kind == FRAME_ASK
        if self.closed:
            return PUT_SHUT
        if request and self.credit <= 0:
            self.lacked += 1
            return PUT_NO_CREDIT
        if segment_reserve(&self.pending, self.filled + length) != 0:
            return PUT_FAILED
        frame_write(
            <uint8_t*>self.pending.base + self.filled, kind, flags, method, endpoint, call, size
        )
        if size != 0:
            memcpy(self.pending.base + self.filled + FRAME_HEADER, payload, size)
        self.filled += length
        self.put_frames += 1
        self.put_bytes += length
        if request:
            self.credit -= <int64_t>length
        return PUT_LEFT if manner == MANNER_APPEND else self._manner()

    cdef int _act(self, int status) except -1:
        if status == PUT_FLUSH:
            self._transmit()
        elif status == PUT_RING:
            self._ring()
        elif status == PUT_SHUT:
            raise self._shut_error()
        elif status == PUT_FAILED:
            raise MemoryError("no memory for a frame on its way out")
        return 0

    cdef int send_frame(
        self, uint8_t kind, uint8_t flags, uint16_t method, uint32_t endpoint, uint64_t call,
        const uint8_t* payload, Py_ssize_t size, bint flush, int64_t timeout_ms,
    ) except -1:
        cdef int status
        cdef int manner = MANNER_FLUSH if flush else MANNER_APPEND
        cdef int64_t largest = self.largest
        if kind == FRAME_OPEN:
            largest = min(largest, <int64_t>FRAME_OPEN_LIMIT)
        if size + FRAME_HEADER > largest:
            raise self._large_error(kind, size + FRAME_HEADER, largest)
        while True:
            if self._foreign():
                raise self._shut_error()
            if size < <Py_ssize_t>HEAVY:
                mutex_enter(&self.lock)
                status = self._put(kind, flags, method, endpoint, call, payload, size, manner)
                pthread_mutex_unlock(&self.lock)
            else:
                with nogil:
                    pthread_mutex_lock(&self.lock)
                    status = self._put(kind, flags, method, endpoint, call, payload, size, manner)
                    pthread_mutex_unlock(&self.lock)
            if status == PUT_LEFT:
                return 0
            if status != PUT_NO_CREDIT:
                return self._act(status)
            # What was appended without flushing must be on its way before this thread sleeps.
            self.kick()
            timeout_ms = self._await_credit(size + FRAME_HEADER, timeout_ms)

    def send(
        self, uint8_t kind, uint16_t method, uint32_t endpoint, uint64_t call, payload, *,
        uint8_t flags=0, bint flush=True, int64_t timeout_ms=-1,
    ):
        """Send a frame of the application; ``payload`` is anything with a buffer.

        Requests (TELL, ASK) wait in the calling thread while the receiver lags, at most
        ``timeout_ms`` ms, or as long as the connection allows when it is -1; all other kinds never
        wait.  With ``flush=False`` somebody must call ``flush`` later.

        Errors: FrameTooLargeError, ConnectionLostError, BackPressureError.
        """
        cdef Py_buffer view
        if kind == 0 or kind >= FRAME_CONTROL:
            raise ValueError(f"kind must be 1 to {FRAME_CONTROL - 1}, not {kind}")
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            self.send_frame(
                kind, flags, method, endpoint, call, <const uint8_t*>view.buf, view.len, flush,
                timeout_ms,
            )
        finally:
            PyBuffer_Release(&view)

    def put_control(self, uint8_t kind, bytes payload not None=b"", *, uint64_t call=0):
        """Append a frame of the connection itself; False when it is shut.  ``flush`` sends it."""
        cdef int status
        cdef const uint8_t* place = <const uint8_t*>PyBytes_AS_STRING(payload)
        if self._foreign():
            return False
        mutex_enter(&self.lock)
        status = self._put(
            kind, 0, 0, 0, call, place, PyBytes_GET_SIZE(payload), MANNER_APPEND)
        pthread_mutex_unlock(&self.lock)
        return status == PUT_LEFT

    cdef int kick(self) except -1:
        cdef int status = PUT_LEFT
        if self._foreign():
            raise self._shut_error()
        mutex_enter(&self.lock)
        if self.filled != 0 and not self.closed:
            status = self._manner()
        pthread_mutex_unlock(&self.lock)
        return self._act(status)

    def flush(self):
        """See to it that all that was put is carried away: now, or by the I/O thread."""
        self.kick()

    # --- credits

    def open(self, *, int64_t largest, int64_t credit, int64_t window):
        """Take the terms of the handshake; requests can be sent from here on."""
        if self._foreign():
            return
        mutex_enter(&self.lock)
        self.largest = largest
        self.credit = credit
        self.window = window
        self.ample = window
        self.allowance.grant(window)
        pthread_mutex_unlock(&self.lock)

    def grant(self, uint64_t size):
        """The peer has consumed ``size`` bytes of requests."""
        if self._foreign():
            return
        mutex_enter(&self.lock)
        # A peer that lies about what it consumed harms itself alone; it must not wrap our count.
        self.credit = min(self.credit + <int64_t>min(size, <uint64_t>1 << 40), <int64_t>1 << 50)
        pthread_mutex_unlock(&self.lock)

    @property
    def has_credit(self):
        """Whether a request would be taken now."""
        cdef bint has
        if self._foreign():
            return True    # as of a shut buffer: the thread that puts is told why it is refused
        mutex_enter(&self.lock)
        has = self.credit > 0 or self.closed
        pthread_mutex_unlock(&self.lock)
        return has

    cdef int _credit_due(self) noexcept nogil:
        """Put a CREDIT frame if it is worth one; whether it was put.  Under the lock."""
        cdef int64_t owed = self.owed
        if owed * 4 < self.window or owed == 0 or self.closed:
            return 0
        if <int64_t>(self.filled + self.taken - self.sent) > self.window:
            return 0
        if self._put(FRAME_CREDIT, 0, 0, 0, <uint64_t>owed, NULL, 0, MANNER_APPEND) != PUT_LEFT:
            return 0
        self.owed = 0
        self.allowance.grant(owed)
        return 1

    cdef int give_back(self, int64_t size) except -1:
        cdef int status = PUT_LEFT
        if self._foreign():
            return 0
        mutex_enter(&self.lock)
        self.owed += size
        if self._credit_due():
            status = self._manner()
        pthread_mutex_unlock(&self.lock)
        return self._act(status)

    def consumed(self, int64_t size):
        """A turn has taken requests with ``size`` bytes, headers included; from any thread."""
        self.give_back(size)

    # --- flush

    def set_indirect(self, bint indirect):
        """Let nobody but the I/O thread flush."""
        self.indirect = indirect

    def hear(self):
        """The I/O thread has heard from the peer (B5)."""
        self.quick = 0    # a guess that may come late: no lock

    def visit(self):
        """The I/O thread has come to flush (B4, B5)."""
        if self._foreign():
            return
        mutex_enter(&self.lock)
        self.rung = False
        self.quick = 0
        pthread_mutex_unlock(&self.lock)

    @property
    def counts(self):
        """(frames, bytes, waits for credit) so far."""
        return self.put_frames, self.put_bytes, self.lacked
