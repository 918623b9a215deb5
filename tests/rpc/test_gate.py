"""A peer that reads no replies: rpc/gate.pxd."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from flinkish.common.errors import ConnectionLostError, RecipientUnreachableError
from flinkish.rpc import RpcEndpoint, RpcFuture, RpcGateway, RpcService
from tests.waiting import until

from .rig import SECRET, SOON

WINDOW, SIZE, ASKS = 1 << 16, 1 << 16, 400  # all of it is more than sockets hold
MOST = WINDOW + 3 * SIZE  # what may be on its way out: what is ample, and what was being made


class BigGateway(RpcGateway):
    def big(self, n: int) -> Future[bytes]: ...
    def later(self, n: int) -> Future[bytes]: ...
    def note(self, n: int) -> None: ...
    def count(self) -> int: ...


class Big(RpcEndpoint, BigGateway):
    def __init__(self, service: RpcService, name: str = "big") -> None:
        super().__init__(service, name)
        self.done: list[int] = []
        self.waiting: list[RpcFuture[bytes]] = []

    def big(self, n: int) -> Any:
        self.done.append(n)
        return n.to_bytes(4, "little") * (SIZE // 4)

    def later(self, n: int) -> Any:
        self.waiting.append(RpcFuture())
        return self.waiting[-1]

    def note(self, n: int) -> None:
        self.done.append(n)

    def count(self) -> int:
        return len(self.done)


@pytest.fixture(params=["unix", "tcp", "tls"])
def services(request: pytest.FixtureRequest) -> Iterator[tuple[RpcService, RpcService]]:
    tls: Any = None
    if request.param == "tls":
        from flinkish.rpc.tls import TlsConfig

        tls = TlsConfig.ephemeral()
    more: dict[str, Any] = {"tls": tls, "unix_sockets": request.param == "unix"}
    with (
        RpcService("server", host="127.0.0.1", secret=SECRET, receive_window=WINDOW, **more) as a,
        RpcService("client", secret=SECRET, **more) as b,
    ):
        yield a, b


class Deaf:
    """A client whose connection is not read meanwhile."""

    def __init__(self, server: RpcService, client: RpcService) -> None:
        (self._theirs,) = server.transport().connections()
        (self._ours,) = client.transport().connections()

    def __enter__(self) -> Deaf:
        until(self._ours.reading.enter)
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.reading.leave()

    def all_have_come(self) -> None:
        until(lambda: self._theirs.received_frames >= self._ours.counts[0])

    @property
    def backlog(self) -> int:
        return self._theirs.backlog


def test_replies_that_nobody_reads_are_bounded(services: tuple[RpcService, RpcService]) -> None:
    server, client = services
    big, other = Big(server), Big(server, "other")
    big.start()
    other.start()
    gateway = client.connect(big.address, BigGateway).result(SOON)
    near = server.connect(big.address, BigGateway).result(SOON)
    with Deaf(server, client) as deaf:
        asked = []
        for n in range(ASKS):
            asked.append(gateway.big(n))
            gateway.note(ASKS + n)
        deaf.all_have_come()
        done = near.count()  # the endpoint goes on for others, when it has looked at all of them
        assert done < 2 * ASKS
        assert deaf.backlog <= MOST
        assert server.connect(other.address, BigGateway).result(SOON).count() == 0
    for n, future in enumerate(asked):
        assert future.result(SOON) == n.to_bytes(4, "little") * (SIZE // 4)
    assert gateway.count() == 2 * ASKS
    assert big.done == [at + n for n in range(ASKS) for at in (0, ASKS)], "in their order"


def test_late_replies_are_bounded(services: tuple[RpcService, RpcService]) -> None:
    server, client = services
    big = Big(server)
    big.start()
    gateway = client.connect(big.address, BigGateway).result(SOON)
    asked = [gateway.later(n) for n in range(ASKS)]
    until(lambda: len(big.waiting) == ASKS)
    with Deaf(server, client) as deaf:
        for n, future in enumerate(big.waiting):
            future.set_result(n.to_bytes(4, "little") * (SIZE // 4))
        assert deaf.backlog <= MOST
    for n, future in enumerate(asked):
        assert future.result(SOON) == n.to_bytes(4, "little") * (SIZE // 4)


@pytest.mark.parametrize("ends", ["endpoint", "connection"])
def test_what_is_held_back_ends_with_its_endpoint_or_connection(
    services: tuple[RpcService, RpcService], ends: str
) -> None:
    server, client = services
    big = Big(server)
    big.start()
    gateway = client.connect(big.address, BigGateway).result(SOON)
    near = server.connect(big.address, BigGateway).result(SOON)
    with Deaf(server, client) as deaf:
        asked = [gateway.big(n) for n in range(ASKS)]
        deaf.all_have_come()
        assert near.count() < ASKS
        if ends == "endpoint":
            big.close_async().result(SOON)
        else:
            for connection in server.transport().connections():
                connection.close("the test has seen enough")
            until(lambda: near.count() == ASKS)  # a lost caller's calls are carried out
    for future in asked:
        error = future.exception(SOON)
        assert error is None or isinstance(
            error, RecipientUnreachableError if ends == "endpoint" else ConnectionLostError
        )
    assert asked[-1].exception(SOON) is not None
