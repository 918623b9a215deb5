"""What is scarce runs out: descriptors, threads, and the patience of who reads the log."""

from __future__ import annotations

import errno
import logging
import os
import threading
from typing import Any

import pytest

from flinkish.common.errors import IllegalArgumentError, RpcConnectionError
from flinkish.rpc import RpcService, dialing, io_thread, transport
from flinkish.rpc.dead_letters import LostTells
from flinkish.rpc.transport import Transport
from tests.waiting import PATIENCE

from .rig import SECRET, SOON, Counter, CounterGateway, client, far, server, started
from .transport_rig import Recorder

__all__ = ["client", "server"]


class Without:
    """A module without one of its functions."""

    def __init__(self, module: Any, name: str, code: int = errno.EMFILE) -> None:
        self._module, self._name, self._code = module, name, code

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            return self._refuse
        return getattr(self._module, name)

    def _refuse(self, *_: object, **__: object) -> Any:
        raise OSError(self._code, os.strerror(self._code))


def refuses(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (errno.EMFILE, r"this process has no free file descriptor .*ulimit -n"),
        (errno.ENFILE, r"this host has no free file descriptor .*ulimit -n"),
        (errno.ENOBUFS, r"cannot be dialled: .*No buffer space"),
    ],
)
def test_dialling_without_descriptors_says_so(
    server: RpcService, client: RpcService, monkeypatch: pytest.MonkeyPatch, code: int, why: str
) -> None:
    counter, _ = started(server)
    with monkeypatch.context() as patched:
        patched.setattr(dialing, "socket", Without(dialing.socket, "socket", code))
        error = client.connect(counter.address, CounterGateway).exception(SOON)
        assert isinstance(error, RpcConnectionError)
        assert "nobody answer" not in str(error)
        with pytest.raises(RpcConnectionError, match=why):
            raise error
    assert client.connect(counter.address, CounterGateway).result(SOON).value() == 0


def test_dialling_a_name_without_a_thread_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    dialer = Transport("dialer", Recorder(), secret=SECRET, tls="plaintext")
    dialer._start()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuses)
        with pytest.raises(RpcConnectionError, match=r"cannot resolve 'some\.host': can't start"):
            dialer.dial(("some.host", 1)).result(PATIENCE)
    dialer.close().result(PATIENCE)


@pytest.mark.usefixtures("new_io_thread")
@pytest.mark.parametrize("what", ["epoll", "eventfd", "thread"])
def test_a_transport_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    dialer = Transport("dialer", Recorder(), secret=SECRET)
    with monkeypatch.context() as patched:
        if what == "epoll":
            patched.setattr(io_thread, "select", Without(io_thread.select, "epoll"))
        elif what == "eventfd":
            patched.setattr(io_thread, "os", Without(io_thread.os, "eventfd"))
        else:
            patched.setattr(threading.Thread, "start", refuses)
        why = "can't start new thread" if what == "thread" else "no free file descriptor"
        for _ in range(2):
            with pytest.raises(RpcConnectionError, match=f"I/O thread .* cannot start: .*{why}"):
                dialer.dial(("127.0.0.1", 1)).result(PATIENCE)
    with pytest.raises(RpcConnectionError, match="nobody answers"):
        dialer.dial(("127.0.0.1", 1)).result(PATIENCE)
    dialer.close().result(PATIENCE)


def test_what_was_reached_and_cannot_be_used_is_told(
    server: RpcService, client: RpcService, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter, _ = started(server)

    def fails(*arguments: Any, dialing: bool, **more: Any) -> Any:
        if dialing:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return made(*arguments, dialing=dialing, **more)

    made: Any = transport.Connection

    with monkeypatch.context() as patched:
        patched.setattr(transport, "Connection", fails)
        error = client.connect(counter.address, CounterGateway).exception(SOON)
    assert "was reached, and no connection could be made of it" in str(error)


@pytest.mark.parametrize("own", [True, False])
def test_an_endpoint_for_which_no_thread_can_be_had(
    monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    """The next one gets its threads."""
    service = RpcService("scarce", dispatcher_threads=3)
    start = threading.Thread.start
    begun: list[threading.Thread] = []

    def second_refuses(thread: threading.Thread) -> None:
        if own or begun:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", second_refuses)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            Counter(service, "counter", own_thread=own)
    for thread in begun:
        thread.join(SOON)
    _, gateway = started(service, own_thread=own)
    assert gateway.value() == 0
    service.close()


# --- tells that are lost


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_lost_tells_are_one_line(
    server: RpcService, client: RpcService, caplog: pytest.LogCaptureFixture
) -> None:
    _, gateway = far(server, client)
    server.close()
    assert gateway.add(1).exception(SOON) is not None
    with caplog.at_level(logging.WARNING):
        for n in range(1_000):
            gateway.note(n)
        (first,) = (text for text in warnings(caplog) if "tell" in text)
        assert first.startswith("the tell note to flinkish.tcp://server@127.0.0.1:")
        assert len(client.dead_letters) == 1_000
        client.close()
    assert any(
        text.startswith("999 more tells to flinkish.tcp://server@") for text in warnings(caplog)
    )


def test_lost_tells_are_told_every_interval(caplog: pytest.LogCaptureFixture) -> None:
    due: list[Any] = []
    lost = LostTells(lambda _, call: due.append(call))
    for n in range(3):
        lost.add("peer", f"m{n}", "gone")
        lost.add("other", f"m{n}", "gone")
    assert len(warnings(caplog)) == len(due) == 2, "one a peer"
    for call in [due.pop(), due.pop()]:
        call()
    assert warnings(caplog)[2:] == [
        f"2 more tells to {peer} were not sent; the last one, m2: gone"
        for peer in ("other", "peer")
    ]
    for call in [due.pop(), due.pop()]:
        call()
    assert not due, "an interval without any ends it"
    lost.add("peer", "m", "gone")
    assert len(warnings(caplog)) == 5, "the next one is told at once"
    lost.tell_all()
    assert len(warnings(caplog)) == 5


# --- all interfaces


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_all_interfaces_need_an_address_for_others(host: str) -> None:
    with pytest.raises(IllegalArgumentError, match=r"needs an address that .*advertised_host="):
        RpcService("wide", host=host, secret=SECRET)
    with pytest.raises(IllegalArgumentError, match=r"needs an address that"):
        Transport("wide", Recorder(), host=host, advertised_host=host, secret=SECRET)
    with pytest.raises(IllegalArgumentError, match=r"give it the host to listen on"):
        RpcService("narrow", advertised_host="127.0.0.1", secret=SECRET)


def test_others_dial_what_is_advertised() -> None:
    """Flink's bind-host and address."""
    with (
        RpcService(
            "wide", host="0.0.0.0", advertised_host="localhost", secret=SECRET, tls="plaintext"
        ) as wide,
        RpcService("caller", host="127.0.0.1", secret=SECRET) as caller,
    ):
        counter, near = started(wide)
        assert counter.address == f"flinkish.tcp://wide@127.0.0.1:{wide.port}/user/rpc/counter"
        assert wide.hostname == "localhost"
        assert caller.connect(counter.address, CounterGateway).result(SOON).value() == 0
        assert near.value() == 0, "it is its own address, too"
        (peer,) = (c.peer for c in caller.transport().connections())
        assert peer is not None
        assert peer.listens == ("127.0.0.1", wide.port)
