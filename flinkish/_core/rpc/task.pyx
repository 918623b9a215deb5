"""Functions in main threads, and futures that turns end; described in ``rpc/task.pxd``."""

from types import CoroutineType

from flinkish._core.rpc.future cimport FUTURE_DONE, FUTURE_FAILED, RpcFuture, words
from flinkish._core.rpc.inbox cimport (
    LIFE_STARTED, LIFE_TERMINATING, Letter, RunQueue, current_inbox,
)

from flinkish._core.rpc.future import Prompt


cdef object name_of(object function):
    name = getattr(function, "__qualname__", None)
    return name if type(name) is str else repr(function)


cdef class Task(Letter):
    """A function to be called in the main thread, whatever the endpoint's life.

    With a future its outcome goes there; without one, what it raises is logged.
    """

    cdef object function
    cdef RpcFuture future
    cdef bint control             # outlives a stop, and what it raises ends the endpoint

    def __init__(self, function, RpcFuture future=None, bint control=False):
        self.function = function
        self.future = future
        self.control = control

    cdef int deliver(self, Inbox inbox) except -1:
        cdef object function = self.function
        cdef object outcome
        cdef RpcFuture future = self.future
        if self.control:
            function()
            return 0
        if inbox.life != LIFE_STARTED and inbox.life != LIFE_TERMINATING:
            words().task_discarded(inbox, function, future)
            return 0
        if future is None:
            try:
                outcome = function()
                if type(outcome) is CoroutineType:
                    words().start_coroutine(inbox, name_of(function), outcome, True)
            except Exception as error:
                words().task_failed(inbox, function, error)
            return 0
        if not future.set_running_or_notify_cancel():
            return 0
        try:
            outcome = function()
            if type(outcome) is CoroutineType:
                outcome = words().start_coroutine(inbox, name_of(function), outcome, False)
                outcome.add_done_callback(Prompt(self._forward))
                return 0
        except BaseException as error:
            future.settle(FUTURE_FAILED, error)
            return 0
        future.settle(FUTURE_DONE, outcome)
        return 0

    def _forward(self, result):
        """End with what became of the coroutine that the function returned."""
        if result.cancelled():
            self.future.settle(FUTURE_FAILED, words().cancelled(result))
        elif result.exception() is not None:
            self.future.settle(FUTURE_FAILED, result.exception())
        else:
            self.future.settle(FUTURE_DONE, result.result())

    cdef int refuse(self, Inbox inbox) except -1:
        if not self.control:
            words().task_discarded(inbox, self.function, self.future)
        return 0


cdef class TurnFuture(TimedFuture):
    """A future that a turn of an inbox ends.

    A thread that waits for it in a turn is replaced by a spare thread, or gets a DeadlockError
    if the wait could never end.
    """

    cdef object awaited(self):
        return "a function"

    cdef int before_wait(self) except -1:
        cdef RunQueue unrung = self.unrung
        if unrung is not None:
            self.unrung = None
            unrung.ring()
        cdef Inbox mine = current_inbox()
        cdef Inbox other = self.inbox
        if mine is None:
            return 0
        while other is not None:
            if other is mine:
                raise words().deadlock(mine, self.inbox, self.awaited())
            other = other.waits_for
        mine.waits_for = self.inbox    # before a spare thread runs what may close the circle
        try:
            mine.queue.begin_wait()
        except BaseException:
            mine.waits_for = None
            raise
        return 0

    cdef int after_wait(self) except -1:
        cdef Inbox mine = current_inbox()
        if mine is not None:
            mine.waits_for = None
            mine.queue.end_wait()
        return 0


def turn_future(Inbox inbox not None):
    """A future for a Task of this inbox."""
    cdef TurnFuture future = TurnFuture.__new__(TurnFuture)
    future.inbox = inbox
    return future
