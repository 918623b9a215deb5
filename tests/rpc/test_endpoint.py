"""Life and main thread of an endpoint; numbers are facts of flink-semantics.md, section E."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    EndpointNotStartedError,
    IllegalArgumentError,
    IllegalStateError,
    RecipientUnreachableError,
    RpcError,
    RpcInvalidStateError,
    RpcTimeoutError,
    UnsupportedOperationError,
)
from flinkish.rpc import RpcEndpoint, RpcFuture, RpcGateway, RpcService
from tests.waiting import until

from .rig import (
    SOON,
    Counter,
    CounterGateway,
    Fenced,
    FencedGateway,
    counter_of,
    main_thread,
    service,
    started,
)

__all__ = ["service"]


def test_it_discards_calls_until_it_is_started(service: RpcService) -> None:
    """E.1."""
    counter = Counter(service)
    gateway = counter_of(service, counter)
    with pytest.raises(EndpointNotStartedError, match=r"Discard message 'add'.*not been\s*started"):
        gateway.add(1).result(SOON)
    gateway.note(7)
    counter.start()
    assert gateway.add(2).result(SOON) == 2
    assert counter.noted == []
    assert [letter.method for letter in service.dead_letters] == ["add", "note"]
    assert [letter.told for letter in service.dead_letters] == [False, True]


def test_on_start_runs_in_the_main_thread(service: RpcService) -> None:
    """E.2."""
    counter, gateway = started(service)
    assert gateway.value() == 0
    assert counter.events == ["start"]


def test_a_failing_on_start_ends_it(service: RpcService) -> None:
    """E.2."""

    class Broken(Counter):
        def on_start(self) -> None:
            raise OSError("no disk")

    broken = Broken(service, "broken")
    broken.start()
    error = broken.termination_future.exception(SOON)
    assert isinstance(error, RpcError)
    assert "Could not start RpcEndpoint broken" in str(error)
    assert isinstance(error.__cause__, OSError)
    assert not broken.is_running


def test_stopped_it_discards_and_started_again_it_goes_on(service: RpcService) -> None:
    """E.3."""
    counter, gateway = started(service)
    assert gateway.add(1).result(SOON) == 1
    counter.stop()
    with pytest.raises(EndpointNotStartedError):
        gateway.add(1).result(SOON)
    counter.start()
    assert gateway.add(1).result(SOON) == 2
    assert counter.events == ["start", "start"]


def test_calls_are_answered_until_on_stop_has_ended(service: RpcService) -> None:
    """E.4, E.6."""
    counter, gateway = started(service)
    counter.stopping = stopping = RpcFuture()
    executor = counter.main_thread_executor
    assert main_thread(counter, lambda: counter.is_running)
    ended = counter.close_async()
    assert gateway.add(5).result(SOON) == 5
    assert executor.submit(lambda: counter.total).result(SOON) == 5
    assert counter.events == ["start", "stop"]
    assert not counter.is_running
    assert not ended.done()
    stopping.set_result(None)
    assert ended.result(SOON) is None
    with pytest.raises(RecipientUnreachableError, match="has ended"):
        gateway.add(1).result(SOON)


def test_what_waits_at_the_end_is_refused(service: RpcService) -> None:
    """E.4, E.23."""
    counter, gateway = started(service)
    gate = threading.Event()
    counter.run_async(lambda: gate.wait(SOON))
    ended = counter.close_async()
    late = gateway.add(1)
    gate.set()
    ended.result(SOON)
    assert isinstance(late.exception(SOON), RecipientUnreachableError)


@pytest.mark.parametrize("raised", ["raised", "in the future"])
def test_a_failing_on_stop_fails_the_termination_future(service: RpcService, raised: str) -> None:
    """E.5."""

    class Broken(Counter):
        def on_stop(self) -> Any:
            if raised == "raised":
                raise OSError("cannot stop")
            future: Future[None] = Future()
            future.set_exception(OSError("cannot stop"))
            return future

    broken = Broken(service)
    broken.start()
    assert isinstance(broken.close_async().exception(SOON), OSError)


def test_it_stops_once_however_often_it_is_closed(service: RpcService) -> None:
    """E.5."""
    counter, _ = started(service)
    first, second = counter.close_async(), counter.close_async()
    assert first is second is counter.termination_future
    first.result(SOON)
    counter.close_async().result(SOON)
    assert counter.events == ["start", "stop"]


def test_closed_before_its_start_it_never_stops(service: RpcService) -> None:
    """E.5."""
    counter = Counter(service)
    counter.close_async().result(SOON)
    assert counter.events == []


def test_resources_are_closed_before_on_stop(service: RpcService) -> None:
    """E.7."""
    counter, _ = started(service)

    class Resource:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            counter.events.append(self.name)

    for name in ("first", "second"):
        assert counter.register_resource(resource := Resource(name)) is resource
    kept = counter.register_resource(Resource("kept"))
    assert counter.unregister_resource(kept)
    assert not counter.unregister_resource(kept)
    counter.close_async().result(SOON)
    assert counter.events == ["start", "second", "first", "stop"]
    with pytest.raises(IllegalStateError, match="has closed its resources"):
        counter.register_resource(Resource("late"))
    assert counter.events[-1] == "late"
    with pytest.raises(ArgumentTypeError, match="close"):
        counter.register_resource(object())  # type: ignore[type-var]


def test_a_resource_that_does_not_close_fails_the_termination(service: RpcService) -> None:
    """E.7."""
    counter, _ = started(service)

    class Stuck:
        def close(self) -> None:
            raise OSError("stuck")

    counter.register_resource(Stuck())
    error = counter.close_async().exception(SOON)
    assert isinstance(error, RuntimeError)
    assert isinstance(error.__cause__, OSError)
    assert counter.events == ["start", "stop"]


def test_a_name_is_free_when_its_endpoint_has_ended(service: RpcService) -> None:
    """E.8."""
    counter, _ = started(service)
    with pytest.raises(IllegalArgumentError, match="already"):
        Counter(service)
    made: Future[Counter] = Future()
    counter.termination_future.add_done_callback(lambda _: made.set_result(Counter(service)))
    counter.close_async()
    again = made.result(SOON)
    again.start()
    assert counter_of(service, again).add(1).result(SOON) == 1


def test_the_self_gateway_is_of_a_type_it_implements(service: RpcService) -> None:
    """E.10."""

    class Special(Counter):
        pass

    special = Special(service, "special")
    special.start()
    gateway = special.get_self_gateway(CounterGateway)
    assert gateway.add(3).result(SOON) == 3
    with pytest.raises(UnsupportedOperationError, match="it implements CounterGateway"):
        special.get_self_gateway(FencedGateway)
    leader = Fenced(service, "t1")
    leader.start()
    assert leader.get_self_gateway(FencedGateway).whose().result(SOON) == "'t1'"


def test_the_main_thread_is_validated(service: RpcService) -> None:
    """E.11; here always, in Flink with assertions only."""
    counter, _ = started(service)
    with pytest.raises(IllegalStateError, match="main thread of endpoint 'counter'"):
        counter.validate_runs_in_main_thread()
    main_thread(counter, counter.validate_runs_in_main_thread)
    other = Counter(service, "other")
    other.start()
    with pytest.raises(IllegalStateError):
        main_thread(other, counter.validate_runs_in_main_thread)


def test_the_main_thread_executor(service: RpcService, caplog: pytest.LogCaptureFixture) -> None:
    """E.12."""
    counter, _ = started(service)
    executor = counter.main_thread_executor
    assert counter.main_thread_executor is executor
    ran = threading.Event()
    executor.execute(ran.set)
    assert ran.wait(SOON)

    def inside() -> str:
        counter.validate_runs_in_main_thread()
        return "inside"

    assert executor.schedule(inside, 5).result(SOON) == "inside"
    assert executor.schedule(inside, 0).result(SOON) == "inside"
    later = executor.schedule(lambda: counter.events.append("never"), "1 hour")
    assert later.cancel()
    until(lambda: service.timers.statistics().cancelled == 1)
    for periodic in (executor.schedule_at_fixed_rate, executor.schedule_with_fixed_delay):
        with pytest.raises(UnsupportedOperationError, match="schedule itself again"):
            periodic(inside, 1, 1)
    with pytest.raises(IllegalArgumentError):
        executor.schedule(inside, -1)
    counter.close_async().result(SOON)
    with caplog.at_level(logging.WARNING, "flinkish.rpc"):
        assert executor.schedule(inside, 1).cancelled()
    assert "is not run" in caplog.text
    assert "never" not in counter.events


def test_call_async(service: RpcService) -> None:
    """E.13."""
    counter, _ = started(service)
    assert counter.call_async(lambda: 7, SOON * 1000).result(SOON) == 7
    gate = threading.Event()
    counter.run_async(lambda: gate.wait(SOON))
    late = counter.call_async(lambda: 8, 10)
    assert isinstance(late.exception(SOON), RpcTimeoutError)
    assert isinstance(late.exception(SOON), TimeoutError)
    gate.set()

    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        counter.call_async(fails, SOON * 1000).result(SOON)


def test_what_run_async_raises_is_logged(
    service: RpcService, caplog: pytest.LogCaptureFixture
) -> None:
    """E.13, E.15: a tell's error, too."""
    counter, gateway = started(service)

    def fails() -> None:
        raise ValueError("lost")

    with caplog.at_level(logging.ERROR, "flinkish.rpc"):
        counter.run_async(fails)
        assert gateway.add(1).result(SOON) == 1
    assert "lost" in caplog.text


def test_functions_run_in_the_order_of_their_calls(service: RpcService) -> None:
    counter, gateway = started(service)
    order: list[int] = []
    for i in range(500):
        counter.run_async(lambda i=i: order.append(i))  # type: ignore[misc]
    assert gateway.value() == 0
    assert order == list(range(500))


def test_schedule_run_async(service: RpcService) -> None:
    """E.14."""
    counter, gateway = started(service)
    done: Future[bool] = Future()
    counter.schedule_run_async(lambda: done.set_result(counter._inbox.in_turn()), 1)
    assert done.result(SOON)
    with pytest.raises(IllegalArgumentError):
        counter.schedule_run_async(lambda: None, -1)
    with pytest.raises(ArgumentTypeError):
        counter.run_async("not a function")  # type: ignore[arg-type]
    proxy: Any = gateway
    assert proxy.call_async(lambda: 3, SOON * 1000).result(SOON) == 3


def test_a_function_for_an_ended_endpoint(service: RpcService) -> None:
    counter, gateway = started(service)
    counter.close_async().result(SOON)
    late = counter.call_async(int, SOON * 1000)
    assert isinstance(late.exception(SOON), RecipientUnreachableError)
    counter.run_async(int)
    proxy: Any = gateway
    with pytest.raises(RecipientUnreachableError):
        proxy.run_async(int)
    assert len(service.dead_letters) == 2


def test_what_no_endpoint_survives_ends_the_service(caplog: pytest.LogCaptureFixture) -> None:
    """E.29: no restart; the siblings end, too."""
    service = RpcService("doomed")
    counter, _ = started(service)
    sibling, _ = started(service, "sibling")

    def fatal() -> None:
        raise SystemExit(3)

    with caplog.at_level(logging.CRITICAL, "flinkish.rpc"):
        counter.run_async(fatal)
        assert isinstance(counter.termination_future.exception(SOON), SystemExit)
        sibling.termination_future.result(SOON)
        service.close_async().exception(SOON)
    assert sibling.events == ["start", "stop"]
    assert service.is_closed


def test_an_invalid_transition_ends_the_endpoint(
    service: RpcService, caplog: pytest.LogCaptureFixture
) -> None:
    """E.30."""
    counter, _ = started(service)
    counter.stopping = RpcFuture()
    with caplog.at_level(logging.CRITICAL, "flinkish.rpc"):
        ended = counter.close_async()
        counter.start()
        assert isinstance(ended.exception(SOON), RpcInvalidStateError)
    assert not service.is_closed
    counter.stopping.set_result(None)


def test_every_method_must_be_implemented(service: RpcService) -> None:
    class Lazy(RpcEndpoint, CounterGateway):
        pass

    with pytest.raises(ArgumentTypeError, match=r"Lazy does not implement CounterGateway\.add"):
        Lazy(service, "lazy")

    class OneGateway(RpcGateway):
        def one(self) -> Future[int]: ...

    class Many(RpcEndpoint, OneGateway):
        async def one(self) -> AsyncIterator[int]:  # type: ignore[override]
            yield 1

    with pytest.raises(ArgumentTypeError, match=r"Many\.one is an asynchronous generator"):
        Many(service, "many")

    class Slow(RpcEndpoint):
        async def on_start(self) -> None:  # type: ignore[override]
            pass

    with pytest.raises(ArgumentTypeError, match=r"Slow\.on_start is `async def`.*run_async"):
        Slow(service, "slow")


def test_names_are_made_up_and_checked(service: RpcService) -> None:
    first, second = Counter(service, None), Counter(service, None)
    assert first.endpoint_id != second.endpoint_id
    assert first.address == f"flinkish://test/user/rpc/{first.endpoint_id}"
    assert first.hostname == "localhost"
    assert first.service is service
    with pytest.raises(IllegalArgumentError, match="an endpoint id is text"):
        Counter(service, "a/b")
    assert "stopped" in repr(first)


def test_callers_that_give_up_its_end_keep_nobody_else_from_it(service: RpcService) -> None:
    counter, _ = started(service)
    first = counter.close_async()
    assert not first.cancel()
    assert counter.close_async().result(SOON) is None
    closed = service.close_async()
    assert not closed.cancel()
    assert closed.result(SOON) is None
