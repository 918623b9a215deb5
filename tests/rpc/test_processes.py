"""Peers in processes of their own: killed, forked."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common.errors import (
    ConnectionLostError,
    IllegalStateError,
    RecipientUnreachableError,
    RpcConnectionError,
)
from flinkish.rpc import RpcService
from tests.forking import in_a_fork
from tests.processes import freeze, piped, thaw

from .rig import SOON, CounterGateway, started

SECRET = "a secret of the tests"


@pytest.fixture
def peer(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with a Counter, and its address."""
    with piped("-m", "tests.rpc.peer", "serve", "server", SECRET, env=environment) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def test_a_peer_that_is_killed_fails_what_it_was_asked(
    peer: tuple[subprocess.Popen[str], str],
) -> None:
    """E.23: at once, with address, method and time."""
    process, address = peer
    with RpcService("client", secret=SECRET, ask_timeout="1 hour") as client:
        gateway = client.connect(address, CounterGateway).result(SOON)
        assert gateway.add(1).result(SOON) == 1
        under_way = [gateway.never() for _ in range(50)]
        assert gateway.value() == 1
        process.kill()
        for future in under_way:
            error = future.exception(SOON)
            assert isinstance(error, RecipientUnreachableError)
            assert isinstance(error, ConnectionLostError)
            assert f"[never] at [{address}] got no answer" in str(error)
        assert isinstance(gateway.add(1).exception(SOON), RecipientUnreachableError)
        process.wait()
        with pytest.raises(RpcConnectionError):
            client.connect(address, CounterGateway).result(SOON)
        assert client.statistics().asks_under_way == client.statistics().pending_asks == 0


def test_a_stopped_peer_is_waited_for(peer: tuple[subprocess.Popen[str], str]) -> None:
    process, address = peer
    with RpcService("client", secret=SECRET) as client:
        gateway = client.connect(address, CounterGateway).result(SOON)
        freeze(process)
        asked = gateway.add(2)
        hasty: Any = gateway
        assert isinstance(hasty.with_timeout(20).add(3).exception(SOON), TimeoutError)
        thaw(process)
        assert asked.result(SOON) == 2
        assert gateway.value() == 5  # the late one was carried out, too


def test_a_forked_child_is_told(peer: tuple[subprocess.Popen[str], str]) -> None:
    """And can make a service of its own."""
    _, address = peer
    with RpcService("parent", secret=SECRET) as service:
        _, near = started(service)
        far = service.connect(address, CounterGateway).result(SOON)
        assert near.add(1).result(SOON) == far.add(1).result(SOON) == 1

        def check() -> None:
            for gateway in (near, far):
                for call in (lambda g=gateway: g.add(1), lambda g=gateway: g.note(1)):
                    with pytest.raises(IllegalStateError, match="before a fork"):
                        call()
            with pytest.raises(IllegalStateError, match="before a fork"):
                service.connect(address, CounterGateway)
            with RpcService("child", secret=SECRET) as mine:
                assert started(mine)[1].add(1).result(SOON) == 1
                assert mine.connect(address, CounterGateway).result(SOON).add(1).result(SOON) == 2

        in_a_fork(check)
        assert near.add(1).result(SOON) == 2
        assert far.add(1).result(SOON) == 3
