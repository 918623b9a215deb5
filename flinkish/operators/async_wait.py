"""The operator that waits for others, with many elements under way at once.

    process_element -> ElementQueue.put -> Invoker.start          the operator's thread
                                              ...                 loop, pool, or any thread
                       Arrivals.arrive (renews the handle)
    Arrivals mail   -> settle: retry, fail, or ElementQueue.complete -> emit

Invariants, besides those of `async_calls`:
  W1  Every element that was taken in is in the queue or in the backlog, or gathered for a batch,
      until it is emitted, and nowhere else.  So they are the snapshot, and each is emitted once.
  W2  The backlog is what a restore brought and what has no room yet.  While there is any, nothing
      new is taken in: the order holds, and a restore waits for nobody (Flink: AsyncWaitOperator).
  W3  A call that is overdue is never tried again.  Its timeout and the end of its attempt
      meet at the handle: if the timeout is first, the attempt's result is refused; if the
      attempt is first, the timeout only marks the call, and who settles the result looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from flinkish._core.operators.element_queue import ElementQueue
from flinkish.common.durations import DurationLike
from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.common.futures import complete, shared_future
from flinkish.common.notes import add_note, dated, shortened
from flinkish.functions.async_retry import AsyncRetryStrategy
from flinkish.mailbox import MailboxExecutor
from flinkish.operators.async_calls import Arrivals, AsyncCall, results_of
from flinkish.operators.async_invokers import CallbackInvoker
from flinkish.operators.async_output import CallOutput
from flinkish.operators.async_settings import AsyncSettings, AsyncStatistics, invoker_of
from flinkish.operators.async_snapshot import dump_elements, elements_of, load_elements
from flinkish.operators.async_timers import CallTimers
from flinkish.operators.base import LifeCycle, OperatorEnvironment, Output, StreamOperator
from flinkish.operators.runtime_context import TaskRuntimeContext

__all__ = ["AsyncWaitOperator"]

_AT_ONCE = 1024  # results that one mail settles and emits, so that other mail has its turn

_READY: Future[None] = Future()
_READY.set_result(None)


class AsyncWaitOperator(StreamOperator):
    """Calls ``fn`` for each element, and emits what it gives when it is there.

    ``fn`` is an `AsyncFunction`, an `AsyncCallbackFunction`, an ``async def`` of one value, or a
    plain function of one value, which runs on a bounded pool of threads.  It gives an iterable of
    values; each is emitted with the timestamp of the element (Flink: AsyncWaitOperator), and a pair
    of an OutputTag and a value goes to that side output.

    ``mode`` is ``"ordered"`` or ``"unordered"``: as they came, or as they are done, where no
    element passes a watermark (Flink: UnorderedStreamElementQueue).  ``capacity`` is how many
    elements, watermarks included, are under way at once.  ``timeout`` is for an element with all
    its attempts, None or 0 for none; then the function's ``timeout`` says what to emit.  ``retry``
    needs a timeout. ``on_failure(value, error, attempts)`` gives the values of an element that
    failed for good; without it, the task fails.  ``read_ahead`` is how many elements more are taken
    in, so that a thread that ends a call finds the next at hand: None for half the capacity, 0 for
    functions that start their calls themselves.  No more calls run for that, and the time of such
    an element begins with its call, or when it has waited for as long as the timeout is.

    Snapshots hold every element that was not emitted; a restore calls the function for them
    again, so calls are at least once, and emissions exactly once.

    Back pressure: `is_available` is False while the operator is full, and a task then suspends its
    input (Flink: SupportsSoftBackpressure).  An element that comes all the same waits for room,
    while mail is served.

    Threading: the mailbox thread of ``OperatorEnvironment.mailbox_executor``, which is needed.
    """

    def __init__(
        self,
        fn: Any,
        *,
        timeout: DurationLike | None,
        capacity: int = 100,
        mode: str = "ordered",
        retry: AsyncRetryStrategy | None = None,
        on_failure: Callable[[Any, BaseException, int], Any] | None = None,
        read_ahead: int | None = 0,
    ) -> None:
        super().__init__()
        settings = AsyncSettings.of(timeout, capacity, read_ahead, mode, retry, on_failure)
        self.function = fn
        self._invoker = self._make_invoker(fn)
        if settings.read_ahead and isinstance(self._invoker, CallbackInvoker):
            if read_ahead is not None:
                raise IllegalArgumentError(
                    f"{self._invoker.name} starts its calls itself, so none can wait at hand: give "
                    "read_ahead to functions that are `async def` or plain"
                )
            settings = replace(settings, read_ahead=0)
        self.settings = settings
        self._queue = ElementQueue(
            settings.capacity + settings.read_ahead, ordered=mode == "ordered"
        )
        self._backlog: deque[StreamRecord | Watermark] = deque()
        self._waiting: dict[AsyncCall, int] = {}  # calls between two attempts, and their handles
        self._room = _READY
        self._simple = settings.retry is None  # values are emitted whatever they are
        self._finishing = False
        self._timeouts = self._retries = self._failures = 0

    def _make_invoker(self, fn: Any) -> Any:
        return invoker_of(fn)

    # --- life

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where results go and what surrounds it: a mailbox executor, for one thing."""
        super().setup(output, environment)
        environment = self.environment
        if environment.mailbox_executor is None:
            raise IllegalStateError(
                f"{type(self).__name__} gets its results by mail: run it in a task or a harness, "
                "or give it OperatorEnvironment(mailbox_executor=...)"
            )
        self._executor: MailboxExecutor = environment.mailbox_executor
        self._now = environment.current_processing_time
        self._arrivals = Arrivals(self._queue, self._executor, self._settle_arrivals, self._now)
        self._timers = CallTimers(environment, self._on_due, type(self).__name__)
        self._emitter = CallOutput(output)
        self._records = environment.metrics.counter("numRecordsIn")
        environment.metrics.gauge("asyncInFlight", lambda: len(self._queue))
        self.runtime_context = TaskRuntimeContext(**environment.context_settings())

    def initialize_state(self, state: bytes | None = None) -> None:
        """Take the elements of a snapshot whose calls had no result yet, to call again for them."""
        super().initialize_state(state)
        if state:
            self._backlog.extend(load_elements(state))

    def open(self) -> None:
        """Open the function, and start with the elements of the snapshot."""
        super().open()
        try:
            self._invoker.open(self.runtime_context, self._arrivals, self.settings.capacity)
        except Exception as error:
            add_note(error, f"raised in open of {type(self.function).__name__}")
            raise
        self._emit()

    def drain(self) -> None:
        """Wait until everything is emitted, with all the attempts that it takes; more may come."""
        self._require_open("drain")
        while len(self._queue) or self._backlog:
            self._executor.yield_()

    def end_input(self) -> None:
        """The same, but each waiting retry is made now, and none after it."""
        self._require_open("end_input")
        self._finishing = True
        waiting, self._waiting = self._waiting, {}
        for call in waiting:
            self._timers.drop(call.retry)
            call.retry = 0
            self._invoker.start(call)
        self.drain()

    def close(self) -> None:
        """Stop what is under way, and close the function."""
        opened = self.life in (LifeCycle.OPEN, LifeCycle.FINISHED)
        super().close()
        if opened:
            self._timers.close()
            calls = [one for one in self._queue.elements() if isinstance(one, AsyncCall)]
            for call in calls:
                call.overdue = True
            self._invoker.close(calls)

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        """Every element that is not emitted, in order."""
        self._require_state("snapshot_state")
        return dump_elements(self._unemitted())

    def _unemitted(self) -> list[StreamRecord | Watermark]:
        return [*elements_of(self._queue.elements()), *self._gathered(), *self._backlog]

    def _gathered(self) -> Iterable[StreamRecord | Watermark]:
        """The elements that were taken in and are neither in the queue nor in the backlog."""
        return ()

    def statistics(self) -> AsyncStatistics:
        """The operator at this moment."""
        return AsyncStatistics(
            in_flight=len(self._queue),
            restored=len(self._backlog),
            timers=len(self._timers),
            timed_out=self._timeouts,
            retried=self._retries,
            failed=self._failures,
            dropped=self._arrivals.dropped,
        )

    # --- input

    def is_available(self) -> bool:
        """Whether there is room."""
        return not self._backlog and not self._queue.is_full

    def get_available_future(self) -> Future[None]:
        """Done as soon as there is; done already if there is."""
        if self.is_available():
            return _READY
        if self._room.done():
            self._room = shared_future()
        return self._room

    def process_element(self, record: StreamRecord) -> None:
        """Take an element; waits for room."""
        if self.life is not LifeCycle.OPEN:
            self._require_open("process_element")
        if type(record) is not StreamRecord:
            raise UnsupportedOperationError(
                f"{type(self).__name__} takes records and watermarks, not {shortened(record)}"
            )
        self._records.inc()
        if self._backlog or self._queue.is_full:
            self._wait_for_room()
        self._accept(record)

    def process_watermark(self, watermark: Watermark) -> None:
        """Take a watermark; it leaves when everything before it has."""
        self._require_open("process_watermark")
        if self._backlog or self._queue.is_full:
            self._wait_for_room()
        self._accept(watermark)
        if self._queue.has_completed:
            self._emit()

    def _wait_for_room(self) -> None:
        while self._backlog or self._queue.is_full:
            self._executor.yield_()

    def _accept(self, element: StreamRecord | Watermark) -> None:
        """Put an element into the queue, which has room."""
        if isinstance(element, Watermark):
            self._queue.put_watermark(element)
        else:
            self._start(AsyncCall(element.value, element.timestamp, element, copy_context()))

    def _start(self, call: AsyncCall) -> None:
        """Put a call into the queue, which has room, and start it."""
        handle = self._queue.put(call)
        assert handle is not None
        call.handle = handle
        if self.settings.timeout:
            now = self._now()
            call.latest = now + self.settings.timeout
            call.began = now if len(self._queue) <= self.settings.capacity else None
            call.timer = self._timers.add(call.latest, call)
        try:
            self._invoker.start(call)
        except Exception as error:
            self._explain(error, call)
            raise

    # --- results

    def _settle_arrivals(self) -> None:
        """Take in what has come, as one mail (Flink: AsyncWaitOperator, which takes one)."""
        arrivals = self._arrivals.items
        complete, cancel = self._queue.complete, self._timers.drop
        simple = self._simple
        for _ in range(min(len(arrivals), _AT_ONCE)):
            call, handle, error, results = arrivals.popleft()
            if simple and error is None and type(results) is list:
                if call.timer:
                    cancel(call.timer)
                complete(handle, results)
            else:
                self._settle(call, handle, error, results)
        self._emit()

    def _settle(
        self, call: AsyncCall, handle: int, error: BaseException | None, results: Any
    ) -> None:
        """Decide what becomes of an element whose attempt has ended; this has its only handle."""
        if error is None and type(results) is not list:
            try:
                results = results_of(results(), self._invoker.name)
            except Exception as raised:
                error = raised
        try:
            again = self._is_worth_another(call, error, results)
        except Exception as raised:
            add_note(raised, f"raised by the retry predicate, or strategy, of {self._invoker.name}")
            error, again = raised, False
        if again and (call.overdue or self._time_left(call) <= 0):
            self._time_out(call, handle)
            return
        if again:
            self._try_again(call, handle)
            return
        if error is not None:
            results = self._fail(call, error)
        if call.timer:
            self._timers.drop(call.timer)
        self._queue.complete(handle, results)

    def _emit(self) -> None:
        """Emit what comes out of the queue, and use the room for the backlog."""
        queue = self._queue
        self._emitter.emit(*queue.emit_many(_AT_ONCE))
        self._refill()
        if queue.has_completed or self._arrivals.items:
            self._arrivals.post()
        self._timers.settle()
        if not self._room.done() and self.is_available():
            complete(self._room, None)

    def _refill(self) -> None:
        """Use the room there is for what waits outside of the queue."""
        queue, backlog = self._queue, self._backlog
        while backlog and not queue.is_full:
            self._accept(backlog.popleft())
            if len(queue) == queue.capacity and queue.has_completed:  # of watermarks, first in line
                self._emitter.emit(*queue.emit_many(_AT_ONCE))

    def _fail(self, call: AsyncCall, error: BaseException) -> list[Any]:
        """The output for an element that failed for good; without on_failure fail the task."""
        self._failures += 1
        self._explain(error, call)
        handler = self.settings.on_failure
        if handler is not None and isinstance(error, Exception):
            try:
                return results_of(handler(call.value, error, call.attempt), "on_failure")
            except Exception as raised:
                error = raised
        fail = self.environment.fail_externally
        if fail is None:
            raise error
        fail(error)
        return []

    def _explain(self, error: BaseException, call: AsyncCall) -> None:
        add_note(
            error,
            f"raised in {self._invoker.name} for {shortened(call.value)} of timestamp "
            f"{dated(call.timestamp)}, attempt {call.attempt}, in "
            f"{self.runtime_context.get_task_name_with_subtasks()}",
        )

    # --- time

    def _on_due(self, payload: Any) -> None:
        """A timeout, whose payload is its call, or a retry, whose payload is (call,)."""
        if type(payload) is not tuple:
            self._on_timeout(payload)
            return
        call: AsyncCall = payload[0]
        if self._waiting.pop(call, None) is not None:
            call.retry = 0
            self._invoker.start(call)

    def _on_timeout(self, call: AsyncCall) -> None:
        left = self._time_left(call)
        if left > 0:  # it had to wait before it began
            call.timer = self._timers.add(self._now() + left, call)
            return
        call.timer = 0
        call.overdue = True
        handle = self._queue.renew(call.handle)
        if handle is not None:  # else an end is on its way (W3, Flink: AsyncWaitOperator)
            self._time_out(call, handle)

    def _time_left(self, call: AsyncCall) -> int:
        """Milliseconds until an element is overdue, as if it began now if it has not."""
        now = self._now()
        began = now if call.began is None else call.began
        return min(began, call.latest) + self.settings.timeout - now

    def _time_out(self, call: AsyncCall, handle: int) -> None:
        """Let the function say what becomes of an overdue element; this has its only handle."""
        self._timeouts += 1
        call.overdue = call.timed_out = True
        if call.timer:
            self._timers.drop(call.timer)
            call.timer = 0
        if self._waiting.pop(call, None) is not None:
            self._timers.drop(call.retry)
            call.retry = 0
        else:
            self._invoker.cancel(call)
        try:
            self._invoker.time_out(call, handle)
        except Exception as error:
            self._explain(error, call)
            raise

    def _is_worth_another(self, call: AsyncCall, error: BaseException | None, results: Any) -> bool:
        """Whether the strategy wants another attempt."""
        retry = self.settings.retry
        if retry is None or call.timed_out or self._finishing:
            return False
        return retry.wants(error, results) and retry.can_retry(call.attempt)

    def _try_again(self, call: AsyncCall, handle: int) -> None:
        retry = self.settings.retry
        assert retry is not None
        delay = retry.backoff(call.attempt)
        call.handle = handle
        call.attempt += 1
        self._retries += 1
        self._waiting[call] = handle
        call.retry = self._timers.add(self._now() + delay, (call,))
