"""Listening: accept strangers, a bounded number at a time (``strangers.py``)."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress

from flinkish.common.errors import RpcConnectionError
from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.log_thread import LateLogger
from flinkish.rpc.strangers import STRANGERS, Stranger, Strangers, Throttle
from flinkish.rpc.unix_sockets import bind_beside, prepare, same_user

__all__ = ["Listener", "bind"]

logger = LateLogger(__name__)

BACKLOG = 4096
ROUND = 64  # connections accepted in one go
PAUSE = 0.1  # seconds after an accept that failed, for instance since all descriptors are in use


def bind(host: str, port: int, *, unix: bool) -> list[tuple[socket.socket, str | None]]:
    """Sockets that listen on an address, the TCP one first, and the paths of the others."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind | socket.SOCK_NONBLOCK, protocol)
    except (OSError, UnicodeError) as error:  # the latter of what can be no name
        raise RpcConnectionError(f"cannot listen on {host}:{port}: {error}") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise RpcConnectionError(
            f"cannot listen on {host}:{port}: {error}; name an address of this host and a port "
            "that is free, or 0 for any"
        ) from error
    found: list[tuple[socket.socket, str | None]] = [(sock, None)]
    ip, bound = sock.getsockname()[:2]
    beside = bind_beside("127.0.0.1" if ip == "0.0.0.0" else ip, bound, BACKLOG) if unix else None
    if beside is not None:
        found.append(beside)
    return found


class Listener:
    """One listening socket, on the I/O thread.

    ``accepted(sock, address)`` makes a stranger of what came; ``left`` is to be called when it has
    proved itself, or is gone.
    """

    def __init__(
        self,
        io: IoThread,
        sock: socket.socket,
        path: str | None,
        accepted: Callable[[socket.socket, str], Stranger],
    ) -> None:
        self._io = io
        self._sock = sock
        self._path = path
        self._accepted = accepted
        self._strangers = Strangers()
        self._paused = False
        self._failures = Throttle(logger.warning)
        io.register(sock.fileno(), self, select.EPOLLIN)

    def on_ready(self, events: int) -> None:
        """Somebody knocks."""
        for _ in range(ROUND):
            wait = self._room()
            if wait > 0:
                self.pause(wait)
                return
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._failures.say(f"cannot accept a connection for {PAUSE} s: {error}")
                self.pause(PAUSE)
                return
            sock.setblocking(False)
            if self._path is None:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._admit(sock, address[0], f"{address[0]}:{address[1]}")
            elif same_user(sock):
                prepare(sock)
                self._admit(sock, "here", f"unix:{self._path}")
            else:
                sock.close()

    def _room(self) -> float:
        """Make a place for the next one, if need be; in how many seconds there may be one."""
        if len(self._strangers) < STRANGERS:
            return 0.0
        stranger, wait = self._strangers.next_to_go()
        if wait <= 0:
            why = "it did not prove itself, and others needed its place"
            stranger.give_up(RpcConnectionError(f"{stranger.address}: {why}"))
        return wait

    def _admit(self, sock: socket.socket, source: str, address: str) -> None:
        stranger = self._accepted(sock, address)
        self._strangers.add(stranger, source)
        stranger.begin_handshake()

    def left(self, stranger: Stranger) -> None:
        """It needs no place any more, if it had one here."""
        if self._strangers.remove(stranger) and len(self._strangers) == STRANGERS // 2:
            self.resume()

    def pause(self, seconds: float) -> None:
        """Accept nobody for so long, or until ``resume``."""
        if not self._paused and self._sock.fileno() >= 0:
            self._paused = True
            self._io.modify(self._sock.fileno(), 0)
            self._io.call_later(seconds, self.resume)

    def resume(self) -> None:
        """Accept again."""
        if self._paused and self._sock.fileno() >= 0:
            self._paused = False
            self._io.modify(self._sock.fileno(), select.EPOLLIN)

    def close(self) -> None:
        """Listen no more."""
        if self._sock.fileno() < 0:
            return
        self._io.unregister(self._sock.fileno())
        if self._path is not None:
            with suppress(OSError):
                os.unlink(self._path)
        self._sock.close()

    def abandon(self) -> None:
        """In a forked child: the socket and its name are the parent's."""
        self._sock.close()
