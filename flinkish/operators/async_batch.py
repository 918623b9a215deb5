"""The asynchronous operator for services that take many values at once.

Elements are gathered until there are enough of them, or the first has waited long enough; then
they are one call, which has one place in the queue.  What holds besides the invariants of
`async_wait`:
  B1  Elements that are gathered are part of every snapshot, after those of the queue.
  B2  A watermark that comes after gathered elements waits with them.  It may come later than it
      did, after more elements, but never before one that it came after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import Any

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError
from flinkish.functions.async_retry import AsyncRetryStrategy
from flinkish.operators.async_calls import AsyncCall
from flinkish.operators.async_coroutines import CoroutineInvoker
from flinkish.operators.async_invokers import is_async
from flinkish.operators.async_settings import MAX_CAPACITY, bounded
from flinkish.operators.async_wait import AsyncWaitOperator

__all__ = ["AsyncBatchWaitOperator", "BatchSize"]

_AGE = object()  # payload of the timer of gathered elements


class BatchSize:
    """How many elements make a batch: ``most``, or, if ``adaptive``, what the service can take.

    An adaptive size starts at a quarter.  Each full batch that was answered makes it larger by an
    eighth, each that failed or was overdue halves it.
    """

    def __init__(self, most: int, adaptive: bool) -> None:
        self.most = most
        self.adaptive = adaptive
        self.size = max(most // 4, 1) if adaptive else most

    def ended(self, count: int, well: bool) -> None:
        """A batch of ``count`` elements was answered, or was not."""
        if not self.adaptive:
            return
        if not well:
            self.size = max(self.size // 2, 1)
        elif count >= self.size:
            self.size = min(self.size + max(self.size // 8, 1), self.most)


class AsyncBatchWaitOperator(AsyncWaitOperator):
    """Calls ``fn`` for batches of elements, and emits what it gives as batches are done.

    ``fn`` is an `AsyncBatchFunction` or an ``async def`` of a list of values.  What it gives need
    not be as long as the batch, so results carry no timestamp (Flink: AsyncBatchWaitOperator);
    watermarks keep after the results of everything that came before them.

    A batch has ``batch_size`` elements, fewer when the first of them has waited ``batch_timeout``
    (None: for ever), and at the end of the input.  With ``adaptive`` the size follows what the
    service can take, see `BatchSize`, and ``batch_size`` is the most.

    ``capacity`` is how many batches, and watermarks, are under way at once.  ``timeout``,
    ``retry`` and ``on_failure(values, error, attempts)`` are for a batch as a whole.  Snapshots
    hold the elements of all batches, and those that are being gathered: a restore gathers anew.
    """

    def __init__(
        self,
        fn: Any,
        *,
        batch_size: int,
        batch_timeout: DurationLike | None,
        timeout: DurationLike | None = None,
        capacity: int = 100,
        retry: AsyncRetryStrategy | None = None,
        on_failure: Callable[[list[Any], BaseException, int], Any] | None = None,
        adaptive: bool = False,
    ) -> None:
        super().__init__(
            fn,
            timeout=timeout,
            capacity=capacity,
            mode="unordered",
            retry=retry,
            on_failure=on_failure,
        )
        self.batches = BatchSize(bounded(batch_size, "batch_size", 1, MAX_CAPACITY), adaptive)
        self._age = (
            0 if batch_timeout is None else to_millis(batch_timeout, "batch_timeout", minimum=1)
        )
        self._simple = self._simple and not adaptive
        self._gathering: list[StreamRecord] = []
        self._watermark: Watermark | None = None  # comes after what is gathered (B2)
        self._age_timer = 0
        self._is_due = False  # what is gathered has waited long enough, for room now

    def _make_invoker(self, fn: Any) -> Any:
        method = getattr(fn, "async_invoke_batch", None) or fn
        if isinstance(fn, type) or not callable(method) or not is_async(method):
            raise ArgumentTypeError(
                "an operator of batches needs an AsyncBatchFunction whose async_invoke_batch is "
                f"`async def`, or an `async def` of a list of values, not {fn!r}"
            )
        return CoroutineInvoker(fn, method)

    def drain(self) -> None:
        """Wait for all calls at the end of the input; what is gathered is a batch."""
        self._require_open("drain")
        while self._backlog:
            self._executor.yield_()
        while self._gathering or self._watermark is not None:
            self._is_due = True
            self._refill()
            if self._gathering or self._watermark is not None:
                self._executor.yield_()
        super().drain()

    def _gathered(self) -> Iterable[StreamRecord | Watermark]:
        yield from self._gathering
        if self._watermark is not None:
            yield self._watermark

    def _accept(self, element: StreamRecord | Watermark) -> None:
        if isinstance(element, Watermark):
            if self._gathering or self._watermark is not None:
                self._watermark = element
            else:
                super()._accept(element)
            return
        self._gathering.append(element)
        if len(self._gathering) >= self.batches.size:
            self._close_batch()
        elif self._age and not self._age_timer and not self._is_due:
            self._age_timer = self._timers.add(self._now() + self._age, _AGE)

    def _close_batch(self) -> None:
        """Call for what is gathered; the queue has room for it."""
        records, self._gathering = tuple(self._gathering), []
        self._is_due = False
        if self._age_timer:
            self._timers.drop(self._age_timer)
            self._age_timer = 0
        self._start(AsyncCall([one.value for one in records], None, records, copy_context()))
        self._put_watermark()

    def _put_watermark(self) -> None:
        if self._watermark is not None and self._queue.put_watermark(self._watermark):
            self._watermark = None

    def _refill(self) -> None:
        super()._refill()
        if self._gathering and self._is_due and not self._queue.is_full:
            self._close_batch()
        if not self._gathering:
            self._put_watermark()

    def _on_due(self, payload: Any) -> None:
        if payload is not _AGE:
            super()._on_due(payload)
            return
        self._age_timer = 0
        self._is_due = bool(self._gathering)
        self._refill()

    def _settle(
        self, call: AsyncCall, handle: int, error: BaseException | None, results: Any
    ) -> None:
        if not call.timed_out:
            self.batches.ended(len(call.value), error is None)
        super()._settle(call, handle, error, results)

    def _time_out(self, call: AsyncCall, handle: int) -> None:
        self.batches.ended(len(call.value), False)
        super()._time_out(call, handle)
