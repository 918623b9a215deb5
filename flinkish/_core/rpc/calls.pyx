# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""Calls of endpoints; described in ``rpc/calls.pxd``."""

from types import CoroutineType

from flinkish._core.memory.futex cimport load_word
from flinkish._core.rpc.future cimport (
    FUTURE_DONE, FUTURE_FAILED, FUTURE_PENDING, RpcFuture, runs_no_callbacks, words,
)
from flinkish._core.rpc.inbox cimport LIFE_STARTED, LIFE_TERMINATING, current_inbox, unraisable

include "task.pyx"

cdef class Procedure:
    """A method of a gateway.

    ``kind`` is 0 for a tell, 1 for an ask, 2 for an ask that blocks.  The four functions turn a
    tuple of arguments, or a result, into bytes and back.  With ``foreign_result`` the last one runs
    code of users, and is called on no thread that others depend on.
    """

    def __init__(self, str name not None, str gateway not None, int number, int kind, bint local,
                 encode_arguments, decode_arguments, encode_result, decode_result,
                 bint foreign_result=False):
        self.name = name
        self.gateway = gateway
        self.number = number
        self.kind = kind
        self.local = local
        self.encode_arguments = encode_arguments
        self.decode_arguments = decode_arguments
        self.encode_result = encode_result
        self.decode_result = decode_result
        self.foreign_result = foreign_result

    def __repr__(self):
        return f"<Procedure {self.gateway}.{self.name} #{self.number}>"


# --- in the turn

cdef object admission(Inbox inbox, object token, str method):
    if inbox.life != LIFE_STARTED and inbox.life != LIFE_TERMINATING:
        return words().not_started(inbox, method)
    if token is not inbox.token:
        if token is None or inbox.token is None:
            return words().fence_mismatch(inbox, token, method)
        return words().wrong_token(inbox, repr(token), method)
    return None


cdef object invoke(Inbox inbox, Procedure procedure, tuple arguments):
    return getattr(inbox.target, procedure.name)(*arguments)


cdef object encode(Procedure procedure, tuple arguments, str address):
    try:
        return procedure.encode_arguments(arguments)
    except Exception as error:
        raise words().unsendable(procedure, address, error)


cdef tuple decode(Procedure procedure, object payload):
    try:
        return procedure.decode_arguments(payload)
    except BaseException as error:
        raise words().undecodable(procedure, error)


cdef bint is_future(object result) except -1:
    cdef type kind = type(result)
    if (result is None or kind is int or kind is str or kind is bytes or kind is float
            or kind is bool or kind is list or kind is dict or kind is tuple):
        return False
    return isinstance(result, RpcFuture) or hasattr(kind, "add_done_callback")


cdef class Call(Letter):
    """A call of a method of an endpoint; a base class."""

    cdef object _token(self):
        return None

    cdef bint _is_tell(self) noexcept:
        return True

    cdef int _answer(self, object result) except -1:
        return 0

    cdef int _fail(self, object error) except -1:
        return 0

    cdef Inbox _inbox(self):
        return None

    cdef int deliver(self, Inbox inbox) except -1:
        cdef object result, error
        cdef Procedure procedure = self.procedure
        try:
            error = admission(inbox, self._token(), procedure.name)
            if error is not None:
                return self._turn_away(inbox, error)
            if type(self.arguments) is tuple:
                result = invoke(inbox, procedure, <tuple>self.arguments)
            else:
                result = invoke(inbox, procedure, decode(procedure, self.arguments))
            if type(result) is CoroutineType:
                result = words().start_coroutine(
                    inbox, procedure.name, result, self._is_tell())
            if self._is_tell():
                return 0
            if is_future(result):
                self._answer_later(inbox, result)
            else:
                self._answer(result)
        except BaseException as raised:
            self._raised(inbox, raised)
        return 0

    cdef int _raised(self, Inbox inbox, object error) except -1:
        """A call failed; whatever its error is, the endpoint goes on.

        As in Flink's PekkoInvocationHandler.
        """
        try:
            if self._is_tell():
                words().tell_failed(inbox, self.procedure.name, error)
            else:
                self._fail(error)
        except BaseException as another:    # of a log handler
            unraisable(another)
        return 0

    cdef int _answer_later(self, Inbox inbox, object result) except -1:
        if type(self.arguments) is tuple:
            self.arguments = ()     # of no more use, but maybe large
        else:
            self.arguments = b""
        inbox.keep_pending(self)
        try:
            result.add_done_callback(self._forward)
        except BaseException:
            inbox.take_pending(self)
            raise
        return 0

    def _forward(self, result):
        """Answer with what became of the future that the method returned."""
        cdef Inbox inbox = self._inbox()
        if not inbox.take_pending(self):
            return    # the endpoint has ended before
        try:
            if result.cancelled():
                self._fail(words().cancelled(result))
                return
            error = result.exception()
            if error is not None:
                self._fail(error)
            else:
                self._answer(result.result())
        except BaseException as raised:
            self._raised(inbox, raised)

    cdef int abandon(self, Inbox inbox) except -1:
        return self._fail(words().unanswered(inbox, self.procedure.name))

    cdef int _turn_away(self, Inbox inbox, object error) except -1:
        words().dead_letter(inbox, self.procedure.name, error, self._is_tell())
        return self._fail(error)

    cdef int refuse(self, Inbox inbox) except -1:
        return self._turn_away(inbox, words().unreachable(inbox, self.procedure.name))


cdef class LocalCall(Call):
    """A call from this process."""

    cdef object _token(self):
        return self.port.token

    cdef bint _is_tell(self) noexcept:
        return self.future is None

    cdef Inbox _inbox(self):
        return (<LocalPort>self.port).inbox

    cdef bint given_up(self) except -1:
        return self.future.state != FUTURE_PENDING

    cdef int _answer(self, object result) except -1:
        cdef object payload
        if type(self.arguments) is tuple:
            self.future.settle(FUTURE_DONE, result)
            return 0
        try:
            payload = self.procedure.encode_result(result)
        except BaseException as error:
            return self._fail(words().unsendable_result(self.procedure, result, error))
        try:
            result = self.procedure.decode_result(payload)
        except BaseException as error:
            self.future.settle(FUTURE_FAILED, words().unreadable_result(
                self.procedure, self.port.address, error))
            return 0
        self.future.settle(FUTURE_DONE, result)
        return 0

    cdef int _fail(self, object error) except -1:
        if self.future is None:
            return 0
        if type(self.arguments) is not tuple:
            error = words().remote_error(words().encode_error(error), self.procedure.name)
        self.future.settle(FUTURE_FAILED, error)
        return 0


# --- at the caller

cdef class AskFuture(TurnFuture):
    """The future of an ask."""

    cdef object late_error(self):
        return words().ask_timed_out(
            self.port.address, self.procedure.name, self.timeout_ms, self.place
        )

    cdef object awaited(self):
        return self.procedure.name

    cdef object read(self, bytes payload, bint good, uint32_t* state):
        """The result and the state with which the answer of another process ends this."""
        state[0] = FUTURE_FAILED
        try:
            if not good:
                return words().remote_error(payload, self.procedure.name)
            result = self.procedure.decode_result(payload)
        except BaseException as error:    # of a decoder of the user, too: it is this ask's alone
            return words().unreadable_result(self.procedure, self.port.address, error)
        state[0] = FUTURE_DONE
        return result

    def take(self, bytes payload not None):
        """Read a result and end with it; callbacks run on their own threads."""
        cdef uint32_t state
        cdef object outcome = self.read(payload, True, &state)
        runs_no_callbacks(True)
        try:
            self.settle(state, outcome)
        finally:
            runs_no_callbacks(False)

    @property
    def method(self):
        """Name of the method that was asked."""
        return self.procedure.name

    @property
    def address(self):
        """Address of the endpoint that was asked."""
        return self.port.address


cdef class Port:
    """Where a gateway sends its calls."""

    def __init__(self, home, str address not None, str hostname not None, token,
                 int64_t timeout_ms, Deadlines deadlines not None, bint capture=False):
        self.home = home
        self.address = address
        self.hostname = hostname
        self.token = token
        self.timeout_ms = timeout_ms
        self.deadlines = deadlines
        self.capture = capture

    cdef AskFuture _ask(self, Procedure procedure, tuple arguments, int64_t millis, bint wake):
        return None

    cdef int _tell(self, Procedure procedure, tuple arguments) except -1:
        return 0

    cdef int64_t _millis(self, object timeout) except -1:
        return self.timeout_ms if timeout is None else words().millis(timeout)

    def tell(self, Procedure procedure not None, tuple arguments not None, timeout=None):
        """Send and forget."""
        self._tell(procedure, arguments)

    def ask(self, Procedure procedure not None, tuple arguments not None, timeout=None):
        """Send; the future gets the answer."""
        return self._ask(procedure, arguments, self._millis(timeout), True)

    def call(self, Procedure procedure not None, tuple arguments not None, timeout=None):
        """Send and wait for the answer (Flink: PekkoInvocationHandler)."""
        cdef AskFuture future
        cdef Inbox mine = current_inbox()
        if mine is not None and self.is_own(mine):
            raise words().deadlock(mine, mine, procedure.name)
        future = self._ask(procedure, arguments, self._millis(timeout), False)
        if load_word(&future.state) == FUTURE_PENDING:
            future._await(None)
        elif future.unrung is not None:
            future.unrung.ring()
        if future.state == FUTURE_DONE:
            return future.value
        raise words().blocking_failed(procedure.name, self.address, future.exception())

    def is_own(self, inbox):
        """Whether calls end up in this inbox."""
        return False

    def with_timeout(self, int64_t timeout_ms):
        """The same with another time limit."""
        return Port(self.home, self.address, self.hostname, self.token, timeout_ms,
                    self.deadlines, self.capture)


cdef class LocalPort(Port):
    """Sends to an endpoint of this process."""

    def __init__(self, Inbox inbox not None, home, str address not None, str hostname not None,
                 token, int64_t timeout_ms, Deadlines deadlines not None, bint capture=False,
                 bint serialize=False):
        Port.__init__(self, home, address, hostname, token, timeout_ms, deadlines, capture)
        self.inbox = inbox
        self.serialize = serialize

    def is_own(self, inbox):
        """Whether calls end up in this inbox."""
        return self.inbox is inbox

    def with_timeout(self, int64_t timeout_ms):
        """The same with another time limit."""
        return LocalPort(self.inbox, self.home, self.address, self.hostname, self.token,
                         timeout_ms, self.deadlines, self.capture, self.serialize)

    cdef int _tell(self, Procedure procedure, tuple arguments) except -1:
        cdef LocalCall call = LocalCall.__new__(LocalCall)
        self.inbox.check_process()
        call.procedure = procedure
        call.port = self
        call.arguments = arguments
        if self.serialize and not procedure.local:
            call.arguments = encode(procedure, arguments, self.address)
        self.inbox.put(call, True)
        return 0

    cdef AskFuture _ask(self, Procedure procedure, tuple arguments, int64_t millis, bint wake):
        cdef LocalCall call = LocalCall.__new__(LocalCall)
        cdef AskFuture future = AskFuture.__new__(AskFuture)
        self.inbox.check_process()    # before a lock that a thread of the parent may hold
        call.procedure = procedure
        call.port = self
        call.arguments = arguments
        call.future = future
        if self.serialize and not procedure.local:
            call.arguments = encode(procedure, arguments, self.address)
        future.port = self
        future.procedure = procedure
        future.inbox = self.inbox
        if self.capture:
            future.place = words().place()
        self.deadlines.start(future, millis)
        if self.inbox.put(call, wake):
            future.unrung = self.inbox.queue
        return future
