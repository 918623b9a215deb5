"""The way into a connection: which thread reads its socket, and what becomes of the bytes.

Invariants:
    N1  The socket is read by the I/O thread, or by who has borrowed the ``reading``; never by two
        (``reading.pxd``).  What ends the connection is left to the I/O thread.
    N2  Nothing is passed on before the peer has proved itself, and a stranger may send little.
"""

from __future__ import annotations

import select
import socket
from abc import abstractmethod
from functools import partial

from flinkish._core.rpc.framing import FrameCutter, FrameSink
from flinkish.common.errors import FrameError, FrameTooLargeError
from flinkish.rpc.handshake import Handshake
from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.outflow import Outflow
from flinkish.rpc.tls import TlsSession

__all__ = ["Inflow"]

READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
EARLY_LIMIT = 65536  # bytes that a stranger may send before it has proved itself


class Cutter(FrameCutter):
    """Cuts what comes in, with the errors of flinkish."""

    frame_error = FrameError

    @staticmethod
    def large_error(message: str, size: int, limit: int) -> FrameTooLargeError:
        """The peer sends more than it was told that we take."""
        return FrameTooLargeError(message, size=size, limit=limit)


class Inflow(Outflow):
    """Reads frames off a socket; ``Connection`` knows what those of the connection itself mean."""

    def __init__(
        self,
        io: IoThread,
        sock: socket.socket,
        handshake: Handshake,
        tls: TlsSession | None,
        timeout_ms: int,
        *,
        max_frame_size: int,
        address: str,
    ) -> None:
        super().__init__(io, sock, tls, timeout_ms)
        self.address = address
        self._handshake: Handshake | None = handshake
        self._cutter = Cutter(max_frame_size)
        self._sink = FrameSink()
        self._early = 0

    @property
    def received_frames(self) -> int:
        """Frames that came in, those of the connection itself included."""
        return self._cutter.frames

    @property
    def received_bytes(self) -> int:
        """All bytes that came in."""
        return self.reading.received

    @abstractmethod
    def _proceed_tls(self) -> None:
        """Go on with the handshake of TLS, on another thread."""

    @abstractmethod
    def _cut_early(self, data: bytes) -> None:
        """Take in bytes of a peer that has not proved itself."""

    @abstractmethod
    def _on_control(self, kind: int, call: int, payload: bytes) -> None:
        """A frame of the connection itself."""

    @abstractmethod
    def _failed(self, error: Exception) -> None:
        """End the connection for this reason."""

    def on_ready(self, events: int) -> None:
        """Events of the socket."""
        try:
            if events & READABLE and self.error is None and self.reading.enter():
                try:
                    self._receive()
                finally:
                    self.reading.leave()
            if events & select.EPOLLOUT and self.error is None:
                self._go_on()
        except Exception as error:
            self._failed(error)

    def read_large(self) -> None:
        """Read a large frame into the buffer of the cutter."""
        try:
            size = self._sock.recv_into(self._cutter)
        except BlockingIOError:
            return
        self._took(size)
        self._cutter.filled(size, self._sink)

    def take_control(self) -> None:
        """Handle the frames that are not calls or replies."""
        for kind, call, payload in self._cutter.take_control():
            self._on_control(kind, call, payload)

    def fail_later(self, error: Exception | None) -> None:
        """Have the I/O thread end the connection with this error."""
        reason = error or ConnectionError("it was ended while it was read")
        self._io.post(partial(self._failed, reason))

    def _receive(self) -> None:
        if self._tls is None and self._cutter.missing:
            self.read_large()
            return
        try:
            size = self._sock.recv_into(self._io.buffer)
        except BlockingIOError:
            return
        self._took(size)
        if self._tls is not None:
            self._take_cipher(size)
        else:
            self._cut(size)

    def _took(self, size: int) -> None:
        if not size:
            raise self.closed()
        self.reading.silent = 0
        self.reading.received += size
        self.hear()

    def _take_cipher(self, size: int) -> None:
        assert self._tls is not None
        self._tls.incoming.write(memoryview(self._io.buffer)[:size])
        if self._tls.established:
            self._decrypt()
        else:
            self._count_early(size)
            self._proceed_tls()

    def _decrypt(self) -> None:
        """Take in what has come, as far as it can be decrypted."""
        buffer, tls = self._io.buffer, self._tls
        assert tls is not None
        while self.error is None:
            size = tls.decrypt(buffer)
            if size < 0:
                break
            if size == 0:
                raise self.closed()
            self._cut(size)
        if tls.outgoing.pending:
            self._write_cipher()

    def _count_early(self, size: int) -> None:
        self._early += size
        if self._early > EARLY_LIMIT:
            raise FrameError(f"{self.address} sent more than {EARLY_LIMIT} bytes and no proof")

    def _cut(self, size: int) -> None:
        if self._handshake is None:
            self._cutter.cut_front(self._io.buffer, size, self._sink)
        else:
            self._cut_early(bytes(memoryview(self._io.buffer)[:size]))
        self.take_control()
