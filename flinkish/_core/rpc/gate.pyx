"""The replies that a connection holds back while its peer reads none; see ``rpc/gate.pxd``."""

from collections import deque

from flinkish._core.rpc.calls cimport Call
from flinkish._core.rpc.future cimport words


cdef class Resume(Letter):
    """Put the calls that were held back in front of what has come meanwhile."""

    cdef Gate gate

    cdef int deliver(self, Inbox inbox) except -1:
        cdef list calls = None if inbox.held is None else inbox.held.pop(self.gate, None)
        if calls is not None:
            if not inbox.held:
                inbox.held = None
            calls.reverse()
            inbox.batch.extend(calls)
        return 0


cdef class Gate:
    """Of one connection.  Threading: ``relieve`` and ``answer_late`` are for all threads."""

    def __init__(self, FrameBuffer out not None):
        self.out = out
        self.inboxes = {}
        self.late = deque()
        out.on_relief(self.relieve)

    cdef bint is_narrow(self) noexcept:
        return self.out.is_behind()

    cdef bint hold(self, Letter call, Inbox inbox) except -1:
        cdef list calls = None if inbox.held is None else inbox.held.get(self)
        if calls is not None:
            calls.append(call)
            return True
        if not self.out.hold_back():
            return False
        if inbox.held is None:
            inbox.held = {}
        inbox.held[self] = [call]
        self.inboxes[inbox] = True
        if not self.out.relief_due:
            self.relieve()
        return True

    cdef bint hold_answer(self, object call, object result) except -1:
        if not self.out.hold_back():
            return False
        self.late.append((call, result))
        if not self.out.relief_due:
            self.relieve()
        return True

    def relieve(self):
        """Little is left on the way out, or the connection has ended."""
        cdef Resume resume
        cdef Inbox inbox
        for inbox in list(self.inboxes):
            self.inboxes.pop(inbox, None)
            resume = Resume.__new__(Resume)
            resume.gate = self
            inbox.put(resume, True)
        if self.late:
            words().call_soon(self.answer_late)    # it encodes, which may take its time

    def answer_late(self):
        """Send what was held back, as far as there is room."""
        cdef Call call
        while self.late and not self.out.hold_back():
            try:
                call, result = self.late.popleft()
            except IndexError:    # another thread took the last one
                return
            try:
                call._answer(result)
            except BaseException as error:
                call._raised(call._inbox(), error)
