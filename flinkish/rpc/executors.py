"""Functions that run later, or in the main thread of an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar, overload

from flinkish._core.rpc.calls import Task, turn_future
from flinkish._core.rpc.future import RpcFuture
from flinkish._core.rpc.inbox import Inbox
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.rpc.function_threads import FUNCTIONS
from flinkish.rpc.log_thread import LateLogger
from flinkish.time import ProcessingTimeService, ScheduledFuture

__all__ = ["MainThreadExecutor", "ScheduledExecutor", "call_later", "callable_of"]

T = TypeVar("T")
_LOG = LateLogger("flinkish.rpc")


def callable_of(function: Callable[[], T]) -> Callable[[], T]:
    """The function itself; ArgumentTypeError if it is none."""
    if not callable(function):
        raise ArgumentTypeError(f"a function without parameters was expected, not {function!r}")
    return function


def call_later(
    timers: ProcessingTimeService, millis: int, call: Callable[[], object], future: RpcFuture[Any]
) -> None:
    """``call()`` after so many ms, never before, unless ``future`` has been cancelled."""
    at = timers.get_current_processing_time() + millis
    timer = timers.register_timer(at, lambda _: call())

    def ended(future: RpcFuture[Any]) -> None:
        if future.cancelled():
            timer.cancel()

    future.add_done_callback(ended)


class MainThreadExecutor:
    """Runs functions in the main thread of one endpoint (Flink: MainThreadExecutor).

    Threading: safe from any thread.  After ``close``, which the endpoint calls before its
    ``on_stop``, what is scheduled is ignored with a warning; ``execute`` works until the end.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._closed = False

    def execute(self, function: Callable[[], object]) -> None:
        """Run it soon; what it raises is logged."""
        self._inbox.post(Task(callable_of(function)))

    @overload
    def submit(self, function: Callable[[], Coroutine[Any, Any, T]]) -> RpcFuture[T]: ...
    @overload
    def submit(self, function: Callable[[], T]) -> RpcFuture[T]: ...
    def submit(self, function: Callable[[], Any]) -> RpcFuture[Any]:
        """Call it soon; the future gets what comes of it.  It may be ``async def``."""
        future: RpcFuture[Any] = turn_future(self._inbox)
        self._inbox.post(Task(callable_of(function), future))
        return future

    def schedule(self, function: Callable[[], T], delay: DurationLike) -> RpcFuture[T]:
        """Call it after ``delay``; cancelling the future before keeps it from that."""
        millis = to_millis(delay, "delay", minimum=0)
        future: RpcFuture[T] = turn_future(self._inbox)
        task = Task(callable_of(function), future)

        def due() -> None:
            if self._closed:
                self._ignore(function, future)
            else:
                self._inbox.post(task)

        if self._closed:
            self._ignore(function, future)
        elif millis == 0:
            due()
        else:
            call_later(self._inbox.home.timers, millis, due, future)
        return future

    def schedule_at_fixed_rate(self, *_: object) -> None:
        """Not offered: schedule the next run at the end of each."""
        raise UnsupportedOperationError(
            "the main thread of an endpoint runs nothing periodically: let the function schedule "
            "itself again at its end"
        )

    schedule_with_fixed_delay = schedule_at_fixed_rate

    def _ignore(self, function: object, future: RpcFuture[Any]) -> None:
        _LOG.warning(
            "%r is not run: the main-thread executor of endpoint %r is closed",
            function,
            self._inbox.name,
        )
        future.cancel()

    def close(self) -> None:
        """Ignore what is scheduled."""
        self._closed = True


class ScheduledExecutor:
    """Runs functions later, on threads for that alone (Flink: PekkoRpcService).

    One that blocks holds up no other, up to 64 of all services at a time, and no time limit.  A
    periodic function never runs beside itself; its future ends only by ``cancel``.
    """

    def __init__(self, timers: ProcessingTimeService) -> None:
        self._timers = timers

    def execute(self, function: Callable[[], object]) -> None:
        """Run it soon."""
        self.schedule(function, 0)

    def schedule(self, function: Callable[[], T], delay: DurationLike) -> RpcFuture[T]:
        """Call it after ``delay``, never before."""
        millis = to_millis(delay, "delay", minimum=0)
        future: RpcFuture[T] = RpcFuture()
        callable_of(function)

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        call_later(self._timers, millis, partial(FUNCTIONS.put, run), future)
        return future

    def schedule_at_fixed_rate(
        self, function: Callable[[], object], initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Run it at fixed times, or late when it took longer; what it raises is logged."""
        return self._periodic(function, initial_delay, period, "period", at_rate=True)

    def schedule_with_fixed_delay(
        self, function: Callable[[], object], initial_delay: DurationLike, delay: DurationLike
    ) -> ScheduledFuture:
        """Run it with this pause between two runs; what it raises is logged."""
        return self._periodic(function, initial_delay, delay, "delay", at_rate=False)

    def _periodic(
        self,
        function: Callable[[], object],
        initial_delay: DurationLike,
        pause: DurationLike,
        name: str,
        *,
        at_rate: bool,
    ) -> ScheduledFuture:
        first = to_millis(initial_delay, "initial_delay", minimum=0)
        millis = to_millis(pause, name, minimum=1)
        return _Periodic(self._timers, callable_of(function), first, millis, at_rate).future


class _Periodic:
    """A function that runs over and over.

    Invariant: there is a timer, or a run that is under way or about to be and registers the next.
    """

    def __init__(
        self,
        timers: ProcessingTimeService,
        function: Callable[[], object],
        first: int,
        millis: int,
        at_rate: bool,
    ) -> None:
        self._timers, self._function = timers, function
        self._millis, self._at_rate = millis, at_rate
        self._timer: ScheduledFuture | None = None
        self.future = ScheduledFuture(self._dequeue)
        self._at = timers.get_current_processing_time() + first
        self._register()

    def _register(self) -> None:
        self._timer = self._timers.register_timer(self._at, lambda _: FUNCTIONS.put(self._run))
        if self.future.cancelled():  # since before there was this timer
            self._timer.cancel()

    def _dequeue(self) -> bool:
        if self._timer is not None:
            self._timer.cancel()
        return True

    def _run(self) -> None:
        if self.future.cancelled():
            return
        try:
            self._function()
        except BaseException as error:
            _LOG.error("the periodic function %r raised", self._function, exc_info=error)
        now = self._timers.get_current_processing_time()
        self._at = (self._at if self._at_rate else now) + self._millis
        try:
            self._register()
        except IllegalStateError:  # the service has closed
            self.future.cancel()
