"""What a gateway may declare, and what its declarations mean; numbers are facts of section E."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService, RpcTimeout, ask, tell

from .rig import SOON, Counter, CounterGateway, FencedGateway, counter_of, service, started

__all__ = ["service"]


def test_what_cannot_travel_is_refused_at_definition() -> None:
    with pytest.raises(ArgumentTypeError, match=r"parameter 'event' of Bad\.wait cannot travel"):

        class Bad(RpcGateway):
            def wait(self, event: threading.Event) -> Future[int]: ...

    with pytest.raises(ArgumentTypeError, match=r"the result of Bad2\.make cannot travel"):

        class Bad2(RpcGateway):
            def make(self) -> Future[list[threading.Lock]]: ...  # type: ignore[valid-type]


def test_what_is_not_annotated_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"parameter 'n' of Bad\.one has no type"):

        class Bad(RpcGateway):
            def one(self, n) -> None: ...  # type: ignore[no-untyped-def]

    with pytest.raises(ArgumentTypeError, match=r"Bad2\.one declares no result"):

        class Bad2(RpcGateway):
            def one(self, n: int): ...  # type: ignore[no-untyped-def]

    with pytest.raises(ArgumentTypeError, match="travel by position"):

        class Bad3(RpcGateway):
            def one(self, *n: int) -> None: ...

    with pytest.raises(ArgumentTypeError, match="async def"):

        class Bad4(RpcGateway):
            async def one(self) -> int: ...

    with pytest.raises(
        ArgumentTypeError, match=r"Bad7\.one is marked by @ask and declares a future"
    ):

        class Bad7(RpcGateway):
            @ask
            def one(self) -> Future[int]: ...

    with pytest.raises(ArgumentTypeError, match=r"Bad8\.one is marked by @tell"):

        class Bad8(RpcGateway):
            @tell
            def one(self) -> int: ...  # type: ignore[arg-type]

    with pytest.raises(ArgumentTypeError, match="two time limits"):

        class Bad5(RpcGateway):
            def one(
                self, a: Annotated[int, RpcTimeout], b: Annotated[int, RpcTimeout]
            ) -> Future[int]: ...

    with pytest.raises(IllegalArgumentError, match="choose another"):

        class Bad6(RpcGateway):
            def on_stop(self) -> None: ...


def test_names_that_come_later_are_resolved_at_first_use(service: RpcService) -> None:
    class End(RpcEndpoint, LateGateway):
        def take(self, later: Any) -> Any:
            return later

    end = End(service, "end")
    end.start()
    assert end.get_self_gateway(LateGateway).take(Later(3)).result(SOON) == Later(3)


class LateGateway(RpcGateway):
    def take(self, later: Later) -> Future[Later]: ...


@dataclass(frozen=True)
class Later:
    n: int


def test_gateways_inherit(service: RpcService) -> None:
    class Wider(CounterGateway):
        def double(self) -> Future[int]: ...

    class Both(Counter, Wider):
        def double(self) -> Any:
            self.total *= 2
            return self.total

    both = Both(service, "both")
    both.start()
    wider = service.connect(both.address, Wider).result(SOON)
    assert wider.add(2).result(SOON) == 2
    assert wider.double().result(SOON) == 4
    assert isinstance(wider, CounterGateway)
    assert counter_of(service, both).value() == 4


def test_a_gateway_is_only_a_description() -> None:
    with pytest.raises(UnsupportedOperationError, match="only a description"):
        _ = CounterGateway().address
    with pytest.raises(UnsupportedOperationError):
        _ = FencedGateway().fencing_token


def test_python_checks_the_arguments(service: RpcService) -> None:
    counter, gateway = started(service)
    call: Any = gateway.add
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        call()
    with pytest.raises(TypeError, match="unexpected keyword"):
        call(m=3)
    same = counter_of(service, counter)
    assert gateway == same
    assert len({gateway, same}) == 1
    assert "to flinkish://test/user/rpc/counter" in repr(gateway)


def test_a_method_takes_the_arguments_that_callers_send(service: RpcService) -> None:
    class Pairs(RpcGateway):
        def pair(self, one: int, other: int = 0) -> Future[int]: ...

    class Short(RpcEndpoint, Pairs):
        def pair(self, one: int) -> Any: ...

    class Long(RpcEndpoint, Pairs):
        async def pair(self, one: int, other: int, third: int) -> Any: ...

    class ByName(RpcEndpoint, Pairs):
        def pair(self, one: int, *, other: int) -> Any: ...

    for kind in (Short, Long, ByName):
        with pytest.raises(ArgumentTypeError, match=r"pair\(.*does not take the arguments of"):
            kind(service)

    class Loose(RpcEndpoint, Pairs):
        def pair(self, *numbers: int, scale: int = 1) -> Any:
            return sum(numbers) * scale

    loose = Loose(service)
    loose.start()
    assert loose.get_self_gateway(Pairs).pair(2, 3).result(SOON) == 5
