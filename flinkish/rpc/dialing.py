"""Dialling: from an address to a connected socket."""

from __future__ import annotations

import errno
import ipaddress
import os
import select
import socket
import threading
from collections.abc import Callable
from typing import Any

from flinkish.common.errors import IllegalArgumentError, RpcConnectionError, RpcError
from flinkish.rpc.io_thread import IoThread, TimerHandle
from flinkish.rpc.scarcity import lacking
from flinkish.rpc.unix_sockets import path_beside, prepare, same_user

__all__ = [
    "Backoff",
    "Dialer",
    "check_advertised",
    "is_loopback",
    "is_wildcard",
    "numeric",
    "resolve",
]

Target = tuple[int, Any]  # family, and what connect() takes
FIRST_PAUSE, LAST_PAUSE = 0.05, 5.0  # seconds between attempts that fail


def numeric(host: str) -> str:
    """``localhost`` as an address, always the same; others as they are."""
    return "127.0.0.1" if host == "localhost" else host


def is_loopback(host: str) -> bool:
    """Whether an address leads nowhere but to this host."""
    try:
        return ipaddress.ip_address(numeric(host)).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether this is where one listens for all interfaces, and so no address to dial."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def resolve(address: tuple[str, int], *, unix: bool) -> list[Target]:
    """Where to try, in this order; may wait for a name server, so not on the I/O thread."""
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # the latter of what can be no name
        raise RpcConnectionError(f"cannot resolve {host!r}: {error}") from error
    targets: list[Target] = []
    for family, _, _, _, where in found:
        path = path_beside(str(where[0]), port) if unix else None
        if path is not None and os.path.exists(path):
            targets.append((socket.AF_UNIX, path))
        targets.append((family, where))
    return targets


def check_advertised(advertised: str | None, host: str | None) -> None:
    """IllegalArgumentError if this is not what others can dial to reach who listens on ``host``."""
    if advertised is None:
        return
    if host is None:
        raise IllegalArgumentError(
            f"advertised_host={advertised!r} is where others dial a service that listens: give it "
            "the host to listen on, too"
        )
    if is_wildcard(advertised):
        raise IllegalArgumentError(
            f"a service on all interfaces (host={host!r}) needs an address that others can dial, "
            f"and {advertised!r} is none: say by which one they reach this host, as in "
            f"host={host!r}, advertised_host='worker-7.example.org'"
        )


class Backoff:
    """How long to leave an address alone that did not answer; on the I/O thread."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, int], tuple[int, float]] = {}

    def failed(self, address: tuple[str, int], now: float) -> None:
        """One more attempt has failed: wait twice as long as before, up to LAST_PAUSE."""
        count, _ = self._failures.get(address, (0, 0.0))
        pause = min(LAST_PAUSE, FIRST_PAUSE * 2 ** min(count, 16))
        self._failures[address] = count + 1, now + pause

    def succeeded(self, address: tuple[str, int]) -> None:
        """Forget what was."""
        self._failures.pop(address, None)

    def pause(self, address: tuple[str, int], now: float) -> float:
        """Seconds to wait before the next attempt."""
        _, until = self._failures.get(address, (0, 0.0))
        return max(0.0, until - now)


class Dialer:
    """Tries the targets of one address one after the other.

    ``done(sock, is_unix)`` gets the connected socket, ``failed(error)`` the reasons of all; one of
    them, once, on the I/O thread.
    """

    def __init__(
        self,
        io: IoThread,
        address: tuple[str, int],
        done: Callable[[socket.socket, bool], None],
        failed: Callable[[RpcError], None],
        *,
        unix: bool,
        timeout: float,
    ) -> None:
        self._io = io
        self._address = address
        self._done = done
        self._failed = failed
        self._unix = unix
        self._timeout = timeout
        self._targets: list[Target] = []
        self._reasons: list[str] = []
        self._lacks = False  # a target was not tried, since this process could not
        self._sock: socket.socket | None = None
        self._over = False
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Begin; on the I/O thread.  Names are looked up on a thread of their own."""
        if self._over:
            return
        self._timer = self._io.call_later(self._timeout, self._late)
        host = self._address[0]
        try:
            ipaddress.ip_address(host)
        except ValueError:
            name = "flinkish-rpc-resolve"
            thread = threading.Thread(target=self._resolve, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                self._refuse(f"cannot resolve {host!r}: {error}")
            return
        try:
            targets = resolve(self._address, unix=self._unix)
        except RpcConnectionError as error:
            self.cancel(error)
            return
        self._begin(targets)

    def _resolve(self) -> None:
        try:
            targets = resolve(self._address, unix=self._unix)
        except RpcConnectionError as error:
            refused = error
            self._io.post(lambda: self._finish(None, False, refused))
        else:
            self._io.post(lambda: self._begin(targets))

    def _begin(self, targets: list[Target]) -> None:
        self._targets = targets
        self._next()

    def _next(self) -> None:
        while not self._over:
            if not self._targets:
                host, port = self._address
                reasons = "; ".join(dict.fromkeys(self._reasons))
                if self._lacks:
                    self._refuse(f"{host}:{port} cannot be dialled: {reasons}")
                else:
                    self._refuse(
                        f"nobody answers at {host}:{port}: {reasons}; is the service running, and "
                        "is this its address?"
                    )
                return
            family, where = self._targets.pop(0)
            try:
                sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            except OSError as error:
                self._lacks = True
                self._reasons.append(lacking(error))
                continue
            if family == socket.AF_UNIX:
                prepare(sock)
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sock = sock
            status = sock.connect_ex(where)
            if status == 0:
                self._connected()
                return
            if status == errno.EINPROGRESS:
                try:
                    self._io.register(sock.fileno(), self, select.EPOLLOUT)
                    return
                except OSError as error:  # the user watches too many sockets
                    status = error.errno or errno.ENOSPC
            self._drop(os.strerror(status))

    def on_ready(self, events: int) -> None:
        """The attempt has an outcome."""
        assert self._sock is not None
        status = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self._io.unregister(self._sock.fileno())
        if status:
            self._drop(os.strerror(status))
            self._next()
        else:
            self._connected()

    def _drop(self, reason: str) -> None:
        assert self._sock is not None
        if self._sock.family != socket.AF_UNIX:
            self._reasons.append(reason)
        self._sock.close()
        self._sock = None

    def _connected(self) -> None:
        sock = self._sock
        assert sock is not None
        unix = sock.family == socket.AF_UNIX
        if unix and not same_user(sock):
            self._drop("")
            self._next()
            return
        try:
            itself = not unix and sock.getsockname() == sock.getpeername()
        except OSError as error:  # it hung up meanwhile
            self._drop(os.strerror(error.errno or 0))
            self._next()
            return
        if itself:
            self._drop("Connection refused")  # TCP connected the socket to itself
            self._next()
            return
        self._sock = None
        self._finish(sock, unix, None)

    def _late(self) -> None:
        host, port = self._address
        self._refuse(f"nobody answered at {host}:{port} within {self._timeout:g} s")

    def _refuse(self, why: str) -> None:
        self.cancel(RpcConnectionError(why))

    def cancel(self, error: RpcError) -> None:
        """Give up for this reason."""
        if self._sock is not None:
            self._io.unregister(self._sock.fileno())
            self._drop("")
        self._finish(None, False, error)

    def _finish(self, sock: socket.socket | None, unix: bool, error: RpcError | None) -> None:
        if self._over:
            if sock is not None:
                sock.close()
            return
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if sock is not None:
            self._done(sock, unix)
        elif error is not None:
            self._failed(error)

    def abandon(self) -> None:
        """In a forked child: close the descriptor."""
        if self._sock is not None:
            self._sock.close()
