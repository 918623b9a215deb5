"""The transport of a service: its connections, of both directions, and how they are made."""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import threading
import time
import weakref
from concurrent.futures import Future
from functools import partial
from typing import ClassVar, Literal, Protocol

from flinkish._core.rpc.framing import CONTROL_LIMIT, FrameSink
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError, RpcConnectionError, RpcError
from flinkish.rpc.connection import Connection
from flinkish.rpc.dialing import check_advertised, is_loopback, is_wildcard, numeric
from flinkish.rpc.handshake import Handshake, Identity, place_of, secret_key
from flinkish.rpc.heartbeats import heartbeats
from flinkish.rpc.io_thread import IoThread, TimerHandle
from flinkish.rpc.listener import Listener, bind
from flinkish.rpc.log_thread import LateLogger
from flinkish.rpc.routes import Address, Routes, settle
from flinkish.rpc.strangers import Throttle, shown
from flinkish.rpc.tls import TlsConfig, TlsSession
from flinkish.rpc.traffic import Traffic, TransportStatistics

__all__ = ["Address", "ConnectionHandler", "Transport", "TransportStatistics"]

logger = LateLogger(__name__)


class ConnectionHandler(Protocol):
    """Who uses the connections of a transport.  Called on the I/O thread, and must not block."""

    def sink(self, connection: Connection) -> FrameSink:
        """Who takes the frames of a new connection."""

    def on_connected(self, connection: Connection) -> None:
        """A peer has proved itself; frames can be sent from here on."""

    def on_lost(self, connection: Connection, error: RpcError) -> None:
        """A connection is over, for this reason; what was under way is lost."""


class Transport:
    """Connections of one service to others.

    Parameters:
        name: of the service, for the other side to see.
        handler: takes frames, and hears of connections that come and go.
        secret: what all services of the application know; text or bytes, best 32 random ones.
        host: where to listen, an address of this host; None: only dial.
        advertised_host: the name or address by which others reach that, if it is another one.
        port: 0 for any that is free.
        tls: None for encryption where a connection leaves the host, with a certificate made for
            the occasion where this service listens (then ``tls`` has it, for the others to get);
            a TlsConfig for encryption of all TCP; ``"plaintext"`` for none anywhere.
        max_frame_size: bytes of the largest message, header included; the smaller of both sides
            counts.
        receive_window: bytes of requests that each peer may have under way to this service; its
            memory for a peer is bounded by that and one frame.
        heartbeat_interval: silence after which a peer is asked for a sign of life.
        heartbeat_timeout: silence after which a connection is given up.
        connect_timeout: for reaching an address, and again for the handshake.
        send_timeout: how long a request waits for a receiver that lags, unless it says.
        unix_sockets: whether peers on the same host are reached by these where possible.

    Life cycle: nothing happens before ``listen`` or ``dial``; a thread runs until ``close``.  In a
    forked child it is as new, without the parent's connections and not listening.

    Threading: all methods are for all threads.
    """

    _all: ClassVar[weakref.WeakSet[Transport]] = weakref.WeakSet()

    def __init__(
        self,
        name: str,
        handler: ConnectionHandler,
        *,
        secret: str | bytes,
        host: str | None = None,
        advertised_host: str | None = None,
        port: int = 0,
        tls: TlsConfig | Literal["plaintext"] | None = None,
        max_frame_size: int = 10 * 1024 * 1024,
        receive_window: int = 4 * 1024 * 1024,
        heartbeat_interval: DurationLike = 10_000,
        heartbeat_timeout: DurationLike = 50_000,
        connect_timeout: DurationLike = 10_000,
        send_timeout: DurationLike = 10_000,
        unix_sockets: bool = True,
    ) -> None:
        if not secret:
            raise IllegalArgumentError(
                "a transport needs a secret that all services of the application share: make one "
                "with secrets.token_hex(32) and give it to all of them"
            )
        if not CONTROL_LIMIT <= max_frame_size < 1 << 32:
            raise IllegalArgumentError(
                f"max_frame_size must be {CONTROL_LIMIT} bytes to 4 GiB, not {max_frame_size}"
            )
        if receive_window < 1:
            raise IllegalArgumentError(f"receive_window must be positive, not {receive_window}")
        check_advertised(advertised_host, host)
        interval, timeout = heartbeats(heartbeat_interval, heartbeat_timeout)
        if tls is None and host is not None and not is_loopback(host):
            tls = TlsConfig.ephemeral()
        self.name = name
        self.tls = tls
        self.max_frame_size = max_frame_size
        self.window = receive_window
        self.send_timeout_ms = to_millis(send_timeout, "send_timeout", minimum=0)
        self._handler = handler
        self._key = secret_key(secret)
        self._host, self._port, self._advertised_host = host, port, advertised_host
        self._beat_seconds = interval / 1000
        self._patience = -(-timeout // interval)
        self._connect_seconds = to_millis(connect_timeout, "connect_timeout", minimum=1) / 1000
        self._unix = unix_sockets
        self._contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
        if isinstance(tls, TlsConfig):
            read = tls.read()  # once: files may be replaced while this service runs
            self._fingerprint = read.fingerprint()
            self._contexts = read.context(dialing=False), read.context(dialing=True)
        self._reset()
        Transport._all.add(self)

    def _reset(self) -> None:
        """Be as new."""
        self.incarnation = secrets.token_hex(16)
        self._guard = threading.Lock()
        self._io: IoThread | None = None
        self._bound: Address | None = None
        self._closed: Future[None] | None = None
        self._said_goodbye = False
        self._listeners: list[Listener] = []
        self._strangers: dict[Connection, TimerHandle] = {}
        self._refusals, self._losses = Throttle(logger.warning), Throttle(logger.warning)
        self._connections: set[Connection] = set()
        self._routes = Routes(self._reached, unix=self._unix, timeout=self._connect_seconds)
        self._targets: dict[Connection, Address] = {}
        self._last_beat = 0.0
        self._traffic = Traffic()

    def __repr__(self) -> str:
        where = "dials only" if self._bound is None else "listens on {}:{}".format(*self._bound)
        return f"<Transport {self.name!r} {where}>"

    # --- for all threads

    def listen(self) -> Address:
        """Listen, and say where; a second call says it again."""
        if self._host is None:
            raise IllegalArgumentError("a transport without host only dials: give it one to listen")
        io = self._start()
        with self._guard:
            if self._bound is None:
                sockets = bind(numeric(self._host), self._port, unix=self._unix)
                self._bound = sockets[0][0].getsockname()[:2]
                io.post(partial(self._listen, io, sockets))
            return self._bound

    @property
    def advertised(self) -> Address | None:
        """Where others reach it; None while it does not listen, or if that cannot be known."""
        host, port = self._bound or ("", 0)
        host = numeric(self._advertised_host or host)
        return (numeric(host), port) if host and port and not is_wildcard(host) else None

    @property
    def address(self) -> Address | None:
        """Where it listens, None while it does not."""
        return self._bound

    def dial(self, address: Address) -> Future[Connection]:
        """A connection to the service at (host, port): the one there is, or a new one.

        After an attempt that failed the next one waits, longer each time.  The future fails with an
        RpcConnectionError, a HandshakeError if somebody else or nobody we may talk to is there.
        """
        future: Future[Connection] = Future()
        address = numeric(address[0]), address[1]
        try:
            io = self._start()
        except RpcConnectionError as error:
            future.set_exception(error)
            return future
        io.post(partial(self._dial, io, address, future))
        return future

    def connections(self) -> list[Connection]:
        """Those that stand now."""
        return list(self._connections)

    def statistics(self) -> TransportStatistics:
        """Counts, not of one instant."""
        return self._traffic.statistics(self.connections(), self._routes.failures)

    def close(self, reason: str = "the service was closed") -> Future[None]:
        """Stop listening, say goodbye to all peers; done when the last connection is closed."""
        with self._guard:
            if self._closed is not None:
                return self._closed
            done = self._closed = Future()
            io = self._io
        if io is None:
            done.set_result(None)
        else:
            io.post(partial(self._close, reason))
        return done

    def _start(self) -> IoThread:
        with self._guard:
            if self._closed is not None:
                raise RpcConnectionError(
                    f"the transport of {self.name!r} is closed: make a new one"
                )
            if self._io is None:
                self._io = IoThread.acquire()
                self._io.post(partial(self._beat, self._io))
            return self._io

    # --- listening, on the I/O thread

    def _listen(self, io: IoThread, sockets: list[tuple[socket.socket, str | None]]) -> None:
        for sock, path in sockets:
            accepted = partial(self._accepted, io, path is not None)
            self._listeners.append(Listener(io, sock, path, accepted))
        if self._closed is not None:
            self._stop_listening()

    def _stop_listening(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    def _accepted(self, io: IoThread, unix: bool, sock: socket.socket, address: str) -> Connection:
        self._traffic.accepted += 1
        where = (sock.getsockname(), self._bound, self.advertised)
        places = {place_of(place) for place in where if place}
        return self._shake_hands(io, sock, unix, address, places, dialing=False)

    def _shake_hands(
        self,
        io: IoThread,
        sock: socket.socket,
        unix: bool,
        address: str,
        places: set[str],
        *,
        dialing: bool,
    ) -> Connection:
        identity = Identity(
            name=self.name,
            incarnation=self.incarnation,
            pid=os.getpid(),
            listens=self.advertised,
            window=self.window,
            max_frame_size=self.max_frame_size,
        )
        handshake = Handshake(identity, self._key, dialing=dialing, address=address, places=places)
        tls = None
        if unix:
            handshake.transport = "unix"
        elif self._contexts is not None:
            handshake.transport = "tls"
            tls = TlsSession(self._fingerprint, self._contexts[dialing], dialing=dialing)
        connection = Connection(self, io, sock, handshake, tls, dialing=dialing, address=address)
        late = RpcConnectionError(
            f"{address} did not finish the handshake within {self._connect_seconds:g} s"
        )
        timer = io.call_later(self._connect_seconds, partial(connection.give_up, late))
        self._strangers[connection] = timer
        return connection

    # --- dialling, on the I/O thread

    def _dial(self, io: IoThread, address: Address, future: Future[Connection]) -> None:
        if self._closed is not None:
            settle(future, None, RpcConnectionError(f"the transport of {self.name!r} is closed"))
            return
        known = self._routes.find(address)
        if known is not None:
            settle(future, known)
            return
        if self.tls is None and not is_loopback(address[0]):
            error = IllegalArgumentError(
                f"{address[0]}:{address[1]} is not on this host, so the connection must be "
                "encrypted: give this service the TlsConfig of the one that listens there, or "
                "tls='plaintext' if nobody can listen in on the network"
            )
            settle(future, None, error)
            return
        self._routes.ask(io, address, future)

    def _reached(self, address: Address, sock: socket.socket, unix: bool) -> None:
        assert self._io is not None
        where = "{}:{}".format(*address)
        places = {place_of(address), place_of(sock.getpeername())}
        connection = self._shake_hands(self._io, sock, unix, where, places, dialing=True)
        self._targets[connection] = address
        connection.begin_handshake()

    # --- what connections tell

    def authenticated(self, connection: Connection) -> FrameSink:
        """The peer has proved itself."""
        self._strangers.pop(connection).cancel()
        self._connections.add(connection)
        peer = connection.peer
        assert peer is not None
        if connection.dialing:
            self._traffic.dialed += 1
            self._routes.add(self._targets[connection], connection)
        else:
            for listener in self._listeners:
                listener.left(connection)
            # What a peer says of its address is believed where the kernel says whose process it is.
            if peer.listens is not None and peer.transport == "unix":
                self._routes.add(peer.listens, connection)
        return self._handler.sink(connection)

    def connected(self, connection: Connection) -> None:
        """Frames can be sent."""
        self._handler.on_connected(connection)
        address = self._targets.get(connection)
        if address is not None:
            self._routes.opened(address, connection)

    def ended(self, connection: Connection, error: RpcError) -> None:
        """It is over, or never came to be."""
        address = self._targets.pop(connection, None)
        if connection.peer is None:
            self._strangers.pop(connection).cancel()
            if address is not None:
                self._routes.failed(address, error)
            else:
                self._traffic.refused += 1
                for listener in self._listeners:
                    listener.left(connection)
                self._refusals.say(f"{self.name!r} refused a connection: {shown(str(error), 600)}")
        else:
            self._connections.discard(connection)
            self._traffic.lost += 1
            self._traffic.add(connection)
            self._routes.remove(connection, error)
            if n := connection.lost_tells:
                self._losses.say(
                    f"{n} tells to {connection.address} were lost: {shown(str(error))}"
                )
            self._handler.on_lost(connection, error)
        self._maybe_closed()

    # --- heartbeats

    def _beat(self, io: IoThread) -> None:
        if self._closed is not None:
            return
        self._refusals.flush()
        self._losses.flush()
        now = time.monotonic()
        # A process that was frozen has heard nothing; that is not the fault of its peers.
        frozen = self._last_beat and now - self._last_beat > 2 * self._beat_seconds
        self._last_beat = now
        for connection in self.connections():
            if frozen:
                connection.reading.silent = 0
            connection.beat(self._patience, self._beat_seconds)
        io.call_later(self._beat_seconds, partial(self._beat, io))

    # --- the end

    def _close(self, reason: str) -> None:
        self._said_goodbye = True
        self._stop_listening()
        closed = RpcConnectionError(f"the transport of {self.name!r} was closed")
        self._routes.cancel(closed)
        for stranger in list(self._strangers):
            stranger.give_up(closed)
        for connection in self.connections():
            connection.close(reason, for_good=True)
        self._maybe_closed()

    def _maybe_closed(self) -> None:
        done = self._closed
        if (
            done is None
            or not self._said_goodbye
            or self._connections
            or self._strangers
            or self._routes.busy
        ):
            return
        io, self._io = self._io, None
        if io is not None:
            io.release()
            settle(done, None)

    @classmethod
    def _forked(cls) -> None:
        """In the child: leave the parent's sockets to the parent, and be as new."""
        for transport in list(cls._all):
            transport._routes.abandon()
            for connection in (*transport._connections, *transport._strangers):
                connection.abandon()
            for listener in transport._listeners:
                listener.abandon()
            closed = transport._closed is not None
            transport._reset()
            if closed:
                transport._closed = Future()
                transport._closed.set_result(None)


IoThread.on_fork(Transport._forked)
