"""A user's program, as `mypy --strict` sees it: what a line must not do is ignored by its code.

Since strict mypy reports ignored errors that do not occur, it finds no fault with this file only if
every other line is right and every such line is wrong.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from concurrent.futures import Future

from typing_extensions import assert_type

from flinkish.rpc import (
    FencedRpcEndpoint,
    FencedRpcGateway,
    RpcEndpoint,
    RpcFuture,
    RpcGateway,
    RpcService,
    ask,
    local,
    tell,
)


class StoreGateway(RpcGateway):
    @tell
    def put(self, key: str, value: int) -> None: ...

    def clear(self) -> None: ...

    @ask
    @abstractmethod
    def get(self, key: str, default: int = 0) -> int: ...

    @ask
    @abstractmethod
    def wait_for(self, key: str) -> int: ...

    @ask
    @abstractmethod
    def slow(self, key: str) -> int | None: ...

    @ask
    def flush(self) -> None: ...

    @local
    @ask
    def keep(self, value: object) -> None: ...

    @abstractmethod
    def size(self) -> int: ...


class Store(RpcEndpoint, StoreGateway):
    def __init__(self, service: RpcService, name: str) -> None:
        super().__init__(service, name)
        self.values: dict[str, int] = {}
        self.waiting: dict[str, Future[int]] = {}

    async def put(self, key: str, value: int) -> None:
        self.values[key] = value
        if key in self.waiting:
            self.waiting.pop(key).set_result(value)

    def clear(self) -> None:
        self.values.clear()

    def get(self, key: str, default: int = 0) -> int:
        return self.values.get(key, default)

    def wait_for(self, key: str) -> Future[int]:
        return self.waiting.setdefault(key, Future())

    async def slow(self, key: str) -> int | None:
        await asyncio.sleep(0)
        return assert_type(self.get(key), int)

    async def flush(self) -> None:
        await asyncio.sleep(0)

    def keep(self, value: object) -> None:
        assert value is self

    def size(self) -> int:
        return len(self.values)


class Wrong(RpcEndpoint, StoreGateway):
    def get(self, key: int, default: int = 0) -> int:  # type: ignore[override]
        return default

    async def slow(self, key: str) -> str:  # type: ignore[override]
        return key

    def wait_for(self, key: str) -> Future[str]:  # type: ignore[override]
        return Future()

    def put(self, key: str) -> None:  # type: ignore[override]
        pass

    def size(self) -> int:
        return 0


class Incomplete(RpcEndpoint, StoreGateway):
    pass


class LeaderGateway(FencedRpcGateway[int]):
    @ask
    @abstractmethod
    def epoch(self) -> int: ...


class Leader(FencedRpcEndpoint, LeaderGateway):
    async def epoch(self) -> int:
        return 7


async def use(gateway: StoreGateway) -> int | None:
    assert_type(await gateway.get("a"), int)
    both = await asyncio.gather(gateway.get("a"), gateway.slow("a"))
    return assert_type(both, tuple[int, int | None])[1]


def main() -> list[object]:
    with RpcService("typed") as service:
        store = Store(service, "store")
        store.start()
        connected = service.connect(store.address, StoreGateway)
        gateway = assert_type(connected.result(), StoreGateway)
        waiting = assert_type(gateway.wait_for("a"), RpcFuture[int])
        gateway.put("a", 3)
        assert_type(gateway.with_timeout("1 minute").get("a").result(), int)
        assert_type(gateway.flush(), RpcFuture[None]).result()
        assert_type(gateway.keep(store), RpcFuture[None]).result()
        assert_type(gateway.size(), int)
        assert_type(store.get_self_gateway(StoreGateway), StoreGateway)
        leader = Leader(service, "leader", 7)
        leader.start()
        fenced = service.connect(leader.address, LeaderGateway, 7).result()
        assert_type(fenced.fencing_token, int)
        return [
            waiting.result(),
            asyncio.run(use(gateway)),
            gateway.get("b", 5).result(),
            gateway.size(),
            fenced.epoch().result(),
        ]


def wrong(gateway: StoreGateway, service: RpcService) -> None:
    gateway.get(3)  # type: ignore[arg-type]
    gateway.put("a")  # type: ignore[call-arg]
    number: int = gateway.get("a")  # type: ignore[assignment]
    text: str = gateway.get("a").result()  # type: ignore[assignment]
    print(number, text)
    Incomplete(service)  # type: ignore[abstract]
    service.connect("", str)  # type: ignore[type-var]
