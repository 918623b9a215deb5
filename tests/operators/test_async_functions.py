"""Functions of all kinds under the asynchronous operator, on a real loop and real threads."""

import asyncio
import functools
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    AsyncTimeoutError,
    UserFunctionError,
)
from flinkish.functions import AsyncFunction, AsyncRetryStrategy, RuntimeContext
from flinkish.operators.async_settings import invoker_of
from tests.operators.async_rig import Harness, PlusOne, event_loop_settles, plus_one
from tests.waiting import PATIENCE, until

# --- kinds of functions


class Yielding(AsyncFunction):
    """An asynchronous generator."""

    async def async_invoke(self, value: int) -> AsyncIterator[int]:  # type: ignore[override]
        await asyncio.sleep(0)
        yield value + 1


class Callable_:
    async def __call__(self, value: int) -> Any:
        return (one for one in [value + 1])


def plain(value: int) -> list[int]:
    time.sleep(0.001)
    return [value + 1]


async def plus(number: int, value: int) -> list[int]:
    return [value + number]


@pytest.mark.parametrize(
    "fn",
    [plus_one, PlusOne(), Yielding(), Callable_(), plain, functools.partial(plus, 1)],
    ids=["async def", "AsyncFunction", "generator", "callable", "plain", "partial"],
)
@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_functions_of_all_kinds(run: Callable[..., Harness], fn: Any, mode: str) -> None:
    harness = run(fn, range(50), mode=mode, capacity=7, timeout=60_000)
    values = harness.extract_output_values()
    assert sorted(values) == list(range(1, 51))
    assert mode == "unordered" or values == sorted(values)
    assert harness.failure is None


def test_plain_functions_run_on_a_bounded_pool(run: Callable[..., Harness]) -> None:
    threads: set[str] = set()
    running, most = 0, 0
    lock = threading.Lock()

    def call(value: int) -> list[int]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threads.add(threading.current_thread().name)
        time.sleep(0.002)
        with lock:
            running -= 1
        return [value]

    run(call, range(60), capacity=4)
    assert most <= 4
    assert len(threads) <= 4
    assert threading.current_thread().name not in threads


def test_a_plain_function_that_gives_a_coroutine_is_refused(run: Callable[..., Harness]) -> None:
    """A function that is not awaitable but pretends to be."""
    harness = run(lambda value: plus_one(value), [1])
    assert isinstance(harness.failure, ArgumentTypeError)
    assert "is a plain function and gave a coroutine, which nobody awaits" in str(harness.failure)


def test_names_of_functions() -> None:
    assert invoker_of(PlusOne()).name == "PlusOne.async_invoke"
    assert invoker_of(plus_one).name == "plus_one"
    assert invoker_of(functools.partial(plus, 1)).name == "plus"
    assert invoker_of(Callable_()).name == "Callable_"


# --- open and close


class Opened(AsyncFunction):
    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        self.lock = asyncio.Lock()
        self.loop = asyncio.get_running_loop()
        self.log.append(f"open {runtime_context.get_index_of_this_subtask()}")

    async def async_invoke(self, value: int) -> list[bool]:
        async with self.lock:
            return [asyncio.get_running_loop() is self.loop]

    async def close(self) -> None:  # type: ignore[override]
        assert asyncio.get_running_loop() is self.loop
        self.log.append("close")


def test_open_and_close_may_be_coroutines_on_the_loop_of_the_calls(
    run: Callable[..., Harness],
) -> None:
    log: list[str] = []
    harness = run(Opened(log), [1, 2])
    assert harness.extract_output_values() == [True, True]
    harness.close()
    assert log == ["open 0", "close"]


def test_an_open_that_raises_is_explained(run: Callable[..., Harness]) -> None:
    class Broken(PlusOne):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        run(Broken())
    assert raised.value.__notes__ == ["raised in open of Broken"]


# --- errors


def test_an_error_carries_its_traceback_and_names_the_row(run: Callable[..., Harness]) -> None:
    """D.27: raised in async_invoke; an exception that cannot be pickled is no trouble here."""

    class Locked(Exception):
        def __init__(self) -> None:
            super().__init__("locked")
            self.lock = threading.Lock()

    async def deep(value: int) -> list[int]:
        await asyncio.sleep(0)
        raise Locked

    harness = run(deep, [5])
    error = harness.failure
    assert isinstance(error, Locked)
    names = []
    trace = error.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names[-1] == "deep"
    [note] = error.__notes__
    assert "deep for 5 of timestamp None, attempt 1, in AsyncWaitOperator (1/1)" in note


def test_an_error_of_a_plain_function(run: Callable[..., Harness]) -> None:
    def fail(value: int) -> list[int]:
        raise KeyError(value)

    assert isinstance(run(fail, [1]).failure, KeyError)


@pytest.mark.parametrize("result", [None, 7, "text"])
def test_results_must_be_iterable(run: Callable[..., Harness], result: Any) -> None:
    """D.26."""

    async def wrong(value: int) -> Any:
        return result

    harness = run(wrong, [1])
    assert isinstance(harness.failure, ArgumentTypeError)
    assert "wrong gave" in str(harness.failure)
    assert harness.get_output() == []


def test_a_call_that_cancels_itself_fails(run: Callable[..., Harness]) -> None:
    async def cancels(value: int) -> list[int]:
        raise asyncio.CancelledError

    harness = run(cancels, [1])
    assert isinstance(harness.failure, UserFunctionError)
    assert "was cancelled for 1, by itself" in str(harness.failure)


def test_attempts_until_it_works(run: Callable[..., Harness]) -> None:
    tries: dict[int, int] = {}

    async def flaky(value: int) -> list[int]:
        tries[value] = tries.get(value, 0) + 1
        await asyncio.sleep(0)
        if tries[value] < 3:
            raise ConnectionError
        return [value]

    harness = run(
        flaky, timeout=60_000, retry=AsyncRetryStrategy.exponential_backoff(5, 10, 100, 2)
    )
    harness.process_elements(range(3))
    while len(harness.get_output()) < 3:
        harness.operator._executor.yield_()
        harness.advance_time(50)
    assert tries == {0: 3, 1: 3, 2: 3}


# --- what is no Exception


class Odd(BaseException):
    pass


ODD = [GeneratorExit, Odd, SystemExit, KeyboardInterrupt]


@pytest.mark.parametrize("error", ODD)
@pytest.mark.parametrize("waits", [False, True])
def test_a_call_ends_whatever_it_raises(
    run: Callable[..., Harness], error: type[BaseException], waits: bool
) -> None:
    """One that raised GeneratorExit never ended, and kept its place among those at once."""

    async def raising(value: int) -> list[int]:
        if waits:
            await asyncio.sleep(0)
        raise error("odd")

    harness = run(raising, timeout=60_000, on_failure=lambda *_: [])
    harness.process_element(1)
    until(lambda: harness.run_mailbox() is None and harness.failure is not None)
    assert type(harness.failure) is error


@pytest.mark.parametrize("error", [*ODD, asyncio.CancelledError])
def test_a_timeout_ends_whatever_it_raises(
    run: Callable[..., Harness], error: type[BaseException]
) -> None:
    class Late(Hanging):
        async def timeout(self, value: int) -> list[str]:
            await asyncio.sleep(0)
            raise error("odd")

    harness = run(Late(), timeout=10)
    harness.process_element(1)
    harness.set_processing_time(10)
    until(lambda: harness.run_mailbox() is None and harness.failure is not None)
    assert isinstance(harness.failure, error)


# --- timeouts


class Hanging(AsyncFunction):
    def __init__(self) -> None:
        self.cancelled = threading.Event()

    async def async_invoke(self, value: int) -> list[int]:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return [value]


def test_an_overdue_coroutine_is_cancelled(run: Callable[..., Harness]) -> None:
    fn = Hanging()
    harness = run(fn, timeout=10)
    harness.process_element(1)
    event_loop_settles(harness)
    harness.set_processing_time(10)
    harness.run_mailbox()
    assert fn.cancelled.wait(PATIENCE)
    assert isinstance(harness.failure, AsyncTimeoutError)


class Substituting(Hanging):
    async def timeout(self, value: int) -> list[str]:
        await asyncio.sleep(0)
        return [f"instead of {value}"]


class Raising(Hanging):
    def timeout(self, value: int) -> list[str]:
        raise ZeroDivisionError


class GivingNothing(Hanging):
    def timeout(self, value: int) -> None:
        return None


def test_timeout_may_be_a_coroutine(run: Callable[..., Harness]) -> None:
    """D.27: its result is used."""
    harness = run(Substituting(), timeout=10)
    harness.process_elements([1, 2])
    harness.set_processing_time(10)
    harness.end_input()
    assert harness.extract_output_values() == ["instead of 1", "instead of 2"]


@pytest.mark.parametrize(
    ("fn", "error"), [(Raising, ZeroDivisionError), (GivingNothing, ArgumentTypeError)]
)
def test_a_timeout_that_raises_fails_the_task(
    run: Callable[..., Harness], fn: type[Hanging], error: type[Exception]
) -> None:
    """D.27."""
    harness = run(fn(), timeout=10)
    harness.process_element(1)
    harness.set_processing_time(10)
    harness.run_mailbox()
    assert isinstance(harness.failure, error)


def test_close_cancels_what_is_under_way(run: Callable[..., Harness]) -> None:
    fn = Hanging()
    harness = run(fn)
    harness.process_elements([1, 2, 3])
    event_loop_settles(harness)
    harness.close()
    assert fn.cancelled.is_set()


def test_a_call_that_was_not_started_in_time_is_not_started(run: Callable[..., Harness]) -> None:
    started = []
    gate = threading.Event()

    def wait(value: int) -> list[int]:
        started.append(value)
        gate.wait()
        return [value]

    harness = run(wait, timeout=10, capacity=1, on_failure=lambda *_: [])
    harness.process_element(1)
    until(lambda: started == [1])  # else it is not started in time either, and the thread is free
    harness.set_processing_time(10)
    harness.run_mailbox()
    harness.process_element(2)  # waits for the one thread
    harness.set_processing_time(20)
    gate.set()
    harness.end_input()
    harness.close()
    assert 2 not in started
