"""Which connection leads to an address, and the making of those that are asked for."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from flinkish.common.errors import RpcConnectionError, RpcError
from flinkish.rpc.connection import Connection
from flinkish.rpc.dialing import Backoff, Dialer
from flinkish.rpc.io_thread import IoThread

__all__ = ["Address", "Routes", "settle"]

Address = tuple[str, int]
T = TypeVar("T")


def settle(future: Future[T], result: T | None, error: BaseException | None = None) -> None:
    """Complete a future that its user may have cancelled."""
    if future.set_running_or_notify_cancel():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]


class Routes:
    """One connection for each address, however many ask for it at once; on the I/O thread.

    ``reached(address, sock, is_unix)`` is called with a socket that is connected; it makes a
    connection of it, for which ``opened`` or ``failed`` is to be called.
    """

    def __init__(
        self,
        reached: Callable[[Address, socket.socket, bool], None],
        *,
        unix: bool,
        timeout: float,
    ) -> None:
        self.failures = 0
        self._reached = reached
        self._unix = unix
        self._timeout = timeout
        self._open: dict[Address, Connection] = {}
        self._waiting: dict[Address, list[Future[Connection]]] = {}
        self._dialers: dict[Address, Dialer] = {}
        self._backoff = Backoff()

    @property
    def busy(self) -> bool:
        """Whether anybody waits for a connection."""
        return bool(self._waiting)

    def find(self, address: Address) -> Connection | None:
        """The connection there is."""
        return self._open.get(address)

    def ask(self, io: IoThread, address: Address, future: Future[Connection]) -> None:
        """Complete the future when there is a connection; dial unless somebody did."""
        waiting = self._waiting.setdefault(address, [])
        waiting.append(future)
        if len(waiting) > 1:
            return
        dialer = self._dialers[address] = Dialer(
            io,
            address,
            partial(self._connected, address),
            partial(self.failed, address),
            unix=self._unix,
            timeout=self._timeout,
        )
        pause = self._backoff.pause(address, time.monotonic())
        if pause:
            io.call_later(pause, dialer.start)
        else:
            dialer.start()

    def _connected(self, address: Address, sock: socket.socket, unix: bool) -> None:
        del self._dialers[address]
        try:
            self._reached(address, sock, unix)
        except Exception as error:  # it is gone again, or memory is: those that wait must hear it
            sock.close()
            host, port = address
            why = f"{host}:{port} was reached, and no connection could be made of it: {error}"
            self.failed(address, RpcConnectionError(why))

    def add(self, address: Address, connection: Connection) -> None:
        """A connection that leads there, unless there is one."""
        self._open.setdefault(address, connection)
        if connection.dialing:
            self._backoff.succeeded(address)

    def opened(self, address: Address, connection: Connection) -> None:
        """Frames can be sent: who waited gets it."""
        for future in self._waiting.pop(address, []):
            settle(future, connection)

    def failed(self, address: Address, error: RpcError) -> None:
        """There will be none this time."""
        self.failures += 1
        self._dialers.pop(address, None)
        self._backoff.failed(address, time.monotonic())
        for future in self._waiting.pop(address, []):
            settle(future, None, error)

    def remove(self, connection: Connection, error: RpcError) -> None:
        """It leads nowhere any more, maybe before anybody got it."""
        for address in [a for a, known in self._open.items() if known is connection]:
            del self._open[address]
            for future in self._waiting.pop(address, []):
                settle(future, None, error)

    def cancel(self, error: RpcError) -> None:
        """Dial no more; the threads that wait for a dial get this error."""
        for dialer in list(self._dialers.values()):
            dialer.cancel(error)

    def abandon(self) -> None:
        """In a forked child: close descriptors."""
        for dialer in self._dialers.values():
            dialer.abandon()
