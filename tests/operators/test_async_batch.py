"""The asynchronous operator of batches (Flink: D.23, and what it does better)."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.functions import AsyncBatchFunction, AsyncRetryStrategy
from flinkish.operators import AsyncBatchWaitOperator
from flinkish.operators.async_batch import BatchSize
from flinkish.testing import OneInputStreamOperatorTestHarness

Harness = OneInputStreamOperatorTestHarness[AsyncBatchWaitOperator]


class Sums(AsyncBatchFunction):
    """Gives the values and their sum; keeps the batches.  Waits while ``gate`` is not set."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.waits = False
        self.fails = 0

    async def async_invoke_batch(self, values: list[int]) -> list[Any]:
        self.batches.append(list(values))
        while self.waits:
            await asyncio.sleep(0.001)
        if self.fails:
            self.fails -= 1
            raise ConnectionError
        return [*values, f"sum {sum(values)}"]

    def timeout(self, values: list[int]) -> list[str]:
        return [f"timeout of {values}"]


@pytest.fixture
def run() -> Iterator[Callable[..., Harness]]:
    harnesses: list[Harness] = []

    def make(fn: Any, snapshot: bytes | None = None, **settings: Any) -> Harness:
        settings = {"batch_size": 3, "batch_timeout": 100, **settings}
        harness = OneInputStreamOperatorTestHarness(AsyncBatchWaitOperator(fn, **settings))
        harnesses.append(harness)
        harness.initialize_state(snapshot)
        harness.open()
        return harness

    yield make
    for harness in harnesses:
        if isinstance(harness.operator.function, Sums):
            harness.operator.function.waits = False
        harness.close()


def until(harness: Harness, count: int) -> list[Any]:
    """Run mails until there are so many elements."""
    while len(harness.get_output()) < count:
        harness.operator._executor.yield_()
    return harness.get_output()


def test_a_batch_of_the_full_size_is_called_at_once(run: Callable[..., Harness]) -> None:
    """D.23: without timestamps."""
    fn = Sums()
    harness = run(fn)
    harness.process_elements([1, 2, 3, 4], timestamp=7)
    assert until(harness, 4) == [StreamRecord(one) for one in (1, 2, 3, "sum 6")]
    assert fn.batches == [[1, 2, 3]]
    assert harness.operator.statistics().in_flight == 0


def test_a_smaller_batch_is_called_when_the_first_has_waited(run: Callable[..., Harness]) -> None:
    """D.23: the timer counts from the first element; a full batch ends it."""
    fn = Sums()
    harness = run(fn)
    harness.process_element(1)
    harness.set_processing_time(50)
    harness.process_element(2)
    harness.set_processing_time(99)
    assert harness.operator.statistics().in_flight == 0
    harness.set_processing_time(100)
    until(harness, 3)
    assert fn.batches == [[1, 2]]
    harness.process_elements([3, 4, 5])
    until(harness, 7)
    assert harness.operator.statistics().timers == 0
    assert harness.processing_time_service.num_active_timers == 0


def test_end_input_calls_what_is_gathered(run: Callable[..., Harness]) -> None:
    """D.23: also without an age."""
    fn = Sums()
    harness = run(fn, batch_timeout=None, capacity=1)
    harness.process_elements(range(7))
    harness.process_watermark(9)
    harness.end_input()
    assert fn.batches == [[0, 1, 2], [3, 4, 5], [6]]
    assert harness.get_output()[-1] == Watermark(9)
    assert len(harness.extract_output_values()) == 10


def test_a_watermark_waits_for_what_came_before_it(run: Callable[..., Harness]) -> None:
    """B2: the latest stands for those before it; alone it passes at once."""
    fn = Sums()
    harness = run(fn)
    harness.process_watermark(1)
    assert harness.get_output() == [Watermark(1)]
    harness.process_elements([1, 2])
    harness.process_watermark(2)
    harness.process_watermark(3)
    harness.process_element(3)
    assert harness.get_output() == [Watermark(1)]
    assert until(harness, 6)[-1] == Watermark(3)
    assert harness.extract_output_values() == [1, 2, 3, "sum 6"]


def test_a_snapshot_holds_batches_and_what_is_gathered(run: Callable[..., Harness]) -> None:
    """B1: which Flink's loses (D.23)."""
    fn = Sums()
    fn.waits = True
    harness = run(fn, capacity=4)
    harness.process_elements([1, 2, 3, 4], timestamp=5)
    harness.process_watermark(6)
    snapshot = harness.snapshot()
    again = Sums()
    restored = run(again, snapshot, batch_size=2, capacity=1)
    assert restored.snapshot() == snapshot
    restored.process_element(5)
    restored.end_input()
    assert again.batches == [[1, 2], [3, 4], [5]]
    assert sorted(map(str, restored.extract_output_values())) == sorted(
        ["1", "2", "sum 3", "3", "4", "sum 7", "5", "sum 5"]
    )
    assert Watermark(6) in restored.get_output()


def test_a_batch_that_is_due_waits_for_room(run: Callable[..., Harness]) -> None:
    fn = Sums()
    fn.waits = True
    harness = run(fn, capacity=1)
    harness.process_elements([1, 2, 3])
    assert not harness.operator.is_available()
    harness.operator._accept(StreamRecord(4))  # as one that was under way when it became full
    harness.set_processing_time(100)
    assert harness.operator.statistics().in_flight == 1
    fn.waits = False
    until(harness, 6)
    assert fn.batches == [[1, 2, 3], [4]]


def test_a_batch_is_tried_again_and_times_out_as_a_whole(run: Callable[..., Harness]) -> None:
    fn = Sums()
    fn.fails = 1
    harness = run(fn, timeout=1_000, retry=AsyncRetryStrategy.fixed_delay(1, 10))
    harness.process_elements([1, 2, 3])
    while not harness.operator.statistics().retried:
        harness.operator._executor.yield_()
    fn.waits = True
    harness.set_processing_time(10)
    harness.set_processing_time(1_000)
    assert until(harness, 1) == [StreamRecord("timeout of [1, 2, 3]")]
    assert harness.operator.statistics().timers == 0


def test_a_batch_that_fails_for_good(run: Callable[..., Harness]) -> None:
    fn = Sums()
    fn.fails = 2
    harness = run(fn, on_failure=lambda values, error, attempts: [(values, attempts)])
    harness.process_elements([1, 2, 3])
    assert until(harness, 1) == [StreamRecord(([1, 2, 3], 1))]
    plain = run(fn)
    plain.process_elements([1, 2, 3])
    while plain.failure is None:
        plain.operator._executor.yield_()
    assert isinstance(plain.failure, ConnectionError)


def test_an_adaptive_size_follows_what_the_service_can_take(run: Callable[..., Harness]) -> None:
    fn = Sums()
    harness = run(fn, batch_size=16, adaptive=True, capacity=1, on_failure=lambda *_: [])
    harness.process_elements(range(200))
    sizes = [len(batch) for batch in fn.batches]
    assert sizes[0] == 4
    assert sizes == sorted(sizes)
    assert max(sizes) == 16
    fn.fails = 3
    harness.process_elements(range(100))
    harness.end_input()
    assert 2 <= min(len(batch) for batch in fn.batches[len(sizes) : -1]) <= 4


def test_a_size_stays_within_its_bounds() -> None:
    size = BatchSize(2, adaptive=True)
    for _ in range(5):
        size.ended(1, False)
    assert size.size == 1
    for _ in range(5):
        size.ended(size.size, True)
    assert size.size == 2
    size.ended(1, True)  # a small batch says nothing
    assert size.size == 2
    fixed = BatchSize(9, adaptive=False)
    fixed.ended(9, False)
    assert fixed.size == 9


def test_a_function_of_a_list_will_do(run: Callable[..., Harness]) -> None:
    async def total(values: list[int]) -> list[int]:
        return [sum(values)]

    harness = run(total)
    harness.process_elements([1, 2, 3, 4])
    harness.end_input()
    assert harness.extract_output_values() == [6, 4]


def test_settings_are_checked() -> None:
    with pytest.raises(IllegalArgumentError, match="batch_size must be from 1"):
        AsyncBatchWaitOperator(Sums(), batch_size=0, batch_timeout=1)
    with pytest.raises(IllegalArgumentError, match="batch_timeout must be at least 1 ms"):
        AsyncBatchWaitOperator(Sums(), batch_size=1, batch_timeout=0)
    for fn in (print, Sums, 7):
        with pytest.raises(ArgumentTypeError, match="needs an AsyncBatchFunction whose"):
            AsyncBatchWaitOperator(fn, batch_size=1, batch_timeout=1)
