"""A door for tests and benchmarks into connections: sinks that answer, or count answers."""

cimport cython

from flinkish._core.rpc.frame_buffer cimport FrameBuffer
from flinkish._core.rpc.framing cimport FRAME_ASK, FRAME_REPLY, FRAME_TELL, Frame, FrameSink


@cython.final
cdef class EchoSink(FrameSink):
    """Answers every ASK with its own payload, as a turn would: all replies, then one flush."""

    def __init__(self, FrameBuffer way_back not None):
        self.way_back = way_back

    cdef int accept(self, Frame* frame) except -1:
        if frame.kind == FRAME_ASK:
            self.way_back.send_frame(
                FRAME_REPLY, frame.flags, frame.method, frame.endpoint, frame.call, frame.payload,
                frame.size, False, -1,
            )
        if frame.kind == FRAME_ASK or frame.kind == FRAME_TELL:
            self.taken += frame.length
            self.requests += 1
        return 0

    cdef int settle(self) except -1:
        if self.taken != 0:
            self.way_back.give_back(self.taken)
            self.taken = 0
            self.way_back.kick()
        return 0


@cython.final
cdef class ReplySink(FrameSink):
    """Counts what comes in, and releases a held lock when there are ``wanted``."""

    def __init__(self, lock):
        self.lock = lock
        self.wanted = -1

    def want(self, long long replies):
        """Release the lock when so many have come in all; True when they have."""
        if self.replies >= replies:
            return True
        self.wanted = replies
        return False

    cdef int accept(self, Frame* frame) except -1:
        self.replies += 1
        return 0

    cdef int settle(self) except -1:
        if self.wanted >= 0 and self.replies >= self.wanted:
            self.wanted = -1
            self.lock.release()
        return 0
