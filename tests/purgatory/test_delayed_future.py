"""Operations that wait for futures (P.12, Kafka: DelayedFutureTest.testDelayedFuture)."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError, FutureTimeoutError
from flinkish.purgatory import DelayedFuture, DelayedOperationPurgatory, ManualTimer
from tests.purgatory.operations import Operation
from tests.waiting import PATIENCE


class Called:
    """A callback that remembers its thread."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.event = threading.Event()

    def __call__(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.event.set()


def done(value: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def test_all_done_calls_back_on_the_calling_thread() -> None:
    with DelayedOperationPurgatory("futures") as home:
        called = Called()
        assert home.try_complete_else_watch(DelayedFuture(1000, [done(1), done(2)], called), ["k"])
        assert home.try_complete_else_watch(DelayedFuture(1000, [], called), ["k"])
        assert called.threads == [threading.current_thread().name] * 2


def test_pending_ones_are_waited_for_on_one_lazy_thread() -> None:
    with DelayedOperationPurgatory("futures") as home:
        futures: list[Future[Any]] = [Future() for _ in range(3)]
        called = [Called(), Called()]
        for one in called:
            operation = DelayedFuture(100_000, [done(0), *futures], one)
            assert not home.try_complete_else_watch(operation, ["k"])
        names = [thread.name for thread in threading.enumerate()]
        assert not any(name.startswith("completer") for name in names)
        futures[0].set_result(1)
        futures[2].set_exception(ValueError("no"))
        assert not called[0].event.is_set()
        futures[1].cancel()
        for one in called:
            assert one.event.wait(PATIENCE)
            assert one.threads == ["completer-futures_0"]
    assert home.watched() == 0


def test_time_fails_what_is_pending() -> None:
    timer, called = ManualTimer(), Called()
    home = DelayedOperationPurgatory("futures", timer=timer, reaper_enabled=False)
    pending: Future[Any] = Future()
    running: Future[Any] = Future()
    running.set_running_or_notify_cancel()
    operation = DelayedFuture("1 second", [pending, done(1), running], called)
    home.try_complete_else_watch(operation, ["k"])
    home.advance_clock(999)
    assert not pending.done()
    home.advance_clock(1)
    assert isinstance(pending.exception(0), FutureTimeoutError)
    assert isinstance(pending.exception(0), TimeoutError)
    assert not running.done(), "its thread will set the result"
    assert len(called.threads) == 1
    running.set_result(1)
    assert len(called.threads) == 1


def test_a_check_completes_it_too() -> None:
    timer, called = ManualTimer(), Called()
    home = DelayedOperationPurgatory("futures", timer=timer, reaper_enabled=False)
    future: Future[Any] = Future()
    home.try_complete_else_watch(DelayedFuture(1000, [future], called), ["k"])
    assert home.check_and_complete("k") == 0
    future.set_result(1)
    home.check_and_complete("k")
    home.shutdown()
    assert len(called.threads) == 1


def test_without_a_purgatory_the_last_future_calls_back() -> None:
    called = Called()
    future: Future[Any] = Future()
    assert not DelayedFuture(1000, [future], called).safe_try_complete()
    future.set_result(1)
    assert called.threads == [threading.current_thread().name]


def test_after_shutdown_the_last_future_calls_nobody() -> None:
    called = Called()
    home = DelayedOperationPurgatory("futures")
    future: Future[Any] = Future()
    home.try_complete_else_watch(DelayedFuture(100_000, [future], called), ["k"])
    home.shutdown()
    assert len(called.threads) == 1
    assert isinstance(future.exception(0), FutureTimeoutError)
    home.complete_later(operation := Operation())
    assert operation.completions == 1


def test_a_callback_that_raises_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("bad callback")

    with DelayedOperationPurgatory("futures") as home:
        future: Future[Any] = Future()
        home.try_complete_else_watch(DelayedFuture(100_000, [future], fail), ["k"])
        future.set_result(1)
    assert home.statistics().errors == 1
    assert "bad callback" in caplog.text


def test_the_futures_of_an_executor() -> None:
    called, gate = Called(), threading.Event()
    with ThreadPoolExecutor(2) as pool, DelayedOperationPurgatory("futures") as home:
        futures = [pool.submit(gate.wait, PATIENCE) for _ in range(4)]
        home.try_complete_else_watch(DelayedFuture(100_000, futures, called), ["k"])
        gate.set()
        assert called.event.wait(PATIENCE)
    assert all(future.done() for future in futures)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentTypeError, match="futures"):
        DelayedFuture(5, [7], Called())  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="callable"):
        DelayedFuture(5, [], 7)  # type: ignore[arg-type]
