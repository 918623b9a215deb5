"""An asynchronous operator by hand: results, clock and mails come when the test says so."""

from __future__ import annotations

import asyncio
from typing import Any

from flinkish.common.elements import StreamElement, StreamRecord, Watermark
from flinkish.common.output_tag import OutputTag
from flinkish.functions import AsyncCallbackFunction, AsyncFunction, ResultFuture
from flinkish.operators import AsyncWaitOperator, OperatorEnvironment
from flinkish.testing import (
    OneInputStreamOperatorTestHarness,
    SteppingMailbox,
    TestProcessingTimeService,
)
from flinkish.time.operator_time_service import OperatorProcessingTimeService
from flinkish.time.processing_time_service import ProcessingTimeCallback

Harness = OneInputStreamOperatorTestHarness[AsyncWaitOperator]


async def plus_one(value: int) -> list[int]:
    await asyncio.sleep(0)
    return [value + 1]


class PlusOne(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        return [value + 1]


class Manual(AsyncCallbackFunction):
    """Keeps the futures of all attempts, by value, and those of timeouts."""

    def __init__(self) -> None:
        self.attempts: dict[Any, list[ResultFuture]] = {}
        self.timeouts: dict[Any, ResultFuture] = {}
        self.closed = 0

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        self.attempts.setdefault(value, []).append(result_future)

    def timeout(self, value: Any, result_future: ResultFuture) -> None:
        assert value not in self.timeouts, "timeout() was called twice"
        self.timeouts[value] = result_future

    def done(self, value: Any, *results: Any) -> bool:
        """Complete the last attempt."""
        return self.attempts[value][-1].complete(list(results) or [value])

    def failed(self, value: Any, error: BaseException) -> bool:
        return self.attempts[value][-1].complete_exceptionally(error)

    def close(self) -> None:
        self.closed += 1


class Defaulting(Manual):
    """Its timeout is the one that functions have by themselves."""

    timeout = AsyncCallbackFunction.timeout


class Stage:
    """One operator on a mailbox that is stepped, its timers mails, as in a task."""

    def __init__(self, operator: AsyncWaitOperator, snapshot: bytes | None = None) -> None:
        self.operator = operator
        self.mailbox = SteppingMailbox()
        self.clock = TestProcessingTimeService()
        self.clock.set_current_time(0)
        self.out: list[StreamElement] = []
        self.sides: dict[OutputTag, list[StreamRecord]] = {}
        self.failures: list[BaseException] = []
        self.executor = self.mailbox.executor(0)
        operator.setup(
            self,
            OperatorEnvironment(
                task_name="stage",
                index=1,
                parallelism=4,
                mailbox_executor=self.executor,
                processing_time_service=OperatorProcessingTimeService(self.clock, self._as_mail),
                fail_externally=self.failures.append,
            ),
        )
        operator.initialize_state(snapshot)
        operator.open()

    def _as_mail(self, callback: ProcessingTimeCallback) -> ProcessingTimeCallback:
        return lambda time: self.executor.execute(lambda: callback(time), "timer")

    def emit(self, element: StreamElement) -> None:
        self.out.append(element)

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        self.sides.setdefault(tag, []).append(record)

    def give(self, *elements: Any) -> None:
        """Values as records of timestamp 0, ``"W5"`` as the watermark 5."""
        for element in elements:
            if isinstance(element, str) and element[0] == "W":
                self.operator.process_watermark(Watermark(int(element[1:])))
            elif isinstance(element, StreamRecord):
                self.operator.process_element(element)
            else:
                self.operator.process_element(StreamRecord(element, 0))

    def run(self) -> None:
        """All mails."""
        self.mailbox.run_until_idle()

    def at(self, time: int) -> None:
        """Run all mails, set the clock, and run those that this brings."""
        self.run()
        self.clock.set_current_time(time)
        self.run()

    @property
    def values(self) -> list[Any]:
        """What came out: values, and ``"W5"`` for the watermark 5."""
        return [
            one.value if isinstance(one, StreamRecord) else f"W{one.timestamp}"  # type: ignore[attr-defined]
            for one in self.out
        ]

    def close(self) -> None:
        self.operator.close()
        self.mailbox.close()


def event_loop_settles(harness: Harness) -> None:
    """Wait until the loop has started what it was given."""
    loop = harness.operator._invoker._loop
    assert loop is not None
    for _ in range(3):
        loop.run(asyncio.sleep(0))
