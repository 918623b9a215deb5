"""The flusher's half of the way out: from what was put to what a socket takes."""

from cpython.buffer cimport PyBuffer_FillInfo

from flinkish._core.rpc.framing cimport RECORD_WHOLE, RecordSealer, frames_unsent
from flinkish._core.memory.futex cimport fork_generation, fork_watch
from flinkish._core.memory.segment cimport segment_init, segment_raise, segment_release
from flinkish._core.memory.pthreads cimport (
    mutex_enter, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_unlock,
)

cdef extern from "<sys/socket.h>" nogil:
    ssize_t send(int fd, const void* data, size_t size, int flags)
    enum:
        MSG_NOSIGNAL
        MSG_DONTWAIT

segment_raise(fork_watch())

cdef size_t KEEP = 262144         # bytes of memory that an empty buffer keeps at most


cdef inline void _shrink(Segment* segment) noexcept nogil:
    if segment.size > KEEP:
        segment_release(segment)
        segment_init(segment)


cdef class FrameWriter:
    """Carries away what was put; its subclass puts."""

    def __cinit__(self, *args, **kwargs):
        segment_init(&self.pending)
        segment_init(&self.outgoing)
        self.generation = fork_generation()
        segment_raise(pthread_mutex_init(&self.lock, NULL))

    def __dealloc__(self):
        segment_release(&self.pending)
        segment_release(&self.outgoing)
        pthread_mutex_destroy(&self.lock)

    cdef bint _foreign(self) noexcept:
        return self.generation != fork_generation()

    cdef int _credit_due(self) noexcept nogil:
        return 0

    def seal(self, bytes key not None):
        """Let all that is put from here on go out in records; before other threads put."""
        cdef RecordSealer sealer = RecordSealer(key)
        if self._foreign():
            return
        mutex_enter(&self.lock)
        self.bare = self.filled + self.taken - self.sent
        self.sealer = sealer
        pthread_mutex_unlock(&self.lock)

    cdef int _take(self) noexcept nogil:
        """Take what is pending for outgoing; whether there was any.  Under the lock."""
        cdef Segment spare = self.outgoing
        self.sent = 0
        self.taken = 0
        if self.filled == 0 and self._credit_due() == 0:
            return 0
        self.outgoing = self.pending
        self.taken = self.filled
        self.pending = spare
        self.filled = 0
        return 1

    cdef const uint8_t* _chunk(self, size_t* size) noexcept nogil:
        if self.sealer is None:
            size[0] = self.taken - self.sent
        elif self.bare != 0:
            size[0] = min(self.bare, self.taken - self.sent)
        else:
            size[0] = self.sealer.size - self.sealer.sent
            return <uint8_t*>self.sealer.records.base + self.sealer.sent
        return <uint8_t*>self.outgoing.base + self.sent

    cdef int _load(self) except -1:
        if self.sealer is None or self.bare != 0:
            return 0
        cdef const uint8_t* place = <uint8_t*>self.outgoing.base + self.sent
        if self.sealer.load(place, self.taken - self.sent) != RECORD_WHOLE:
            self.shut()    # what was put cannot go out, and nothing may go out instead of it
            self.release()
            raise MemoryError("no memory for a record on its way out")
        return 0

    def begin(self):
        """Become the flusher; False when there is one, or nothing to do."""
        cdef bint mine = False
        if self._foreign():
            return False
        mutex_enter(&self.lock)
        if not self.flushing and not self.closed:
            mine = self.flushing = self._take()
        pthread_mutex_unlock(&self.lock)
        if mine:
            self._load()
        return mine

    def carry(self, int fd):
        """Become the flusher, if there is none, and write once to the socket ``fd``.

        1: the caller is the flusher still, and there is more to write, or the socket is full, or
        broken, which the next write tells.  0: it is not.  -1: nor is it, and the buffer was shut
        meanwhile.
        """
        cdef ssize_t size
        cdef size_t most = 0
        if not self.begin():
            return 0
        cdef const uint8_t* chunk = self._chunk(&most)
        with nogil:
            size = send(fd, chunk, most, MSG_NOSIGNAL | MSG_DONTWAIT)
        if size < 0 or self.advance(size):
            return 1
        return -1 if self.closed else 0

    def advance(self, size_t size):
        """The first ``size`` bytes of the buffer are written; whether there are more.

        When there are none, or the buffer is shut, the caller is the flusher no longer.
        """
        cdef bint more = True
        cdef size_t most = 0
        self._chunk(&most)
        if size > most or self.exports != 0:
            raise ValueError(f"{size} bytes cannot have been written")
        if self.sealer is None:
            self.sent += size
        elif self.bare != 0:
            self.sent += size
            self.bare -= size
        else:
            self.sealer.sent += size
            if size == most:
                self.sent += self.sealer.payload
        if self.closed or self.sent == self.taken:
            mutex_enter(&self.lock)
            if self.closed or not self._take():
                more = self.flushing = False
            pthread_mutex_unlock(&self.lock)
        if more and size == most:
            self._load()
        if self.relief_due:
            self._relieve()
        return more

    # --- who fills it faster than the peer reads

    def on_relief(self, call):
        """Call this when little is left of what others held back for."""
        self.relieved = call

    cdef bint is_behind(self) noexcept:
        return self.filled + self.taken - self.sent > self.ample

    cdef bint hold_back(self) except -1:
        cdef bint lags
        if self._foreign():
            return False
        mutex_enter(&self.lock)
        lags = not self.closed and self.is_behind()
        if lags:
            self.relief_due = True
        pthread_mutex_unlock(&self.lock)
        return lags

    cdef int _relieve(self) except -1:
        cdef bint due
        mutex_enter(&self.lock)
        due = self.relief_due and (
            self.closed or (self.filled + self.taken - self.sent) * 2 <= self.ample)
        if due:
            self.relief_due = False
        pthread_mutex_unlock(&self.lock)
        if due:
            self.relieved()
        return 0

    def __getbuffer__(self, Py_buffer* view, int flags):
        cdef size_t size = 0
        cdef const uint8_t* chunk = self._chunk(&size)
        PyBuffer_FillInfo(view, self, <void*>chunk, <Py_ssize_t>size, 1, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer* view):
        self.exports -= 1

    # --- the end

    def shut(self):
        """Take in no more; False while somebody still flushes, who will notice in ``advance``."""
        cdef bint idle
        if self._foreign():    # a thread that is not here may hold the lock, and flushes no more
            self.closed = True
            return True
        mutex_enter(&self.lock)
        self.closed = True
        idle = not self.flushing
        pthread_mutex_unlock(&self.lock)
        return idle

    def release(self):
        """The flusher gives up: the connection is gone."""
        if self._foreign():
            return
        mutex_enter(&self.lock)
        self.flushing = False
        pthread_mutex_unlock(&self.lock)

    def unsent(self, uint8_t kind):
        """How many frames of a kind were put and not written as a whole; of a shut buffer.

        Those that somebody is just writing do not count.
        """
        cdef size_t count = 0
        if self._foreign():
            return 0
        mutex_enter(&self.lock)
        if not self.flushing:
            count = frames_unsent(<uint8_t*>self.outgoing.base, self.taken, self.sent, kind)
        count += frames_unsent(<uint8_t*>self.pending.base, self.filled, 0, kind)
        pthread_mutex_unlock(&self.lock)
        return count

    @property
    def is_shut(self):
        """Whether nothing can be put: it was shut, or is that of another process."""
        return self.closed or self._foreign()

    @property
    def backlog(self):
        """Bytes that were put and not written yet."""
        return self.filled + self.taken - self.sent

    def trim(self):
        """Give memory back that only a rush needed; for a moment when little goes out."""
        if self._foreign():
            return
        mutex_enter(&self.lock)
        if not self.flushing and self.exports == 0 and self.filled == 0:
            _shrink(&self.pending)
            _shrink(&self.outgoing)
            if self.sealer is not None:
                self.sealer.trim()
        pthread_mutex_unlock(&self.lock)
