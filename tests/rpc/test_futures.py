"""The light future has the manners of concurrent.futures.Future."""

from __future__ import annotations

import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from flinkish.common.errors import RpcTimeoutError
from flinkish.rpc import RpcFuture, RpcService

from .rig import SOON, service, started

__all__ = ["service"]

BOTH: list[Callable[[], Any]] = [RpcFuture, concurrent.futures.Future]
both = pytest.mark.parametrize("make", BOTH, ids=["light", "standard"])


@both
def test_a_result(make: Callable[[], Any]) -> None:
    future = make()
    assert (future.done(), future.running(), future.cancelled()) == (False, False, False)
    future.set_result(3)
    assert future.result() == future.result(0) == 3
    assert future.exception() is None
    assert (future.done(), future.running(), future.cancelled()) == (True, False, False)
    assert not future.cancel()
    with pytest.raises(concurrent.futures.InvalidStateError):
        future.set_result(4)
    with pytest.raises(concurrent.futures.InvalidStateError):
        future.set_exception(ValueError())


@both
def test_an_error(make: Callable[[], Any]) -> None:
    future = make()
    error = ValueError("x")
    future.set_exception(error)
    for _ in range(2):
        with pytest.raises(ValueError, match="x") as caught:
            future.result()
        assert caught.value is error
    assert future.exception() is error
    assert future.done()


@both
def test_cancelling(make: Callable[[], Any]) -> None:
    future = make()
    assert future.cancel()
    assert future.cancel()
    assert future.cancelled()
    assert future.done()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    with pytest.raises(concurrent.futures.CancelledError):
        future.exception()
    assert not future.set_running_or_notify_cancel()


@both
def test_a_begun_one_cannot_be_cancelled(make: Callable[[], Any]) -> None:
    future = make()
    assert future.set_running_or_notify_cancel()
    assert future.running()
    assert not future.cancel()
    future.set_result(1)
    assert not future.running()


@both
def test_waiting_ends_in_time(make: Callable[[], Any]) -> None:
    future = make()
    for timeout in (0, 0.01, -1):
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(timeout)
        with pytest.raises(concurrent.futures.TimeoutError):
            future.exception(timeout)


@both
def test_callbacks(make: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> None:
    future = make()
    calls: list[Any] = []

    def fails(_: object) -> None:
        raise OSError("callback")

    future.add_done_callback(lambda f: calls.append((1, f)))
    future.add_done_callback(fails)
    future.add_done_callback(lambda f: calls.append((2, f)))
    with caplog.at_level(logging.ERROR):
        future.set_result(0)
        future.add_done_callback(lambda f: calls.append((3, f)))
    assert calls == [(1, future), (2, future), (3, future)]
    assert "callback" in caplog.text


def test_many_waiters_are_all_woken() -> None:
    future: RpcFuture[int] = RpcFuture()
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(future.result(SOON))) for _ in range(20)]
    for thread in threads:
        thread.start()
    time.sleep(0.01)
    future.set_result(9)
    for thread in threads:
        thread.join(SOON)
    assert seen == [9] * 20


def test_only_errors_are_errors() -> None:
    future: RpcFuture[int] = RpcFuture()
    with pytest.raises(TypeError, match="needs an exception"):
        future.set_exception("text")  # type: ignore[arg-type]
    future.set_exception(ValueError)
    assert isinstance(future.exception(), ValueError)
    assert "raised ValueError" in repr(future)
    assert "pending" in repr(RpcFuture())


@pytest.mark.stress
def test_one_of_many_ends_it() -> None:
    """F1 of rpc/future.pxd: set, cancelled and waited for at once, over and over."""
    for round_ in range(300):
        future: RpcFuture[int] = RpcFuture()
        start = threading.Barrier(4)
        won: list[object] = []
        called: list[object] = []

        def finish(future: RpcFuture[int], n: int, won: list[object]) -> None:
            start.wait()  # noqa: B023
            try:
                future.set_result(n)
            except concurrent.futures.InvalidStateError:
                return
            won.append(n)

        def cancel(future: RpcFuture[int], won: list[object]) -> None:
            start.wait()  # noqa: B023
            if future.cancel():
                won.append("cancelled")

        threads = [
            threading.Thread(target=finish, args=(future, 1, won)),
            threading.Thread(target=finish, args=(future, 2, won)),
            threading.Thread(target=cancel, args=(future, won)),
        ]
        for thread in threads:
            thread.start()
        start.wait()
        future.add_done_callback(called.append)
        try:
            result: object = future.result(SOON)
        except concurrent.futures.CancelledError:
            result = "cancelled"
        for thread in threads:
            thread.join(SOON)
        assert won == [result], round_
        assert called == [future]


def test_a_cancelled_ask_frees_its_time_limit(service: RpcService) -> None:
    _, gateway = started(service)
    futures: list[Any] = [gateway.never() for _ in range(100)]
    assert len(service.deadlines) == 100
    assert all(future.cancel() for future in futures)
    assert len(service.deadlines) == 0


def test_a_late_answer_is_dropped(service: RpcService) -> None:
    counter, gateway = started(service)
    gate = threading.Event()
    counter.run_async(lambda: gate.wait(SOON))
    hasty: Any = gateway
    late = hasty.with_timeout(5).add(1)
    assert isinstance(late.exception(SOON), RpcTimeoutError)
    gate.set()
    assert gateway.value() == 1
    assert isinstance(late.exception(), RpcTimeoutError)
