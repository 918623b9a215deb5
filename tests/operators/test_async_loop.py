"""The tasks, contexts and the event loop of asynchronous functions."""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from flinkish.common.errors import (
    DeadlockError,
)
from flinkish.functions import AsyncRetryStrategy
from flinkish.operators import AsyncWaitOperator, async_loop
from flinkish.operators.async_loop import event_loop
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.operators.async_rig import Harness, Manual, PlusOne, event_loop_settles, plus_one
from tests.waiting import PATIENCE, until

# --- tasks and contexts


def test_a_call_that_waits_has_a_task_of_its_own(run: Callable[..., Harness]) -> None:
    tasks: dict[int, Any] = {}
    all_wait = asyncio.Event()

    async def call(value: int) -> list[int]:
        before = tasks[value] = asyncio.current_task()
        if len(tasks) == 20:
            all_wait.set()
        await all_wait.wait()
        assert before is asyncio.current_task()
        await asyncio.wait_for(asyncio.sleep(0), 600)
        assert before is asyncio.current_task()
        return [value]

    harness = run(call, range(20), capacity=20)
    assert harness.failure is None
    assert len({id(task) for task in tasks.values()}) == 20


def test_calls_that_never_wait_may_share_a_task(run: Callable[..., Harness]) -> None:
    """And one in between that waits takes a task for itself."""

    async def call(value: int) -> list[Any]:
        task = asyncio.current_task()
        if value % 5 == 0:
            await asyncio.sleep(0)
        assert task is asyncio.current_task()
        return [value]

    harness = run(call, range(200), capacity=200)
    assert harness.extract_output_values() == list(range(200))
    assert harness.failure is None


NAME = contextvars.ContextVar("NAME", default="nobody")


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_sees_the_context_of_its_element(run: Callable[..., Harness], waits: bool) -> None:
    """And nothing of what another call has set."""

    async def call(value: int) -> list[str]:
        seen = NAME.get()
        NAME.set(f"set by {value}")
        if waits:
            await asyncio.sleep(0)
        assert NAME.get() == f"set by {value}"
        return [seen]

    harness = run(call, capacity=50)
    for value in range(30):
        token = NAME.set(f"element {value // 10}")
        harness.process_element(value)
        NAME.reset(token)
    harness.end_input()
    assert harness.extract_output_values() == [f"element {value // 10}" for value in range(30)]


def test_contexts_of_their_own_cost_no_task(run: Callable[..., Harness]) -> None:
    """T3 in the task of another call, which waits, fails or is cancelled by itself there, too."""
    seen: list[str] = []
    cancelled = threading.Event()

    async def call(value: int) -> Any:
        seen.append(f"{value} for {NAME.get()}")
        NAME.set(f"caller of {value}")
        if value == 1:
            raise KeyError(NAME.get())
        if value == 2:
            await asyncio.sleep(0)
            await asyncio.wait_for(asyncio.sleep(0.001), 600)
        if value == 3:
            task = asyncio.current_task()
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                assert asyncio.current_task() is task
                seen.append(f"3 was cancelled for {NAME.get()}")
                cancelled.set()
                raise
        return (f"{one} for {NAME.get()}" for one in [value])  # made where it is taken

    harness = run(
        call, capacity=2, read_ahead=3, timeout=10, on_failure=lambda *failed: [str(failed[1])]
    )
    for value in range(5):
        token = NAME.set(f"element {value}")
        harness.process_element(value)
        NAME.reset(token)
    while len(seen) < 5:
        event_loop_settles(harness)
    event_loop_settles(harness)  # so that the last, which does not wait, has ended as well
    harness.advance_time(10)
    assert cancelled.wait(PATIENCE)
    harness.end_input()
    given = harness.extract_output_values()
    assert given[:3] == ["0 for caller of 0", "'caller of 1'", "2 for caller of 2"]
    assert "was not done in time for 3" in given[3]
    assert given[4] == "4 for caller of 4"
    assert sorted(seen) == sorted(
        [*(f"{value} for element {value}" for value in range(5)), "3 was cancelled for caller of 3"]
    )


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("is_plain", [True, False])
def test_elements_read_ahead_wait_for_a_call_to_end(
    run: Callable[..., Harness], waits: bool, is_plain: bool
) -> None:
    """No more calls run than there is capacity for, and each sees its own context."""
    now, most = 0, 0
    lock = threading.Lock()

    def count(change: int) -> None:
        nonlocal now, most
        with lock:
            now += change
            most = max(most, now)

    async def call(value: int) -> list[str]:
        count(1)
        end = time.monotonic() + PATIENCE
        while waits and most < 4 and time.monotonic() < end:  # until so many have met
            await asyncio.sleep(0.001)
        if waits:
            await asyncio.sleep(0.001)
        count(-1)
        return [f"{NAME.get()} {value}"]

    def plain_call(value: int) -> list[str]:
        count(1)
        if waits:
            until(lambda: most >= 4)
            time.sleep(0.001)
        count(-1)
        return [f"{NAME.get()} {value}"]

    harness = run(plain_call if is_plain else call, capacity=4, read_ahead=12, timeout=60_000)
    for value in range(400):
        token = NAME.set(f"{value // 7}")
        harness.process_element(value)
        NAME.reset(token)
    assert harness.operator.statistics().in_flight <= 16
    harness.end_input()
    assert harness.extract_output_values() == [f"{value // 7} {value}" for value in range(400)]
    assert most <= 4
    assert waits is False or most == 4


def test_a_task_that_was_cancelled_serves_nobody_else(run: Callable[..., Harness]) -> None:
    """T2: also if the call did not mind."""
    tasks: list[Any] = []
    caught = threading.Event()

    async def stubborn(value: int) -> list[int]:
        assert asyncio.current_task() not in tasks
        if value == 0:
            tasks.append(asyncio.current_task())
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                caught.set()
        return [value]

    harness = run(
        stubborn, capacity=1, read_ahead=5, timeout=10, on_failure=lambda value, *_: [-value]
    )
    harness.process_element(0)
    event_loop_settles(harness)
    harness.advance_time(5)
    harness.process_elements([1, 2])
    harness.advance_time(5)
    assert caught.wait(PATIENCE)
    harness.end_input()
    assert harness.extract_output_values() == [0, 1, 2]


@pytest.mark.parametrize("is_plain", [True, False])
def test_the_time_of_what_was_read_ahead_begins_with_its_call(
    run: Callable[..., Harness], is_plain: bool
) -> None:
    """D.9: as where nothing is; also for retries."""
    ended = [threading.Event(), threading.Event()]
    attempts: list[int] = []
    began = threading.Semaphore(0)

    def attempt(value: int) -> None:
        attempts.append(value)
        began.release()

    async def call(value: int) -> list[int]:
        attempt(value)
        while not ended[value].is_set():
            await asyncio.sleep(0.001)
        if attempts.count(value) == 1:
            raise ConnectionError
        return [value]

    def plain_call(value: int) -> list[int]:
        attempt(value)
        assert ended[value].wait(PATIENCE)
        if attempts.count(value) == 1:
            raise ConnectionError
        return [value]

    harness = run(
        plain_call if is_plain else call,
        capacity=1,
        read_ahead=1,
        timeout=10,
        retry=AsyncRetryStrategy.fixed_delay(1, 1),
        on_failure=lambda value, error, attempts: [type(error).__name__],
    )
    harness.process_elements([0, 1])
    assert began.acquire(timeout=PATIENCE)
    harness.advance_time(9)
    ended[0].set()
    assert began.acquire(timeout=PATIENCE)  # 1 has its turn, at 9
    harness.run_mailbox()  # and 0 waits for its second
    harness.advance_time(1)
    assert harness.operator.statistics().timed_out == 1  # 0 alone
    harness.advance_time(7)
    ended[1].set()
    while harness.operator.statistics().retried < 2:
        harness.operator.environment.mailbox_executor.yield_()
    harness.advance_time(1)  # 18: an attempt more for 1, although it was taken in at 0
    harness.end_input()
    assert harness.extract_output_values() == ["AsyncTimeoutError", 1]
    assert attempts == [0, 1, 1]


def test_half_the_capacity_is_read_ahead_where_that_helps() -> None:
    def read_ahead(fn: Any, capacity: int) -> int:
        operator = AsyncWaitOperator(fn, timeout=None, capacity=capacity, read_ahead=None)
        return operator.settings.read_ahead

    assert [read_ahead(plus_one, capacity) for capacity in (1, 100, 2**24 - 3)] == [0, 50, 2]
    assert read_ahead(lambda value: [value], 10) == 5
    assert read_ahead(Manual(), 100) == 0


def test_what_was_read_ahead_and_never_gets_its_turn_is_overdue_in_the_end(
    run: Callable[..., Harness],
) -> None:
    """Else a function that hangs for ever would keep more than its own element."""
    goes_on = threading.Event()
    harness = run(
        lambda value: [goes_on.wait(PATIENCE)],
        capacity=1,
        read_ahead=1,
        timeout=10,
        on_failure=lambda value, error, attempts: [value],
    )
    harness.process_elements([0, 1])
    overdue = []
    for millis in (10, 9, 1):
        harness.advance_time(millis)
        harness.run_mailbox()
        overdue.append(harness.extract_output_values())
    goes_on.set()
    assert overdue == [[0], [0], [0, 1]]


def test_a_plain_function_sees_the_context_of_its_element(run: Callable[..., Harness]) -> None:
    token = NAME.set("the caller")
    harness = run(lambda value: [NAME.get()], [1])
    NAME.reset(token)
    assert harness.extract_output_values() == ["the caller"]


# --- the loop


def test_one_loop_for_all_operators_that_ends_with_the_last(run: Callable[..., Harness]) -> None:
    first, second = run(PlusOne()), run(PlusOne())
    loop = first.operator._invoker._on_loop()
    assert second.operator._invoker._on_loop() is loop
    assert loop.statistics().users == 2
    first.close()
    assert loop.thread.is_alive()
    second.close()
    assert not loop.thread.is_alive()
    third = run(PlusOne(), [1])
    assert third.operator._invoker._on_loop() is not loop
    assert third.extract_output_values() == [2]


def test_within_a_running_loop() -> None:
    """The operator's loop is on a thread of its own, so it is nested in nobody's."""

    async def main() -> list[Any]:
        with OneInputStreamOperatorTestHarness(
            AsyncWaitOperator(plus_one, timeout=None)
        ) as harness:
            harness.open()
            harness.process_element(1)
            harness.end_input()
            return harness.extract_output_values()

    assert asyncio.run(main()) == [2]


def test_the_loops_own_thread_cannot_wait_for_it() -> None:
    def describe(frame: Any) -> None:
        return None

    loop = event_loop(describe)

    async def wait() -> None:
        loop.run(asyncio.sleep(0))

    try:
        with pytest.raises(DeadlockError, match="cannot wait for the event loop"):
            loop.run(wait())
    finally:
        loop.release(describe)


def test_what_functions_leave_behind_is_cancelled_with_the_loop(
    run: Callable[..., Harness],
) -> None:
    left: list[asyncio.Task[None]] = []

    async def spawn(value: int) -> list[int]:
        left.append(asyncio.create_task(asyncio.sleep(3_600)))
        await asyncio.sleep(0)
        return [value]

    run(spawn, [1]).close()
    assert left[0].cancelled()


def test_who_blocks_the_loop_is_named(
    run: Callable[..., Harness],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(async_loop, "BLOCKED_AFTER", 0.3)
    named = threading.Event()
    said: list[str] = []

    async def blocks(value: int) -> list[int]:
        while not named.is_set():
            named.wait(2.0)
            await asyncio.sleep(0)  # who is seen on the way to that line is looked at again
        return [value]

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())
            if "named.wait(2.0)" in said[-1]:
                named.set()

    handler = Handler()
    logging.getLogger(async_loop.__name__).addHandler(handler)
    try:
        harness = run(blocks, [77])
        loop = harness.operator._invoker._on_loop()
        until(lambda: loop.statistics().blocked == len(said))
    finally:
        logging.getLogger(async_loop.__name__).removeHandler(handler)
    assert harness.extract_output_values() == [77]
    assert "named.wait(2.0)" in " ".join(said)
    for one in said:
        assert "blocks, called for 77, has blocked the event loop for" in one
    assert "blocks" in str(loop.statistics().last_blocked_by)
