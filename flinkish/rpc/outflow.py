"""The way out of a connection: which thread writes to its socket, and when.

Invariants:
    O1  The socket is written by the flusher of the buffer (``frame_buffer.pxd``): mostly the
        thread that sends, over TLS the I/O thread alone.
    O2  A flusher for whom the socket is full stays the flusher and leaves the rest to the I/O
        thread (``_blocked``), which goes on when the socket has room.  So does a sender that has
        carried away much that others put meanwhile.
    O3  What is encrypted and not written (``_cipher``, and ``outgoing`` of the session) goes
        before all else.
"""

from __future__ import annotations

import socket
import threading
import time
from abc import abstractmethod
from collections.abc import Callable

from flinkish._core.rpc.frame_buffer import FrameBuffer
from flinkish._core.rpc.reading import Reading
from flinkish.common.errors import BackPressureError, RpcError
from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.tls import TlsSession

__all__ = ["Outflow"]

ROUNDS = 16  # batches that a sender carries away for others before the I/O thread takes over
CIPHER_CHUNK = 128 * 1024  # bytes that are encrypted before they are written


class Outflow(FrameBuffer):
    """Writes frames to a socket; ``Connection`` adds what comes in, and the beginning and end."""

    def __init__(
        self, io: IoThread, sock: socket.socket, tls: TlsSession | None, timeout_ms: int
    ) -> None:
        super().__init__()
        self.error: RpcError | None = None
        self._io = io
        self._sock = sock
        self._tls = tls
        self._timeout_ms = timeout_ms
        self._blocked = False
        self._fd = sock.fileno()
        self.reading = Reading(self, io.epoll, self._fd)
        self._cipher = memoryview(b"")
        self._credit = threading.Condition()

    @abstractmethod
    def _guard(self, action: Callable[[], None]) -> None:
        """Call this; end the connection if it fails."""

    @abstractmethod
    def _broken(self, why: str) -> None:
        """End the connection."""

    @abstractmethod
    def _behind(self, size: int, timeout_ms: int) -> BackPressureError:
        """The error of a request that had no credit in time."""

    @abstractmethod
    def read_large(self) -> None:
        """Receive more of a large frame, straight into its place."""

    @abstractmethod
    def take_control(self) -> None:
        """Handle the frames of the connection itself that have come."""

    @abstractmethod
    def closed(self) -> RpcError:
        """The error of a stream that has ended."""

    @abstractmethod
    def fail_later(self, error: Exception | None) -> None:
        """End the connection for this reason, or the one that there was; on the I/O thread."""

    @abstractmethod
    def _maybe_leave(self) -> None:
        """All that could be written is; end the connection if that was waited for."""

    def _transmit(self) -> None:
        """Flush now: FrameBuffer calls this in the thread that sends."""
        left = self.carry(self._fd)
        if left > 0:
            self._write()
        elif left < 0:
            self._sock.close()

    def _ring(self) -> None:
        """Let the I/O thread flush: FrameBuffer calls this, too."""
        self._io.post(self._visit)

    def _visit(self) -> None:
        self.visit()
        if self._tls is None:
            self._transmit()
        elif self._tls.established and self.begin():
            self._guard(self._encrypt)

    def _write(self) -> None:
        """As the flusher: write until nothing is left, or the socket is full."""
        send = self._sock.send
        try:
            for _ in range(ROUNDS):
                if not self.advance(send(self, socket.MSG_NOSIGNAL)):
                    break
            else:
                self._io.post(self._await_room)
                return
        except BlockingIOError:
            self._io.post(self._await_room)
            return
        except OSError as error:
            why = str(error)
            self.release()
            self._io.post(lambda: self._broken(why))
        if self.is_shut:
            self._sock.close()

    def _await_room(self) -> None:
        """On the I/O thread: take over from a flusher (N2)."""
        if self.error is not None:
            self.release()
            self._sock.close()
            return
        self._blocked = True
        self.reading.want_room(True)

    def _go_on(self) -> None:
        """The socket has room again."""
        self.reading.want_room(False)
        if self._tls is not None:
            self._write_cipher()
        if self._blocked and not self._cipher:
            self._blocked = False
            self._write() if self._tls is None else self._encrypt()
        self._maybe_leave()

    def _encrypt(self) -> None:
        """As the flusher, on the I/O thread: a batch becomes one TLS record, or a few.

        A large one is written while the rest waits, so that the peer can begin with it.
        """
        tls, more = self._tls, True
        assert tls is not None
        while more:
            with memoryview(self) as out:
                size = tls.encrypt(out[:CIPHER_CHUNK])
            more = self.advance(size)
            if more and tls.outgoing.pending < CIPHER_CHUNK:
                continue
            self._write_cipher()
            if more and self._cipher:
                self._blocked = True
                return

    def _write_cipher(self) -> None:
        assert self._tls is not None
        while True:
            if not self._cipher:
                self._cipher = memoryview(self._tls.outgoing.read())
                if not self._cipher:
                    break
            try:
                size = self._sock.send(self._cipher, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                self.reading.want_room(True)
                return
            self._cipher = self._cipher[size:]

    # --- waiting for credit

    def _await_credit(self, size: int, timeout_ms: int) -> int:
        """Wait until requests may be sent again; the ms that are left."""
        if timeout_ms < 0:
            timeout_ms = self._timeout_ms
        deadline = time.monotonic() + timeout_ms / 1000
        if not self._io.is_current():
            with self._credit:
                while not self.has_credit:
                    left = deadline - time.monotonic()
                    if left <= 0 or not self._credit.wait(left):
                        break
        if not self.has_credit:
            raise self._behind(size, timeout_ms)
        return max(0, int((deadline - time.monotonic()) * 1000))
