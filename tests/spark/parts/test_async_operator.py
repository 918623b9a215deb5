"""What the asynchronous operator does on Spark besides: keys of calls, warming up, layers."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from flinkish.common import Row
from flinkish.common.errors import ArgumentTypeError, IllegalStateError
from flinkish.functions import AsyncCallbackFunction
from flinkish.spark import idempotency_key
from flinkish.spark.calls.context import key_maker
from flinkish.spark.calls.operator import AnswerOperator, WarmUp
from flinkish.spark.tasks.plan import TaskPlan
from flinkish.spark.tasks.run import SparkTask, Subtask
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.spark import async_functions as calls
from tests.spark.parts.fake_batches import Feed, numbers
from tests.spark.task_operators import NUMBERS
from tests.waiting import until


class Rig:
    """A task whose answers are looked at before they become columns."""

    def __init__(self, fn: Any, count: int, **settings: Any) -> None:
        self.answers: list[Any] = []
        given = {"timeout": None, "mode": "unordered"} | settings
        self.operator = AnswerOperator(fn, **given)
        plan = TaskPlan("calls", lambda: self.operator, NUMBERS, None, (), "UTC")
        task = SparkTask(plan, Feed(numbers(*range(count)), end=True), Subtask())
        task._collected._main.encode = self.encode  # type: ignore[method-assign]
        list(task.run())

    def encode(self, values: list[Any]) -> Any:
        self.answers += values
        return numbers()

    def results(self) -> list[Any]:
        return sorted(value for answer in self.answers[:-1] for value in answer[1])


# --- keys of calls


@pytest.mark.parametrize("fn", [calls.keyed, calls.keyed_in_thread])
def test_a_call_knows_its_key(fn: Any) -> None:
    key_of = key_maker("calls", ("n",))
    assert Rig(fn, 200, key_of=key_of).results() == [(n, key_of(Row(n=n))) for n in range(200)]


def test_keys_tell_rows_and_operators_apart_and_nothing_else() -> None:
    rows = [Row(a=1, b="x", c=0.5), Row(a=1, b="y", c=0.5), Row(a="1", b="x", c=0.5)]
    key_of = key_maker("calls", ("a", "b"))
    assert len({key_of(row) for row in rows}) == 3
    assert key_of(rows[0]) == key_of(Row(a=1, b="x", c=7.0))
    assert key_of(rows[0]) != key_maker("others", ("a", "b"))(rows[0])
    assert key_of(rows[0]) == "a09285f8aa132a2007870b3b25c078fe", "keys outlive processes"


def test_there_is_no_key_outside_of_a_call() -> None:
    with pytest.raises(IllegalStateError, match=r"idempotency_key='id'"):
        idempotency_key()
    with pytest.raises(IllegalStateError, match=r"no idempotency key here"):
        Rig(calls.keyed, 1)


# --- warming up


def test_a_worker_warms_up_once() -> None:
    warm_up = WarmUp("warm-up of a test", 1_000)
    assert warm_up.allowed(100, 50_000) == 1
    assert warm_up.allowed(100, 50_100) == 10
    assert WarmUp("warm-up of a test", 1_000).allowed(100, 50_500) == 50
    assert warm_up.allowed(100, 50_999) == 99
    assert warm_up.allowed(100, 60_000) == 100
    assert WarmUp("another of a test", 1_000).allowed(100, 60_000) == 1


def test_calls_at_once_while_it_warms_up() -> None:
    running = most_early = 0
    began = time.monotonic()

    async def count(row: Any) -> list[Any]:
        nonlocal running, most_early
        running += 1
        if time.monotonic() - began < 0.05:
            most_early = max(most_early, running)
        await asyncio.sleep(0.02)
        running -= 1
        return [(row.n,)]

    rig = Rig(count, 400, capacity=200, warm_up=WarmUp("warming up calls", 400))
    assert len(rig.results()) == 400
    assert most_early <= 200 * 50 // 400 + 1, "so far it had come by then, at most"


def test_rows_at_hand_come_when_it_is_warm() -> None:
    async def wait(row: Any) -> list[Any]:
        while not ended.is_set():
            await asyncio.sleep(0.001)
        return [row]

    ended = threading.Event()
    operator = AnswerOperator(
        wait,
        timeout=None,
        mode="ordered",
        capacity=4,
        read_ahead=None,
        warm_up=WarmUp("rows at hand", 100),
    )
    with OneInputStreamOperatorTestHarness(operator) as harness:
        harness.open()
        taken = []
        for now in (0, 50, 99, 100):
            harness.set_processing_time(now)
            while operator.is_available():
                harness.process_element(now)
            taken.append(operator.statistics().in_flight)
        ended.set()
        harness.end_input()
    assert taken == [1, 2, 3, 6]


# --- layers


class Turnstile:
    """Lets ``at_once`` calls in, and looks at how many there are."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.most = self.seen = self.waiting = self.most_waiting = 0
        self.events: list[str] = []
        self.lock = threading.Lock()
        self.inside = 0

    def open(self, context: Any, on_free: Callable[[], object]) -> None:
        self.events.append(f"open {context.get_task_name()}")
        self.on_free = on_free
        self.permits: Any = None
        self.blocking = threading.Semaphore(self.at_once)

    def num_saved(self) -> int:
        return 0

    def num_waiting(self) -> int:
        return self.waiting

    async def call(self, function: Callable[[Any], Awaitable[Any]], row: Any) -> Any:
        self.permits = self.permits or asyncio.Semaphore(self.at_once)
        self.wait(1)
        async with self.permits:
            self.wait(-1)
            self.enter()
            try:
                return await function(row)
            finally:
                self.inside -= 1

    def call_blocking(self, function: Callable[[Any], Any], row: Any) -> Any:
        self.wait(1)
        with self.blocking:
            self.wait(-1)
            with self.lock:
                self.enter()
            try:
                return function(row)
            finally:
                with self.lock:
                    self.inside -= 1

    def wait(self, change: int) -> None:
        with self.lock:
            self.waiting += change
            self.most_waiting = max(self.most_waiting, self.waiting)
        if change < 0:
            self.on_free()

    def enter(self) -> None:
        self.inside += 1
        self.seen += 1
        self.most = max(self.most, self.inside)

    def close(self) -> None:
        self.events.append("close")


@pytest.mark.parametrize("threads", [False, True])
def test_a_layer_lies_around_every_call(threads: bool) -> None:
    """No call is done before as many were inside as may be."""
    layer = Turnstile(5)

    async def square(row: Any) -> list[Any]:
        while layer.most < 5:
            await asyncio.sleep(0.001)
        return await calls.square(row)

    def square_in_thread(row: Any) -> list[Any]:
        until(lambda: layer.most >= 5)
        return calls.square_in_thread(row)

    fn = square_in_thread if threads else square
    rig = Rig(fn, 300, capacity=100, layers=(layer,))
    assert rig.results() == [(n, n * n) for n in range(300)]
    assert layer.seen == 300
    assert layer.most == 5
    assert layer.events == ["open calls", "close"]
    assert layer.waiting == 0


def test_few_rows_wait_in_a_layer() -> None:
    """Their timeouts run."""
    layer = Turnstile(3)
    Rig(calls.square, 300, capacity=100, layers=(layer,), timeout=60_000)
    assert layer.most_waiting <= 100 // 10 + 512, "what was on its way when it was full"


def test_layers_see_every_attempt() -> None:
    from flinkish.functions import AsyncRetryStrategy

    layer = Turnstile(50)
    retry = AsyncRetryStrategy.fixed_delay(5, 1)
    rig = Rig(calls.Flaky(3), 40, layers=(layer,), retry=retry, timeout=60_000)
    assert len(rig.results()) == 40
    assert layer.seen == 120


def test_callbacks_have_no_layers() -> None:
    class Calls(AsyncCallbackFunction):
        def async_invoke(self, value: Any, result_future: Any) -> None:
            result_future.complete([value])

    with pytest.raises(ArgumentTypeError, match=r"Calls\.async_invoke answers by callback"):
        AnswerOperator(Calls(), timeout=None, layers=(Turnstile(1),))


def test_a_layer_is_closed_after_a_failure() -> None:
    layer = Turnstile(1)

    async def fails(row: Any) -> list[Any]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Rig(fails, 10, layers=(layer,))
    assert layer.events[-1] == "close"
