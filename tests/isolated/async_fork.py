"""The event loop of the process in a forked child: a loop of its own, never that of its parent."""

import asyncio
import gc
import threading

import pytest

from flinkish.common.errors import IllegalStateError
from flinkish.operators import AsyncWaitOperator
from flinkish.operators.async_loop import event_loop
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.forking import in_a_fork


async def plus_one(value: int) -> list[int]:
    await asyncio.sleep(0.001)
    return [value + 1]


def work() -> None:
    with OneInputStreamOperatorTestHarness(
        AsyncWaitOperator(plus_one, timeout=60_000, capacity=50)
    ) as harness:
        harness.open()
        harness.process_elements(range(200))
        harness.end_input()
        assert harness.extract_output_values() == list(range(1, 201))


def describe(frame: object) -> None:
    return None


def child() -> None:
    assert threading.active_count() == 1
    with pytest.raises(IllegalStateError, match="was forked from it: open the operator in"):
        loop.call(print)
    with pytest.raises(IllegalStateError, match="was forked from it"):
        loop.run(asyncio.sleep(0))
    with pytest.raises(IllegalStateError):
        harness.process_element(1)
    work()
    work()


loop = event_loop(describe)
parents = AsyncWaitOperator(plus_one, timeout=None)
harness = OneInputStreamOperatorTestHarness(parents)
harness.open()
harness.process_element(0)
harness.end_input()
for _ in range(5):
    in_a_fork(child)
work()
harness.process_element(1)
harness.end_input()
assert harness.extract_output_values() == [1, 2], "the parent goes on"
harness.close()
loop.release(describe)
assert threading.active_count() == 1, threading.enumerate()
gc.collect()
