"""The asynchronous operator in one process: what an element costs, and how full it keeps its room.

Figures are seconds for ``ELEMENTS`` elements (for ``WAITING`` of those that wait 10 ms, of which
``capacity`` are under way at once: the limit is ``WAITING / capacity * 0.01``).
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from flinkish.common.elements import StreamElement, StreamRecord
from flinkish.common.output_tag import OutputTag
from flinkish.functions import AsyncRetryStrategy
from flinkish.mailbox import MailboxProcessor
from flinkish.operators import AsyncWaitOperator, OperatorEnvironment
from flinkish.time import SystemProcessingTimeService
from flinkish.time.operator_time_service import OperatorProcessingTimeService

NAME = ContextVar("NAME", default=0)
ELEMENTS = 100_000
WAITING = 20_000


async def nothing(value: int) -> list[int]:
    return [value]


async def wait_10_ms(value: int) -> list[int]:
    await asyncio.sleep(0.01)
    return [value]


class Count:
    """An output of batches."""

    def __init__(self) -> None:
        self.count = 0

    def emit(self, element: StreamElement) -> None:
        self.count += 1

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        self.count += 1

    def emit_batch(self, tag: Any, values: list[Any], timestamps: list[int | None]) -> None:
        self.count += len(values)


class AsyncWait:
    """``capacity`` elements under way, in both modes."""

    params = ((100, 1_000), ("ordered", "unordered"))
    param_names = ("capacity", "mode")
    number = 1
    repeat = (3, 7, 20.0)
    warmup_time = 0

    def setup(self, capacity: int, mode: str) -> None:
        self.records = [StreamRecord(value, value) for value in range(ELEMENTS)]

    def _run(
        self, fn: Callable[..., Any], count: int, *, named: bool = False, **settings: Any
    ) -> None:
        processor = MailboxProcessor(lambda _: None)
        executor = processor.get_mailbox_executor(0)
        clock = SystemProcessingTimeService(print)
        timers = OperatorProcessingTimeService(
            clock, lambda call: lambda time: executor.execute(lambda: call(time), "timer")
        )
        output = Count()
        operator = AsyncWaitOperator(fn, **settings)
        operator.setup(
            output, OperatorEnvironment(mailbox_executor=executor, processing_time_service=timers)
        )
        operator.initialize_state()
        operator.open()
        process = operator.process_element
        for record in self.records[:count]:
            if named:
                NAME.set(record.value)
            process(record)
        operator.end_input()
        operator.close()
        clock.shutdown_and_await(1_000)
        assert output.count == count

    def time_no_op_coroutine(self, capacity: int, mode: str) -> None:
        self._run(nothing, ELEMENTS, capacity=capacity, mode=mode, timeout=60_000)

    def time_no_op_coroutine_without_timeouts(self, capacity: int, mode: str) -> None:
        self._run(nothing, ELEMENTS, capacity=capacity, mode=mode, timeout=None)

    def time_no_op_coroutine_with_retries(self, capacity: int, mode: str) -> None:
        retry = AsyncRetryStrategy.fixed_delay(3, 10)
        self._run(nothing, ELEMENTS, capacity=capacity, mode=mode, timeout=60_000, retry=retry)

    def time_no_op_coroutine_with_contexts_of_their_own(self, capacity: int, mode: str) -> None:
        """As idempotency keys give them."""
        self._run(nothing, ELEMENTS, named=True, capacity=capacity, mode=mode, timeout=60_000)

    def time_calls_of_10_ms(self, capacity: int, mode: str) -> None:
        self._run(wait_10_ms, WAITING, capacity=capacity, mode=mode, timeout=60_000)

    def time_calls_of_10_ms_read_ahead(self, capacity: int, mode: str) -> None:
        self._run(
            wait_10_ms,
            WAITING,
            capacity=capacity,
            mode=mode,
            timeout=60_000,
            read_ahead=capacity // 2,
        )

    def time_calls_of_10_ms_by_asyncio_alone(self, capacity: int, mode: str) -> None:
        """The peer: as many tasks at a time, with nothing around them."""

        async def worker() -> None:
            for value in values:
                await wait_10_ms(value)

        async def main() -> None:
            await asyncio.gather(*(worker() for _ in range(capacity)))

        values = iter(range(WAITING))
        asyncio.run(main())
