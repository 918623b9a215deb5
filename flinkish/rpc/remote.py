"""Links between gateways and endpoints of two processes: how they are opened.

A gateway's connection is dialled, or is there already; over it the gateway is opened: OPEN names
the endpoint, the methods by their numbers, the hash of the schema and the fencing token; OPENED
gives the number of the link and which methods the endpoint lacks.  Equal hashes mean equal schemas,
and arguments are decoded by the strict types; else by lenient ones, so that parties of versions N
and N+1 understand each other where they can.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from flinkish._core.rpc.calls import Port, Procedure
from flinkish._core.rpc.framing import FrameSink
from flinkish._core.rpc.future import Prompt, RpcFuture
from flinkish._core.rpc.inbox import Inbox
from flinkish._core.rpc.remote import Link, RemotePort, Route, Session, Way
from flinkish.common.errors import (
    ConnectionLostError,
    HandshakeError,
    RpcConnectionError,
    RpcError,
)
from flinkish.rpc.addresses import RpcAddress, is_pattern
from flinkish.rpc.connection import Connection
from flinkish.rpc.futures import completed, end, failed
from flinkish.rpc.gateway import RpcGateway, gateways_of, proxy_of, schema_of
from flinkish.rpc.remote_errors import encode_error
from flinkish.rpc.schema import ASK
from flinkish.rpc.tokens import encode_token
from flinkish.rpc.wire import encode_plain, wire_of

if TYPE_CHECKING:
    from flinkish._core.rpc.future import Deadlines
    from flinkish.rpc.transport import Transport

__all__ = ["Remote"]

Proxy = TypeVar("Proxy", bound=RpcGateway)
VERSION = 1
PATTERN_LIMIT = 512  # characters
LINKS_LIMIT = 64 << 20  # bytes of the requests whose links one connection holds


class OpenRequest(msgspec.Struct, array_like=True):
    """The payload of OPEN; without a gateway only the endpoint's name is asked for."""

    version: int
    endpoint: str
    gateway: str | None
    hash: str
    methods: list[str]
    token: bytes | None
    token_text: str


class OpenReply(msgspec.Struct, array_like=True):
    """The payload of OPENED: ``absent`` are numbers of methods that the endpoint lacks."""

    endpoint: str
    link: int
    absent: list[int]


class ForeignToken:
    """A token that came from another process and is not the endpoint's."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


_requests = msgspec.msgpack.Decoder(OpenRequest)
_replies = wire_of(OpenReply)
_OPEN = Procedure("connect", "RpcService", 0, ASK, False, None, None, None, _replies.decode)


class Host(Protocol):
    """A service, as far as its remote half knows it."""

    name: str
    ask_timeout_ms: int
    deadlines: Deadlines
    captures: bool

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more calls."""

    def transport(self) -> Transport:
        """Its connections, opened if need be."""

    def find(self, endpoint_id: str) -> Inbox:
        """The endpoint that a name or a pattern means; RpcConnectionError without one."""

    def endpoint_of(self, inbox: Inbox) -> Any:
        """The endpoint of an inbox; RecipientUnreachableError when it has ended."""

    def not_offered(self, inbox: Inbox, endpoint: object, gateway: str) -> HandshakeError:
        """The error for a gateway that an endpoint does not implement."""


class Remote:
    """The remote half of a service; handler of its connections.

    Threading: ``on_…`` and ``sink`` are called on the I/O thread, the rest by all.
    """

    def __init__(self, service: Host) -> None:
        self._service = service
        self._sessions: dict[Connection, Session] = {}
        self._held: dict[Session, int] = {}  # bytes of requests that the links of each hold
        self._links: dict[tuple[Session, Inbox, str, bytes | None], int] = {}
        self._lock = threading.Lock()

    # --- connections

    def sink(self, connection: Connection) -> FrameSink:
        """Who takes the frames of a new connection."""
        session = Session(connection, self)
        with self._lock:
            self._sessions[connection] = session
        return session

    def on_connected(self, connection: Connection) -> None:
        """Nothing is to be done before somebody asks for it."""

    def on_lost(self, connection: Connection, error: RpcError) -> None:
        """Fail what is under way."""
        with self._lock:
            session = self._sessions.pop(connection, None)
            for key in [key for key in self._links if key[0] is session]:
                del self._links[key]
        if session is not None:
            self._held.pop(session, None)
            session.lose(error)

    @property
    def under_way(self) -> int:
        """Asks to other processes that have no answer yet."""
        with self._lock:
            return sum(session.under_way for session in self._sessions.values())

    # --- opening, here

    def connect(self, address: RpcAddress, gateway: type[Proxy], token: Any) -> RpcFuture[Proxy]:
        """A gateway to an endpoint of another process."""
        service = self._service
        schema = schema_of(gateway)
        encoded = None if token is None else encode_token(token)
        request = OpenRequest(
            VERSION,
            address.endpoint,
            schema.gateway,
            schema.hash,
            schema.names,
            encoded,
            repr(token),
        )
        future: RpcFuture[Proxy] = RpcFuture()

        def opened(session: Session, reply: OpenReply) -> None:
            port = RemotePort(
                Way(_route(session, reply), again),
                service,
                f"{address.service}/user/rpc/{reply.endpoint}",
                address.host or "",
                token,
                service.ask_timeout_ms,
                service.deadlines,
                service.captures,
            )
            end(future, proxy_of(gateway, port))

        def again(way: Way) -> None:
            """The connection was lost: open the link anew, if it is still the same process."""
            lost = way.route.session.lost
            if isinstance(lost, ConnectionLostError) and lost.for_good:
                way.not_found(for_ever=True)
                return
            before = way.route.session.connection.peer.incarnation
            searched: RpcFuture[None] = RpcFuture()

            def found(session: Session, reply: OpenReply) -> None:
                if session.connection.peer.incarnation != before:
                    way.not_found(for_ever=True)
                else:
                    way.found(_route(session, reply))

            def ended(searched: RpcFuture[None]) -> None:
                if not searched.cancelled() and searched.exception() is not None:
                    way.not_found(for_ever=service.is_closed)

            searched.add_done_callback(Prompt(ended))
            self._open(address, request, searched, found)

        self._open(address, request, future, opened)
        return future

    def resolve(self, address: RpcAddress) -> RpcFuture[str]:
        """The full address of an endpoint of another process."""
        request = OpenRequest(VERSION, address.endpoint, None, "", [], None, "")
        future: RpcFuture[str] = RpcFuture()

        def opened(_: Session, reply: OpenReply) -> None:
            end(future, f"{address.service}/user/rpc/{reply.endpoint}")

        self._open(address, request, future, opened)
        return future

    def _dial(self, address: RpcAddress) -> Any:
        """A future of a connection: dialled, or the one over which a peer came to us."""
        if address.host is not None and address.port is not None:
            return self._service.transport().dial((address.host, address.port))
        with self._lock:
            peers = [c for c in self._sessions if c.peer and c.peer.name == address.name]
        if len(peers) == 1:
            return completed(peers[0])
        many = f"{len(peers)} services of this name are" if peers else "no such service is"
        return failed(
            RpcConnectionError(
                f"Could not connect to rpc endpoint under address {address}: {many} connected to "
                f"service {self._service.name!r}, and an address without host and port means one "
                "that is"
            )
        )

    def _open(self, address: RpcAddress, request: OpenRequest, future: Any, opened: Any) -> None:
        service = self._service
        payload = encode_plain(request)
        port = Port(
            *(service, str(address), address.host or "", None),
            *(service.ask_timeout_ms, service.deadlines, False),
        )

        def dialled(dialling: Any) -> None:
            try:
                connection: Connection = dialling.result()
                peer = connection.peer
                if peer is None or peer.name != address.name:
                    raise RpcConnectionError(
                        f"Could not connect to rpc endpoint under address {address}: the service "
                        f"there is {peer.name if peer else '?'!r}"
                    )
                with self._lock:
                    session = self._sessions.get(connection)
                if session is None:
                    raise RpcConnectionError(f"the connection to {address} was lost at once")
                asked = session.open(port, _OPEN, payload)
            except BaseException as error:
                end(future, error=_not_connected(address, error))
                return
            asked.add_done_callback(Prompt(lambda asked: answered(session, asked)))

        def answered(session: Session, asked: RpcFuture[OpenReply]) -> None:
            try:
                opened(session, asked.result())
            except BaseException as error:
                end(future, error=error)

        self._dial(address).add_done_callback(dialled)

    # --- opening, there

    def on_open(self, session: Session, call: int, payload: bytes) -> None:
        """The peer wants a link to an endpoint of this process."""
        try:
            request = _requests.decode(payload)
            answer = encode_plain(self._link(session, request, len(payload)))
        except msgspec.MsgspecError as error:
            refusal = HandshakeError(f"the request cannot be read: {error}")
            session.answer(call, encode_error(refusal), False)
        except Exception as error:
            session.answer(call, encode_error(error.with_traceback(None)), False)
        else:
            session.answer(call, answer, True)

    def _link(self, session: Session, request: OpenRequest, size: int) -> OpenReply:
        if request.version != VERSION:
            raise HandshakeError(
                f"the caller speaks version {request.version} of the rpc protocol, and service "
                f"{self._service.name!r} version {VERSION}: use the same flinkish on both sides"
            )
        if is_pattern(request.endpoint) and len(request.endpoint) > PATTERN_LIMIT:
            raise HandshakeError(
                f"a pattern of {len(request.endpoint)} characters came in, and {PATTERN_LIMIT} are "
                "allowed"
            )
        inbox = self._service.find(request.endpoint)
        if request.gateway is None:
            return OpenReply(inbox.name, 0, [])
        endpoint = self._service.endpoint_of(inbox)
        offered, same = _offered(type(endpoint), request)
        absent = [n for n, name in enumerate(request.methods) if name not in offered]
        if not same and absent and request.gateway not in _names(type(endpoint)):
            raise self._service.not_offered(inbox, endpoint, request.gateway)
        key = (session, inbox, f"{request.gateway} {request.hash}", request.token)
        with self._lock:
            number = self._links.get(key)
        if number is None:
            self._held[session] = self._held.get(session, 0) + size
            if self._held[session] > LINKS_LIMIT:
                raise HandshakeError(
                    f"the links of one connection take more than {LINKS_LIMIT} bytes: share "
                    "gateways instead of connecting again and again"
                )
            procedures = [offered.get(name) for name in request.methods]
            token = _admit(inbox, request)
            number = session.add_link(Link(session, inbox, request.methods, procedures, token))
            with self._lock:
                self._links[key] = number
        return OpenReply(inbox.name, number, absent)


def _route(session: Session, reply: OpenReply) -> Route:
    return Route(session, reply.link, frozenset(reply.absent))


def _not_connected(address: RpcAddress, error: BaseException) -> BaseException:
    """Every failure to reach an address is an RpcConnectionError (Flink: PekkoRpcService)."""
    if isinstance(error, RpcConnectionError) or not isinstance(error, (RpcError, OSError)):
        return error
    wrapped = RpcConnectionError(
        f"Could not connect to rpc endpoint under address {address}: {error}"
    )
    wrapped.__cause__ = error
    return wrapped


def _names(kind: type) -> list[str]:
    return [gateway.__name__ for gateway in gateways_of(kind)]


def _offered(kind: type, request: OpenRequest) -> tuple[dict[str, Procedure], bool]:
    """The endpoint's procedures for this caller, and whether the schemas are the same."""
    schemas = [schema_of(gateway) for gateway in gateways_of(kind)]
    for schema in schemas:
        if schema.hash == request.hash and schema.names == request.methods:
            return {n: p for n, p in schema.procedures.items() if not p.local}, True
    wanted = set(request.methods)
    return {
        method.name: schema.lenient(method.name)
        for schema in reversed(schemas)
        for method in schema.methods
        if method.name in wanted and not method.local
    }, False


def _admit(inbox: Inbox, request: OpenRequest) -> Any:
    """The token that the calls of a link are checked by: the endpoint's own, if it is the same."""
    if request.token is None:
        return None
    if inbox.token is not None and encode_token(inbox.token) == request.token:
        return inbox.token
    return ForeignToken(request.token_text[:200])
