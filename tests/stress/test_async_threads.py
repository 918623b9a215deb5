"""The asynchronous operator in real tasks: threads, clocks, checkpoints, failures."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.functions import AsyncCallbackFunction, AsyncRetryStrategy, ResultFuture
from flinkish.operators import AsyncWaitOperator
from flinkish.task import CheckpointMetaData, FileSystemCheckpointStorage, OneInputStreamTask
from tests.racing import switched_every
from tests.task.jobs import Output, filled, running
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.stress

COUNT = 3_000
FIRST = 1  # is not tried again


@pytest.fixture(autouse=True)
def _eager_threads() -> Iterator[None]:
    with switched_every(5e-5):
        yield


def values(output: Output) -> list[Any]:
    return [one.value for one in output.elements if isinstance(one, StreamRecord)]


class Racing(AsyncCallbackFunction):
    """Completes each attempt from two threads at about the same time, or never."""

    def __init__(self) -> None:
        self.chance = random.Random(5)
        self.wins: Counter[int] = Counter()
        self.work: list[tuple[int, ResultFuture]] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._complete) for _ in range(2)]

    def open(self, runtime_context: Any) -> None:
        for thread in self.threads:
            thread.start()

    def close(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def async_invoke(self, value: int, result_future: ResultFuture) -> None:
        if self.chance.random() < 0.1:
            return  # hangs: its timeout ends it
        self.work += [(value, result_future)] * 2
        if value == FIRST:  # time stands still for it: mails wait until this returns
            until(lambda: self.wins[FIRST])

    def timeout(self, value: int, result_future: ResultFuture) -> None:
        self.wins[value] += result_future.complete([("timeout", value)])

    def _complete(self) -> None:
        while not self.stop.is_set():
            try:
                value, future = self.work.pop()
            except IndexError:
                time.sleep(1e-4)
                continue
            # At the end of the input nothing is tried again (D.15).
            if value % 3 == 0 and value < COUNT - 200 and future.attempt == 1:
                future.complete_exceptionally(ConnectionError())
            else:
                self.wins[value] += future.complete([("done", value)])


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_each_element_ends_once_whoever_comes_first(mode: str) -> None:
    fn = Racing()
    operator = AsyncWaitOperator(
        fn, timeout=30, capacity=64, mode=mode, retry=AsyncRetryStrategy.fixed_delay(2, 25)
    )
    output = Output()
    elements = [v if v % 50 else Watermark(v) for v in range(COUNT)]
    task = OneInputStreamTask(operator, filled(*elements).input, output)
    with running(task) as (run,):
        assert run.join() is None
    expected = [value for value in range(COUNT) if value % 50]
    ended = [value for _, value in values(output)]
    assert sorted(ended) == expected
    assert mode == "unordered" or ended == expected
    assert max(fn.wins.values()) == 1
    assert {how for how, _ in values(output)} == {"done", "timeout"}
    place = -1
    for one in output.elements:
        if isinstance(one, Watermark):
            place = one.timestamp
        elif isinstance(one, StreamRecord):
            assert one.value[1] > place
    operator._queue._check()


class Slow:
    """An `async def` that lets nobody through while it is closed."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls: Counter[int] = Counter()

    async def __call__(self, value: int) -> list[int]:
        self.calls[value] += 1
        while not self.gate.is_set():
            await asyncio.sleep(0.001)
        return [value]


def test_checkpoints_are_taken_while_the_operator_is_full(tmp_path: Path) -> None:
    """D.24, D.12: and a task that starts from one emits what the first had not."""
    storage = FileSystemCheckpointStorage(str(tmp_path))
    slow, output = Slow(), Output()
    task = OneInputStreamTask(
        AsyncWaitOperator(slow, timeout=3_600_000, capacity=8),
        filled(*range(20)).input,
        output,
        checkpoint_storage=storage,
    )
    with running(task) as (run,):
        until(lambda: len(slow.calls) == 8)
        until(lambda: task._processor.mailbox.awaits_mail)
        assert task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE) is True
        assert values(output) == []
        task.cancel()
        assert run.join() is None
    assert values(output) == []
    again, output = Slow(), Output()
    again.gate.set()
    task = OneInputStreamTask(
        AsyncWaitOperator(again, timeout=3_600_000, capacity=3),
        filled(*range(8, 20)).input,
        output,
        checkpoint_storage=storage,
    )
    with running(task) as (run,):
        assert run.join() is None
    assert values(output) == list(range(20))
    assert set(again.calls.values()) == {1}


def test_a_failure_ends_the_task_and_its_calls() -> None:
    cancelled = threading.Event()

    async def call(value: int) -> list[int]:
        if value == 5:
            raise ZeroDivisionError
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return []

    output = Output()
    task = OneInputStreamTask(
        AsyncWaitOperator(call, timeout=None, capacity=10), filled(*range(9)).input, output
    )
    with running(task) as (run,):
        error = run.join()
    assert isinstance(error, ZeroDivisionError)
    assert any("call for 5 of timestamp" in note for note in error.__notes__)
    assert cancelled.is_set()
    assert values(output) == []
