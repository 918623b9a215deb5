"""The reading of a socket, which may be lent; described in ``reading.pxd``."""

cimport cython
from cpython.exc cimport PyErr_SetFromErrno
from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport uint8_t, uint64_t

from flinkish._core.memory.futex cimport fork_generation, fork_watch
from flinkish._core.memory.segment cimport segment_raise

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

cdef extern from * nogil:
    """
    #include <poll.h>
    #include <sys/epoll.h>
    #include <sys/eventfd.h>
    #include <sys/socket.h>
    #include <unistd.h>

    static int flinkish_watch(int epoll, int fd, int in, int out) {
        /* What is lent is watched for room only, and by edges: errors and the end of the stream,
           which epoll reports in any case, shall not wake the I/O thread over and over. */
        struct epoll_event event = {0};
        event.events = (in ? EPOLLIN : EPOLLET) | (out ? EPOLLOUT : 0);
        event.data.fd = fd;
        return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
    }
    static int flinkish_wait(int fd, int bell, int ms) {
        struct pollfd both[2] = {{fd, POLLIN, 0}, {bell, POLLIN, 0}};
        int found = poll(both, 2, ms);
        return found < 0 ? -1 : (both[0].revents ? 1 : 0) | (both[1].revents ? 2 : 0);
    }
    """
    int flinkish_watch(int epoll, int fd, int input, int room)
    int flinkish_wait(int fd, int bell, int ms)
    int eventfd(unsigned int value, int flags)
    int eventfd_read(int fd, uint64_t* value)
    int eventfd_write(int fd, uint64_t value)
    int close(int fd)
    ssize_t recv(int fd, void* data, size_t size, int flags)
    enum:
        EFD_CLOEXEC
        EFD_NONBLOCK
        MSG_DONTWAIT

segment_raise(fork_watch())

cdef list _bells = []             # that nobody needs now: there are as many as were lent at a time
cdef uint32_t _generation = 0     # of forks: a child's bells are not its parent's

cdef enum:
    PIECE = 131072            # bytes that a borrower takes in at once; they lie on its stack


cdef class Reading:
    """Who reads a connection's socket.

    ``epoll`` is what the I/O thread waits with, and ``fd`` is registered there.  The connection says
    what ``read_large()`` (into the buffer of the cutter), ``take_control()`` (handle the frames that
    the cutter keeps), ``hear()``, ``closed()`` (the error of a stream that has ended) and
    ``fail_later(error)`` (end the connection, on the I/O thread) are.
    """

    def __cinit__(self, *args, **kwargs):
        self.bell = -1

    def __init__(self, connection, int epoll, int fd):
        self.connection = connection
        self.epoll = epoll
        self.fd = fd
        self.generation = fork_generation()

    # --- for the I/O thread

    def may_be_lent(self, FrameCutter cutter not None, FrameSink sink not None):
        """The peer has proved itself: the thread that reads passes frames to ``sink``."""
        self.cutter = cutter
        self.sink = sink
        self.may_lend = True

    def enter(self):
        """Begin to read; False while somebody has borrowed it."""
        cdef bint free
        with cython.critical_section(self):
            free = not self.busy and not self.failed
            self.busy = True
        return free

    def leave(self):
        """End a round of reading."""
        with cython.critical_section(self):
            self.busy = False

    def want_room(self, bint room):
        """Wait for room to write, or do so no more."""
        with cython.critical_section(self):
            if self.room != room and not self.over:
                self.room = room
                self._watch()

    def end(self):
        """Lend no more; False while it is lent, and then ``fail_later`` follows."""
        cdef bint mine
        with cython.critical_section(self):
            self.over = True
            mine = self.holder == 0
        return mine

    cdef int _watch(self) noexcept:
        """Tell the kernel; it refuses when the socket is gone, and then nobody waits for it."""
        return flinkish_watch(self.epoll, self.fd, self.holder == 0, self.room)

    # --- for the thread that borrows

    cdef bint borrow(self) except -1:
        cdef bint mine = False
        if not self.may_lend or self.generation != fork_generation():
            return False
        if self.busy:
            return False
        cdef int bell = self._take_bell()
        if bell < 0:
            return False    # no descriptor is free
        with cython.critical_section(self):
            if not self.busy and not self.over and not self.failed:
                mine = self.busy = True
                self.holder = PyThread_get_thread_ident()
                self.bell = bell
                self.loans += 1
                self._watch()
        if not mine:
            _bells.append(bell)
        return mine

    cdef int _take_bell(self) except -2:
        global _generation
        if _generation != fork_generation():
            _generation = fork_generation()
            while _bells:
                close(_bells.pop())
        try:
            return _bells.pop()
        except IndexError:
            return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)

    cdef bint read_on(self, int64_t nanos) except -1:
        cdef int found, ms = <int>((nanos + 999_999) // 1_000_000)
        cdef uint64_t rings
        with nogil:
            found = flinkish_wait(self.fd, self.bell, ms)
        if found > 0 and found & 2:
            with cython.critical_section(self):
                self.rung = False
                eventfd_read(self.bell, &rings)
        if found < 0 or not found & 1:
            return False
        try:
            self._take_in()
        except BaseException as error:
            self.failed = True
            self.error = error
            if not isinstance(error, Exception):
                raise
        return not self.failed

    cdef int _take_in(self) except -1:
        """Receive once, and pass on what came."""
        cdef uint8_t data[PIECE]
        cdef ssize_t size
        cdef FrameCutter cutter = self.cutter
        if cutter.missing:
            self.connection.read_large()
            return 0
        with nogil:
            size = recv(self.fd, data, PIECE, MSG_DONTWAIT)
        if size < 0:
            if errno == EAGAIN or errno == EINTR:
                return 0
            PyErr_SetFromErrno(OSError)
        if size == 0:
            raise self.connection.closed()
        self.silent = 0
        self.received += size
        self.connection.hear()
        cutter.feed(data, size, self.sink)
        if cutter.control:
            self.connection.take_control()
        return 0

    cdef int give_back(self) except -1:
        cdef bint ends
        cdef int bell
        cdef uint64_t rings
        with cython.critical_section(self):
            bell, self.bell = self.bell, -1
            if self.rung:
                self.rung = False
                eventfd_read(bell, &rings)
            self.busy = False
            self.holder = 0
            ends = self.over or self.failed
            if not ends:
                self._watch()
        _bells.append(bell)
        if ends:
            self.connection.fail_later(self.error)
        return 0

    cdef bint is_mine(self) noexcept:
        return self.holder == PyThread_get_thread_ident()

    cdef int ring(self) except -1:
        with cython.critical_section(self):
            if self.holder != 0 and not self.rung and not self.is_mine():
                self.rung = True
                eventfd_write(self.bell, 1)
        return 0
