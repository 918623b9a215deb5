"""A connection between two services: one socket, shared by all calls in both directions.

Invariants:
    N1  ``inflow`` says who reads the socket, ``outflow`` who writes it.
    N2  It ends once, on the I/O thread: ``_end``.  A thread that waits for credit wakes up then,
        and the handler hears of it.
    N3  The descriptor is closed by the last who uses it: by ``_end``, or by the flusher that runs
        meanwhile, so that no write ever goes to somebody else's descriptor of the same number.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn, Protocol

from flinkish._core.rpc.framing import OPEN_LIMIT, FrameKind, FrameSink
from flinkish.common.errors import (
    BackPressureError,
    ConnectionLostError,
    FrameError,
    FrameTooLargeError,
    HandshakeError,
    IllegalStateError,
    RpcError,
)
from flinkish.rpc.handshake import Handshake, PeerInfo
from flinkish.rpc.inflow import Inflow
from flinkish.rpc.io_thread import IoThread, TimerHandle
from flinkish.rpc.strangers import shown
from flinkish.rpc.tls import TlsSession, is_tls
from flinkish.rpc.tls_thread import HANDSHAKES

__all__ = ["Connection", "ConnectionOwner"]

LINGER = 1.0  # seconds in which the peer of a closing connection must take in something
REASON_LIMIT = 500  # characters of a farewell
RECORD_START = 5  # bytes at the start of a stream that tell TLS from frames
FOR_GOOD = 1  # the call field of the GOODBYE of a service that ends


class ConnectionOwner(Protocol):
    """The methods that a connection calls on its transport, all of them on the I/O thread."""

    send_timeout_ms: int
    max_frame_size: int
    window: int

    def authenticated(self, connection: Connection) -> FrameSink:
        """The peer has proved itself; the sink for its frames."""

    def connected(self, connection: Connection) -> None:
        """Frames can be sent from here on."""

    def ended(self, connection: Connection, error: RpcError) -> None:
        """It is over, or never came to be."""


class Connection(Inflow):
    """A connection to a peer that has proved itself; ``send`` and ``flush`` of FrameBuffer.

    Threading: ``send``, ``flush``, ``consumed`` and ``close`` are for all threads; none of them
    blocks, except that a request (TELL, ASK) waits while the receiver lags.

    Ordering: frames arrive in the order of their ``send`` calls, each once, or not at all when
    the connection ends before.  Nothing is ever sent again.
    """

    def __init__(
        self,
        owner: ConnectionOwner,
        io: IoThread,
        sock: socket.socket,
        handshake: Handshake,
        tls: TlsSession | None,
        *,
        dialing: bool,
        address: str,
    ) -> None:
        super().__init__(
            io,
            sock,
            handshake,
            tls,
            owner.send_timeout_ms,
            max_frame_size=owner.max_frame_size,
            address=address,
        )
        self.dialing = dialing
        self.peer: PeerInfo | None = None
        self.lost_tells = 0
        self._owner = owner
        self._farewell: TimerHandle | None = None
        self._goodbye = ""
        self._start = b""
        self._ending: RpcError | None = None

    def __repr__(self) -> str:
        name = self.peer.name if self.peer else "?"
        return f"<Connection {'to' if self.dialing else 'from'} {name!r} at {self.address}>"

    # --- beginning, on the I/O thread

    def begin_handshake(self) -> None:
        """Take part in the socket's events and speak first, if it is our turn."""
        self._io.register(self._sock.fileno(), self, select.EPOLLIN)
        if self._tls is not None:
            self.set_indirect(True)
            if self.dialing:
                self._guard(self._proceed_tls)
        elif self.dialing:
            self._guard(self._say_hello)

    def _say_hello(self) -> None:
        assert self._handshake is not None
        self.put_control(FrameKind.HELLO, self._handshake.start())
        self._visit()

    def _proceed_tls(self) -> None:
        """Have a step of the handshake of TLS made, and hear nothing until it is."""
        self._io.unregister(self._sock.fileno())
        HANDSHAKES.put(self._step_tls)

    def _step_tls(self) -> None:
        """On the thread of handshakes (``tls_thread.py``)."""
        assert self._tls is not None
        outcome: bool | Exception
        try:
            outcome = self._tls.proceed()
        except Exception as error:
            outcome = error
        self._io.post(partial(self._stepped_tls, outcome))

    def _stepped_tls(self, outcome: bool | Exception) -> None:
        if self.error is None:
            self._io.register(self._sock.fileno(), self, select.EPOLLIN)
            self.reading.want_room(False)  # it is watched anew
            self._guard(partial(self._go_on_with_tls, outcome))

    def _go_on_with_tls(self, outcome: bool | Exception) -> None:
        assert self._tls is not None
        assert self._handshake is not None
        self._write_cipher()  # an alert, too: the other side shall know why
        if isinstance(outcome, Exception):
            raise outcome
        if outcome:
            self._tls.established = True
            self._handshake.channel = self._tls.channel()
            if self.dialing:
                self._say_hello()
            self._decrypt()

    def _on_handshake(self, kind: int, payload: bytes) -> None:
        assert self._handshake is not None
        if kind == FrameKind.GOODBYE:
            reason = shown(payload.decode("utf-8", "replace"), REASON_LIMIT)
            raise HandshakeError(f"{self.address} refused the connection: {reason}")
        try:
            answer = self._handshake.receive(kind, payload)
        except HandshakeError as error:
            self.put_control(FrameKind.GOODBYE, str(error).encode()[:REASON_LIMIT])
            self._visit()
            raise
        if answer is not None:
            self.put_control(*answer)
        if self._handshake.peer is not None:
            self._open(self._handshake, self._handshake.peer)
        if answer is not None:
            self._visit()
        if self.peer is not None:
            self._owner.connected(self)

    def _open(self, handshake: Handshake, peer: PeerInfo) -> None:
        """Nobody else knows of this connection before all of it is as agreed on."""
        self.peer = peer
        self._handshake = None
        if peer.transport == "tcp":  # TLS has codes of its own, unix sockets have no in-between
            mine, theirs = handshake.record_keys()
            self.seal(mine)
            self._cutter.seal(theirs)
        self._cutter.authenticate()
        self._cutter.allow(self.allowance)
        self.open(
            largest=min(peer.max_frame_size, self._owner.max_frame_size),
            credit=peer.window,
            window=self._owner.window,
        )
        self._sink = self._owner.authenticated(self)
        if self._tls is None:
            self.reading.may_be_lent(self._cutter, self._sink)

    # --- what comes in, on the I/O thread

    def _guard(self, action: Callable[[], None]) -> None:
        """Run a step; an error ends this connection, and no other."""
        try:
            action()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, RpcError):
            self._end(error)
        elif not isinstance(error, OSError):
            self._end(self._lost(f"{type(error).__name__}: {error}"))
        else:
            self._end(self._lost(str(error)) if self._handshake is None else self.closed())

    def _lost(self, why: str, *, for_good: bool = False) -> ConnectionLostError:
        name = f"{self.peer.name!r} at {self.address}" if self.peer else self.address
        return ConnectionLostError(
            f"the connection to {name} was lost: {why}", address=self.address, for_good=for_good
        )

    def closed(self) -> RpcError:
        """The error for calls after the connection's end."""
        if self._handshake is None:
            return self._lost("the other side closed it")
        hint = "it may want TLS" if self._tls is None else "it may not use TLS"
        return HandshakeError(
            f"{self.address} closed the connection before the handshake was done: is it a service "
            f"of flinkish, and the same tls= given to both? Here {hint}"
        )

    def _cut_early(self, data: bytes) -> None:
        """The same while it is not sure whom we talk to: frame by frame."""
        if self._tls is None and len(self._start) < RECORD_START:
            self._start += data[: RECORD_START - len(self._start)]
            if is_tls(self._start):
                raise HandshakeError(
                    f"{self.address} speaks TLS and this service does not (see its parameter tls)"
                )
        while data:
            self._cutter.cut(data, self._sink)
            taken = len(data) - self._cutter.left
            data = data[taken:]
            if self._handshake is not None:  # else they are frames of the session
                self._count_early(taken)
                for kind, _, payload in self._cutter.take_control():
                    self._on_handshake(kind, payload)

    def _on_control(self, kind: int, call: int, payload: bytes) -> None:
        if kind == FrameKind.CREDIT:
            self.grant(call)
            with self._credit:
                self._credit.notify_all()
        elif kind == FrameKind.PING:
            self.put_control(FrameKind.PONG)
            self.flush()
        elif kind == FrameKind.GOODBYE:
            reason = shown(payload.decode("utf-8", "replace"), REASON_LIMIT)
            raise self._lost(f"the other side said goodbye: {reason}", for_good=call == FOR_GOOD)
        elif kind != FrameKind.PONG:
            raise FrameError(f"a frame of kind {kind} came from {self.address} after the handshake")

    # --- errors of the compiled half

    def _broken(self, why: str) -> None:
        self._end(self._lost(why))

    def _behind(self, size: int, timeout_ms: int) -> BackPressureError:
        name, window = (self.peer.name, self.peer.window) if self.peer else ("?", 0)
        return BackPressureError(
            f"a request of {size} bytes to {name!r} at {self.address} was not sent within "
            f"{timeout_ms} ms, since the receiver has not taken the {window} bytes that may be "
            "under way to it: send less, or make its methods faster",
            address=self.address,
            timeout_ms=timeout_ms,
        )

    def _shut_error(self) -> RpcError:
        if self.error is not None:
            again = ConnectionLostError(
                str(self.error),
                address=self.address,
                for_good=getattr(self.error, "for_good", False),
            )
            again.__cause__ = self.error
            return again
        return ConnectionLostError(
            f"the connection to {self.address} is closed, or was made by the parent process before "
            "a fork: connect again",
            address=self.address,
        )

    def _large_error(self, kind: int, size: int, limit: int) -> FrameTooLargeError:
        if kind == FrameKind.OPEN and limit == OPEN_LIMIT:
            return FrameTooLargeError(
                f"a request to connect to {self.address} has {size} bytes, and {limit} are "
                "allowed: give the gateway fewer methods, or a shorter fencing token",
                size=size,
                limit=limit,
            )
        what = "a request" if kind in (FrameKind.TELL, FrameKind.ASK) else "a reply"
        whose = "" if limit == self._owner.max_frame_size else " of the other side"
        return FrameTooLargeError(
            f"{what} to {self.address} has {size} bytes, and max_frame_size{whose} allows {limit}: "
            "send less at once, or raise max_frame_size of both services",
            size=size,
            limit=limit,
        )

    # --- heartbeats, on the I/O thread

    def beat(self, patience: int, interval: float) -> None:
        """``interval`` s are over: ask a silent peer, end one silent for ``patience`` of them."""
        self.reading.silent += 1
        if self.reading.silent > patience:
            seconds = patience * interval
            self._end(self._lost(f"it was silent for {seconds:g} s (see heartbeat_timeout)"))
            return
        if self.reading.silent > 1:
            self.put_control(FrameKind.PING)
            self.flush()
            return
        self.trim()
        if self.reading.enter():  # else who borrowed it has the cutter, too
            self._cutter.trim()
            self.reading.leave()

    # --- the end

    def close(self, reason: str = "closed", *, for_good: bool = False) -> None:
        """Say goodbye and end the connection, after what was sent before; from any thread.

        ``for_good`` tells the peer that it need not connect again: this service ends.
        """
        self._io.post(lambda: self._leave(reason, for_good))

    def _leave(self, reason: str, for_good: bool) -> None:
        if self.error is not None or self._farewell is not None:
            return
        self._goodbye = reason
        self._linger(self.backlog + len(self._cipher) + 1)
        if self._tls is not None and not self._tls.established:
            self._left()
            return
        said = reason.encode()[:REASON_LIMIT]
        self.put_control(FrameKind.GOODBYE, said, call=FOR_GOOD if for_good else 0)
        self._visit()
        self._maybe_leave()

    def _linger(self, before: int) -> None:
        """Go on while the peer takes in what was sent."""
        left = self.backlog + len(self._cipher)
        if left < before:
            self._farewell = self._io.call_later(LINGER, partial(self._linger, left))
        else:
            self._left()

    def _maybe_leave(self) -> None:
        if self._farewell is not None and not self.backlog and not self._cipher:
            self._left()

    def _left(self) -> None:
        error = ConnectionLostError(
            f"the connection to {self.address} was closed: {self._goodbye}", address=self.address
        )
        self._end(error)

    def _end(self, error: RpcError) -> None:
        if self.error is not None:
            return
        if self._ending is None:
            self._ending = error
        if not self.reading.end():
            with suppress(OSError):  # the borrower wakes up, and `fail_later` follows
                self._sock.shutdown(socket.SHUT_RDWR)
            return
        self.error = error = self._ending
        if self._farewell is not None:
            self._farewell.cancel()
        self._io.unregister(self._sock.fileno())
        idle = self.shut()
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        if idle or self._blocked or self._tls is not None:
            self.release()
            self._sock.close()
        self.lost_tells = self.unsent(FrameKind.TELL)
        with self._credit:
            self._credit.notify_all()
        self._owner.ended(self, error)

    def give_up(self, error: RpcError) -> None:
        """End it for this reason, without a word; on the I/O thread."""
        self._end(error)

    def abandon(self) -> None:
        """In a forked child: close the descriptor, and say nothing to the peer."""
        self._sock.close()

    def __reduce__(self) -> NoReturn:
        raise IllegalStateError(f"{self!r} belongs to process {os.getpid()}: connect there instead")
