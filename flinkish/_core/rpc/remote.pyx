# cython: nonecheck=True
"""Calls that cross a connection; described in ``rpc/remote.pxd``."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from flinkish._core.rpc.framing cimport (
    FRAME_ASK, FRAME_ERROR, FRAME_OPEN, FRAME_OPENED, FRAME_REFUSED, FRAME_REPLY, FRAME_TELL,
)
from flinkish._core.memory.futex cimport fork_generation, fork_watch, load_word
from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.rpc.calls cimport encode
from flinkish._core.rpc.future cimport (
    FUTURE_CANCELLED, FUTURE_DONE, FUTURE_FAILED, FUTURE_PENDING, Deadlines, monotonic_nanos,
    runs_no_callbacks, wake_all, wakes_later, words,
)
from flinkish._core.rpc.inbox cimport RunQueue
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, uint8_t

include "gate.pyx"

segment_raise(fork_watch())

cdef int64_t NEVER = INT64_MAX
cdef int64_t SLICE = 500_000_000      # ns of one wait, so that no signal stays unnoticed longer


cdef class Link:
    """An endpoint that the peer has opened, with the peer's method numbers."""

    def __init__(self, Session session not None, Inbox inbox not None, list names not None,
                 list procedures not None, token):
        self.session = session
        self.inbox = inbox
        self.names = names
        self.procedures = procedures
        self.token = token


cdef class Session(FrameSink):
    """One side of a connection.  ``owner`` has the slow half, in Python.

    Threading: frames come in on the I/O thread; all else is for all threads.
    """

    def __init__(self, connection, owner):
        self.connection = connection
        self.out = connection
        self.owner = owner
        self.links = []
        self.asks = {}
        self.due = []
        self.woken = []
        self.reading = connection.reading
        self.gate = Gate(self.out)

    def __repr__(self):
        return f"<Session over {self.connection!r}, {len(self.asks)} asks under way>"

    # --- frames

    cdef int accept(self, Frame* frame) except -1:
        if frame.kind == FRAME_ASK or frame.kind == FRAME_TELL:
            return self._request(frame)
        if frame.kind == FRAME_REPLY or frame.kind == FRAME_OPENED:
            return self._answer(frame, True)
        if frame.kind == FRAME_ERROR or frame.kind == FRAME_REFUSED:
            return self._answer(frame, False)
        payload = PyBytes_FromStringAndSize(<const char*>frame.payload, frame.size)
        if frame.kind == FRAME_OPEN:
            self.owner.on_open(self, frame.call, payload)
            return 0
        raise words().unknown_frame(frame.kind, repr(self.connection))

    cdef int settle(self) except -1:
        cdef RunQueue queue
        while self.due:
            queue = <RunQueue>self.due.pop()
            queue.ring()
        return wake_all(self.woken)

    cdef int _request(self, Frame* frame) except -1:
        cdef RemoteCall call
        cdef Link link
        if frame.endpoint >= <uint32_t>len(self.links):
            raise words().unknown_link(frame.endpoint, repr(self.connection))
        link = <Link>self.links[frame.endpoint]
        call = RemoteCall.__new__(RemoteCall)
        call.link = link
        call.call = frame.call
        call.length = frame.length
        if frame.method >= <uint16_t>len(link.procedures):
            raise words().unknown_link(frame.endpoint, repr(self.connection))
        call.procedure = <Procedure>link.procedures[frame.method]
        if call.procedure is None:
            self.out.give_back(frame.length)
            return call._fail(words().no_method(link.inbox, link.names[frame.method]))
        call.arguments = PyBytes_FromStringAndSize(<const char*>frame.payload, frame.size)
        if link.inbox.put(call, False):
            self.due.append(link.inbox.queue)
        return 0

    cdef int _answer(self, Frame* frame, bint good) except -1:
        cdef RemoteAsk ask
        cdef object payload, outcome
        cdef uint32_t state
        cdef uint64_t number = frame.call
        cdef object found = self.asks.pop(number, None)
        if found is None:
            return 0    # it was given up, or its time was over
        ask = <RemoteAsk>found
        ask.call = 0
        payload = PyBytes_FromStringAndSize(<const char*>frame.payload, frame.size)
        if good and ask.procedure.foreign_result:
            words().call_apart(ask.take, payload)    # code of users does not run here
            return 0
        outcome = ask.read(payload, good, &state)
        wakes_later(self.woken)
        runs_no_callbacks(True)
        try:
            ask.settle(state, outcome)
        finally:
            runs_no_callbacks(False)
            wakes_later(None)
        return 0

    # --- links and asks

    def add_link(self, Link link not None):
        """The number by which the peer's calls name it."""
        self.links.append(link)
        return len(self.links) - 1

    cdef uint64_t enter(self, RemoteAsk ask) except 0:
        cdef object lost
        cdef uint64_t number = 0
        with cython.critical_section(self):
            lost = self.lost
            if lost is None:
                self.last_call += 1
                number = self.last_call
        if lost is not None:
            raise words().peer_lost(lost, ask.port.address, ask.procedure.name, 0)
        ask.session = self
        ask.call = number
        self.asks[number] = ask
        if self.lost is not None and self.asks.pop(number, None) is not None:
            ask.call = 0
            raise words().peer_lost(self.lost, ask.port.address, ask.procedure.name, 0)
        if load_word(&ask.state) != FUTURE_PENDING:    # `ended` may have come before `call` was set
            self.asks.pop(number, None)
            ask.call = 0
        return number

    def lose(self, error):
        """The connection is over: fail what is under way."""
        cdef RemoteAsk ask
        with cython.critical_section(self):
            self.lost = error
        self.settle()    # an error in `accept` may have left rings undone
        for number in list(self.asks):
            found = self.asks.pop(number, None)
            if found is not None:
                ask = <RemoteAsk>found
                ask.call = 0
                ask.settle(FUTURE_FAILED, words().peer_lost(
                    error, ask.port.address, ask.procedure.name, ask.age_ms()))
        self.links = []
        self.gate.relieve()

    @property
    def under_way(self):
        """Asks without an answer yet."""
        return len(self.asks)

    def open(self, Port port not None, Procedure procedure not None, bytes payload not None):
        """Send an OPEN; the future ends with what ``procedure`` decodes of the answer."""
        cdef RemoteAsk ask = RemoteAsk.__new__(RemoteAsk)
        ask.port = port
        ask.procedure = procedure
        cdef uint64_t number
        port.deadlines.start(ask, port.timeout_ms)
        try:
            number = self.enter(ask)
            self.out.send_frame(
                FRAME_OPEN, 0, 0, 0, number, <const uint8_t*>PyBytes_AS_STRING(payload),
                PyBytes_GET_SIZE(payload), True, -1)
        except Exception as error:
            ask.settle(FUTURE_FAILED, error)
        return ask

    def answer(self, uint64_t call, bytes payload not None, bint good):
        """Answer an OPEN."""
        self.out.send_frame(
            FRAME_OPENED if good else FRAME_REFUSED, 0, 0, 0, call,
            <const uint8_t*>PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload), True, -1)


cdef class RemoteCall(Call):
    """A call from the other side of a connection."""

    cdef object _token(self):
        return self.link.token

    cdef Inbox _inbox(self):
        return self.link.inbox

    cdef int abandon(self, Inbox inbox) except -1:
        if inbox.home.is_closed:
            return 0    # the whole service ends: its goodbye, which is about to come, says more
        return Call.abandon(self, inbox)

    cdef bint given_up(self) except -1:
        return self.link.session.lost is not None

    cdef bint _is_tell(self) noexcept:
        return self.call == 0

    cdef int deliver(self, Inbox inbox) except -1:
        cdef Gate gate = self.link.session.gate
        if (inbox.held is not None or gate.is_narrow()) and gate.hold(self, inbox):
            return 0
        self.link.session.out.give_back(self.length)
        return Call.deliver(self, inbox)

    cdef Reading reading(self):
        return self.link.session.reading if self.call != 0 else None

    cdef int refuse(self, Inbox inbox) except -1:
        self.link.session.out.give_back(self.length)
        return Call.refuse(self, inbox)

    cdef int _answer(self, object result) except -1:
        cdef Gate gate = self.link.session.gate
        if gate.is_narrow() and gate.hold_answer(self, result):
            return 0
        try:
            payload = <bytes?>self.procedure.encode_result(result)
        except BaseException as error:
            return self._fail(words().unsendable_result(self.procedure, result, error))
        try:
            self.link.session.out.send_frame(
                FRAME_REPLY, 0, 0, 0, self.call, <const uint8_t*>PyBytes_AS_STRING(payload),
                PyBytes_GET_SIZE(payload), True, -1)
        except Exception as error:
            return self._fail(words().unsent_result(self.procedure, error))
        return 0

    cdef int _fail(self, object error) except -1:
        cdef bint brief
        if self.call == 0:
            return 0
        for brief in range(2):
            try:
                payload = <bytes?>words().encode_error(error, brief)
            except BaseException:    # no stack was left to call it
                payload = <bytes?>words().INDESCRIBABLE
            try:
                self.link.session.out.send_frame(
                    FRAME_ERROR, 0, 0, 0, self.call, <const uint8_t*>PyBytes_AS_STRING(payload),
                    PyBytes_GET_SIZE(payload), True, -1)
                return 0
            except Exception as unsent:
                words().answer_lost(self.link.inbox, self.procedure_name(), unsent)
        return 0

    def procedure_name(self):
        """Name of the method, if the endpoint has it."""
        return "?" if self.procedure is None else self.procedure.name


cdef class RemoteAsk(AskFuture):
    """The future of an ask to another process."""

    cdef int ended(self) except -1:
        cdef object number
        AskFuture.ended(self)
        if self.call != 0:
            number = self.call
            self.call = 0
            self.session.asks.pop(number, None)
        if self.reading is not None:
            self.reading.ring()
        return 0

    cdef int while_waiting(self, int64_t until) except -1:
        cdef Session session = self.session
        cdef int64_t nanos
        if session is None or self.call == 0 or self.call != session.last_call:
            return 0
        with cython.critical_section(self):
            self.reading = session.reading
        if not session.reading.borrow():
            self.reading = None
            return 0
        try:
            while load_word(&self.state) == FUTURE_PENDING and not session.reading.failed:
                nanos = SLICE if until == NEVER else min(until - monotonic_nanos(), SLICE)
                if nanos <= 0:
                    break
                if not session.reading.read_on(nanos):
                    self.look_at_time()
                PyErr_CheckSignals()
        finally:
            self.reading = None
            session.reading.give_back()
        return 0

    def age_ms(self):
        """For how long it has been under way."""
        return words().age_ms(self.deadline_ms, self.timeout_ms)


cdef class Route:
    """A link that was opened: the number by which calls over ``session`` name it."""

    def __init__(self, Session session not None, uint32_t link, frozenset absent not None):
        self.session = session
        self.link = link
        self.absent = absent


cdef class Way:
    """The way to an endpoint of another process.

    When its connection is lost, ``again(way)`` is called by the next call, which fails
    nevertheless; it is to call ``found`` or ``not_found`` some time.
    """

    def __init__(self, Route route not None, again):
        self.route = route
        self.again = again

    def found(self, Route route not None):
        """Calls take this route from now on."""
        self.route = route
        self.searching = False

    def not_found(self, bint for_ever):
        """There is no other route now; the next call looks again, unless there will be none."""
        if for_ever:
            self.again = None
        self.searching = False

    cdef int search(self) except -1:
        cdef bint first
        with cython.critical_section(self):
            first = not self.searching and self.again is not None
            self.searching = True
        if first:
            self.again(self)
        return 0


cdef class RemotePort(Port):
    """Sends to an endpoint at the other side of a connection."""

    def __init__(self, Way way not None, home, str address not None, str hostname not None, token,
                 int64_t timeout_ms, Deadlines deadlines not None, bint capture=False):
        Port.__init__(self, home, address, hostname, token, timeout_ms, deadlines, capture)
        self.way = way
        self.generation = fork_generation()

    def with_timeout(self, int64_t timeout_ms):
        """The same with another time limit."""
        return RemotePort(self.way, self.home, self.address, self.hostname, self.token,
                          timeout_ms, self.deadlines, self.capture)

    cdef Route _ready(self, Procedure procedure):
        cdef Route route = self.way.route
        if self.generation != fork_generation():
            raise words().forked(self)
        if procedure.local:
            raise words().only_local(procedure, self.address)
        if route.absent and procedure.number in route.absent:
            raise words().absent_method(procedure, self.address)
        if route.session.lost is not None:
            self.way.search()
        return route

    cdef int _send(self, Route route, Procedure procedure, int kind, uint64_t call,
                   object payload, int64_t millis) except -1:
        cdef bytes data = <bytes?>payload
        return route.session.out.send_frame(
            kind, 0, procedure.number, route.link, call, <const uint8_t*>PyBytes_AS_STRING(data),
            PyBytes_GET_SIZE(data), True, millis)

    cdef int _tell(self, Procedure procedure, tuple arguments) except -1:
        cdef Route route = self._ready(procedure)
        payload = encode(procedure, arguments, self.address)
        try:
            self._send(route, procedure, FRAME_TELL, 0, payload, -1)
        except Exception as error:
            if words().is_own_fault(error):
                raise
            words().untold(self.home, self.address, procedure.name, error)
        return 0

    cdef AskFuture _ask(self, Procedure procedure, tuple arguments, int64_t millis, bint wake):
        cdef RemoteAsk ask = RemoteAsk.__new__(RemoteAsk)
        cdef Route route = self._ready(procedure)
        cdef uint64_t number
        payload = encode(procedure, arguments, self.address)
        ask.port = self
        ask.procedure = procedure
        if self.capture:
            ask.place = words().place()
        self.deadlines.start(ask, millis)
        try:
            number = route.session.enter(ask)    # `ask.call` is none when its time is over already
            self._send(route, procedure, FRAME_ASK, number, payload, millis)
        except Exception as error:
            if words().is_own_fault(error):
                ask.settle(FUTURE_CANCELLED, None)
                raise
            ask.settle(FUTURE_FAILED, words().unasked(self.address, procedure.name, error))
        return ask
