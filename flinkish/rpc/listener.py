"""Listening: accept strangers, a bounded number at a time.

Whoever has connected and not yet proved itself holds one of ``STRANGERS`` places, for as long as
a handshake may take.  When all are taken nobody is accepted: in a storm the others wait in the
kernel's queue, and who only knocks costs a bounded amount of memory.
"""

from __future__ import annotations

import logging
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress

from flinkish.common.errors import RpcConnectionError
from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.unix_sockets import bind_beside, prepare, same_user

__all__ = ["STRANGERS", "Listener", "bind"]

logger = logging.getLogger(__name__)

STRANGERS = 256
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

    ``accepted(sock, address)`` gets what came, ``full()`` says whether nobody else may come now.
    """

    def __init__(
        self,
        io: IoThread,
        sock: socket.socket,
        path: str | None,
        accepted: Callable[[socket.socket, str], None],
        full: Callable[[], bool],
    ) -> None:
        self._io = io
        self._sock = sock
        self._path = path
        self._accepted = accepted
        self._full = full
        self._paused = False
        io.register(sock.fileno(), self, select.EPOLLIN)

    def on_ready(self, events: int) -> None:
        """Somebody knocks."""
        for _ in range(ROUND):
            if self._full():
                self.pause()
                return
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.warning("cannot accept a connection for %s s: %s", PAUSE, error)
                self.pause()
                self._io.call_later(PAUSE, self.resume)
                return
            sock.setblocking(False)
            if self._path is None:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._accepted(sock, f"{address[0]}:{address[1]}")
            elif same_user(sock):
                prepare(sock)
                self._accepted(sock, f"unix:{self._path}")
            else:
                sock.close()

    def pause(self) -> None:
        """Accept nobody until ``resume``."""
        if not self._paused and self._sock.fileno() >= 0:
            self._paused = True
            self._io.modify(self._sock.fileno(), 0)

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
