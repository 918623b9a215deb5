"""No fault of one call reaches another one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest

from flinkish.common.errors import (
    RemoteError,
    RpcError,
)
from flinkish.rpc import RpcEndpoint, RpcFuture, RpcGateway, RpcService

from .resisting import RESISTING
from .rig import (
    SECRET,
    SOON,
    Counter,
    client,
    far,
    server,
    service,
    started,
)

__all__ = ["client", "server", "service"]

FATAL = [SystemExit, KeyboardInterrupt, GeneratorExit, RecursionError, MemoryError, BaseException]
fatal = pytest.mark.parametrize("kind", FATAL)


class ErrorGateway(RpcGateway):
    def fail(self, which: str) -> Future[int]: ...
    def fail_later(self, which: str) -> Future[int]: ...
    def told(self, which: str) -> None: ...


class Failing(RpcEndpoint, ErrorGateway):
    def fail(self, which: str) -> Any:
        raise RESISTING[which]()

    def fail_later(self, which: str) -> Any:
        future: RpcFuture[int] = RpcFuture()
        threading.Thread(target=lambda: future.set_exception(RESISTING[which]())).start()
        return future

    def told(self, which: str) -> None:
        raise RESISTING[which]()


@pytest.mark.parametrize("which", RESISTING)
def test_an_error_that_resists_ends_its_call_alone(
    server: RpcService, client: RpcService, which: str
) -> None:
    failing = Failing(server, "failing")
    failing.start()
    _, counter = far(server, client)
    gateway = client.connect(failing.address, ErrorGateway).result(SOON)
    assert isinstance(gateway.fail(which).exception(SOON), RemoteError)
    assert isinstance(gateway.fail_later(which).exception(SOON), RemoteError)
    assert counter.add(1).result(SOON) == 1
    assert not server.is_closed


# --- errors that are no Exception


class FatalGateway(RpcGateway):
    def exit(self, name: str) -> Future[int]: ...
    def exit_later(self, name: str) -> Future[int]: ...
    def told(self, name: str) -> None: ...
    def value(self) -> int: ...


class Fatal(RpcEndpoint, FatalGateway):
    def exit(self, name: str) -> Any:
        raise {kind.__name__: kind for kind in FATAL}[name]

    def exit_later(self, name: str) -> Any:
        class Evil(Future[int]):
            def result(self, timeout: float | None = None) -> Any:
                raise {kind.__name__: kind for kind in FATAL}[name]

        future = Evil()
        future.set_result(1)
        return future

    def told(self, name: str) -> None:
        self.exit(name)

    def value(self) -> int:
        return 5


@pytest.fixture(params=["local", "serialized", "remote"])
def gateway(request: pytest.FixtureRequest) -> Iterator[Any]:
    host = "127.0.0.1" if request.param == "remote" else None
    with (
        RpcService(
            "fatal", host=host, secret=SECRET, force_serialization=request.param == "serialized"
        ) as home,
        RpcService("asks", secret=SECRET) as other,
    ):
        endpoint = Fatal(home, "fatal")
        endpoint.start()
        asking = other if host else home
        yield asking.connect(endpoint.address, FatalGateway).result(SOON)
        assert not home.is_closed
        assert endpoint.is_running


@fatal
def test_no_error_of_a_method_ends_more_than_its_call(
    gateway: FatalGateway, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    for ask in (gateway.exit, gateway.exit_later):
        error = ask(kind.__name__).exception(SOON)
        assert isinstance(error, kind) or (
            isinstance(error, RemoteError) and error.type_name.endswith(kind.__name__)
        )
    gateway.told(kind.__name__)
    assert gateway.value() == 5
    assert "called by a tell, raised" in caplog.text


@fatal
def test_nothing_that_a_callback_raises_goes_further(
    server: RpcService,
    client: RpcService,
    kind: type[BaseException],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def bad(_: object) -> None:
        raise kind

    called = threading.Event()
    counter, near = started(server, "near")
    far_one = client.connect(counter.address, type(near).__mro__[2]).result(SOON)
    for gateway in (near, far_one):
        held = threading.Event()
        counter.run_async(lambda held=held: held.wait(SOON))  # type: ignore[misc]
        future: Any = gateway.add(1)  # type: ignore[attr-defined]
        future.add_done_callback(bad)
        future.add_done_callback(lambda _: called.set())
        held.set()
        assert called.wait(SOON)
        called.clear()
        assert gateway.value() == counter.total  # type: ignore[attr-defined]
    assert caplog.text.count("the callback") == 2
    assert not server.is_closed


def test_ctrl_c_in_the_main_thread_is_not_lost() -> None:
    seen: list[object] = []

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    future: RpcFuture[int] = RpcFuture()
    future.add_done_callback(interrupted)
    future.add_done_callback(seen.append)
    with pytest.raises(KeyboardInterrupt):
        future.set_result(1)
    assert seen == [future]


@fatal
def test_starting_and_stopping_may_fail_in_any_way(
    service: RpcService, kind: type[BaseException]
) -> None:
    """E.2, E.5: the endpoint ends; its siblings do not."""

    class Start(Counter):
        def on_start(self) -> None:
            raise kind

    class Stop(Counter):
        def on_stop(self) -> None:
            raise kind

    sibling, gateway = started(service)
    start, stop = Start(service, "start"), Stop(service, "stop")
    start.start()
    stop.start()
    error = start.termination_future.exception(SOON)
    assert isinstance(error, RpcError)
    assert isinstance(error.__cause__, kind)
    assert isinstance(stop.close_async().exception(SOON), kind)
    assert gateway.value() == 0
    assert sibling.is_running


@dataclass
class Trap:
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise SystemExit("decoding")


class TrapGateway(RpcGateway):
    def trap(self, n: int) -> Future[Trap]: ...
    def take(self, trap: Trap) -> Future[int]: ...


class TrapEndpoint(RpcEndpoint, TrapGateway):
    def trap(self, n: int) -> Any:
        trap = Trap(0)
        trap.n = n
        return trap

    def take(self, trap: Trap) -> Any:
        return trap.n


def test_a_decoder_that_exits_fails_its_call_alone(server: RpcService, client: RpcService) -> None:
    endpoint = TrapEndpoint(server, "trap")
    endpoint.start()
    gateway = client.connect(endpoint.address, TrapGateway).result(SOON)
    assert "deserialize the result" in str(gateway.trap(-1).exception(SOON))
    bad = Trap(1)
    bad.n = -1
    assert "deserialize the arguments" in str(gateway.take(bad).exception(SOON))
    assert gateway.trap(3).result(SOON) == Trap(3)


def test_errors_that_go_through_bytes_are_those_of_another_process() -> None:
    with RpcService("bytes", force_serialization=True) as service:
        _, gateway = started(service)
        error = gateway.fail("x").exception(SOON)
        assert isinstance(error, RemoteError)
        assert isinstance(error, KeyError)
        assert error.type_name == "builtins.KeyError"
