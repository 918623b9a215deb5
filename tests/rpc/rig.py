"""Gateways and endpoints that the tests of RPC share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Annotated, Any

import pytest

from flinkish.rpc import (
    FencedRpcEndpoint,
    FencedRpcGateway,
    RpcEndpoint,
    RpcFuture,
    RpcGateway,
    RpcService,
    RpcTimeout,
    local,
)

SOON = 60  # seconds that no test needs


@pytest.fixture
def service() -> Iterator[RpcService]:
    service = RpcService("test")
    yield service
    service.close_async().exception(SOON)


@pytest.fixture(params=["by reference", "serialized"])
def either(request: pytest.FixtureRequest) -> Iterator[RpcService]:
    service = RpcService("test", force_serialization=request.param == "serialized")
    yield service
    service.close_async().exception(SOON)


class CounterGateway(RpcGateway):
    def add(self, n: int) -> Future[int]: ...
    def note(self, n: int) -> None: ...
    def value(self) -> int: ...
    def fail(self, text: str) -> Future[int]: ...
    def fail_at_once(self) -> int: ...
    def never(self) -> Future[int]: ...
    def never_in(self, limit: Annotated[int, RpcTimeout] = 20) -> Future[int]: ...
    def nothing(self) -> Future[None]: ...
    def maybe(self, n: int) -> Future[int | None]: ...
    def echo(self, thing: Any) -> Future[Any]: ...


class Counter(RpcEndpoint, CounterGateway):
    def __init__(self, service: RpcService, name: str | None = "counter", **more: Any) -> None:
        super().__init__(service, name, **more)
        self.total = 0
        self.noted: list[int] = []
        self.kept = 0
        self.events: list[str] = []
        self.stopping: Any = None

    def on_start(self) -> None:
        self.validate_runs_in_main_thread()
        self.events.append("start")

    def on_stop(self) -> Any:
        self.validate_runs_in_main_thread()
        self.events.append("stop")
        return self.stopping

    def add(self, n: int) -> int:  # type: ignore[override]
        self.validate_runs_in_main_thread()
        self.total += n
        return self.total

    def note(self, n: int) -> None:
        self.noted.append(n)

    def value(self) -> int:
        return self.total

    def fail(self, text: str) -> Any:
        raise KeyError(text)

    def fail_at_once(self) -> int:
        raise LookupError("nothing here")

    def never(self) -> Any:
        self.kept += 1
        return RpcFuture()

    def never_in(self, limit: Any = None) -> Any:
        assert isinstance(limit, int)
        return Future()

    def nothing(self) -> Any:
        return None

    def maybe(self, n: int) -> Any:
        return n or None

    def echo(self, thing: Any) -> Any:
        return thing


class FencedGateway(FencedRpcGateway[str]):
    def whose(self) -> Future[str]: ...
    def note(self, text: str) -> None: ...


class Fenced(FencedRpcEndpoint, FencedGateway):
    def __init__(self, service: RpcService, token: Any, name: str = "leader") -> None:
        super().__init__(service, name, token)
        self.noted: list[str] = []

    def whose(self) -> Any:
        return repr(self.fencing_token)

    def note(self, text: str) -> None:
        self.noted.append(text)


class LocalGateway(RpcGateway):
    @local
    def keep(self, thing: threading.Event) -> Future[object]: ...


class Keeper(RpcEndpoint, LocalGateway):
    def keep(self, thing: Any) -> Any:
        return thing


def counter_of(service: RpcService, endpoint: RpcEndpoint) -> CounterGateway:
    return service.connect(endpoint.address, CounterGateway).result(SOON)


def started(
    service: RpcService, name: str = "counter", **more: Any
) -> tuple[Counter, CounterGateway]:
    counter = Counter(service, name, **more)
    counter.start()
    return counter, counter_of(service, counter)


def main_thread(endpoint: RpcEndpoint, function: Callable[[], Any]) -> Any:
    return endpoint.call_async(function, SOON * 1000).result(SOON)


# --- two services that talk over sockets

SECRET = "a secret of the tests"


@pytest.fixture
def server() -> Iterator[RpcService]:
    service = RpcService("server", host="127.0.0.1", secret=SECRET, max_frame_size=1 << 20)
    yield service
    service.close_async().exception(SOON)


@pytest.fixture
def client() -> Iterator[RpcService]:
    service = RpcService("client", secret=SECRET, max_frame_size=1 << 20)
    yield service
    service.close_async().exception(SOON)


def far(server: RpcService, client: RpcService, **more: Any) -> tuple[Counter, CounterGateway]:
    counter, _ = started(server, **more)
    return counter, client.connect(counter.address, CounterGateway).result(SOON)
