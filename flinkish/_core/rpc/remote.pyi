"""Calls that cross a connection."""

from collections.abc import Callable
from typing import Any, final

from typing_extensions import disjoint_base

from flinkish._core.rpc.calls import AskFuture, Call, Port, Procedure
from flinkish._core.rpc.frame_buffer import FrameBuffer
from flinkish._core.rpc.framing import FrameSink
from flinkish._core.rpc.future import Deadlines
from flinkish._core.rpc.inbox import Inbox, Letter

@final
class Resume(Letter):
    """Put the calls that were held back in front."""

@disjoint_base
class Gate:
    """Of one connection."""

    def __init__(self, out: FrameBuffer) -> None: ...
    def relieve(self) -> None: ...
    def answer_late(self) -> None: ...

@disjoint_base
class Link:
    """An endpoint that the peer has opened."""

    @property
    def inbox(self) -> Inbox: ...
    @property
    def token(self) -> Any: ...
    def __init__(
        self,
        session: Session,
        inbox: Inbox,
        names: list[str],
        procedures: list[Procedure | None],
        token: Any,
    ) -> None: ...

@disjoint_base
class Session(FrameSink):
    """One side of a connection."""

    @property
    def connection(self) -> Any: ...
    @property
    def owner(self) -> Any: ...
    @property
    def lost(self) -> Any: ...
    @property
    def under_way(self) -> int: ...
    def __init__(self, connection: Any, owner: Any) -> None: ...
    def add_link(self, link: Link) -> int: ...
    def lose(self, error: BaseException) -> None: ...
    def open(self, port: Port, procedure: Procedure, payload: bytes) -> RemoteAsk: ...
    def answer(self, call: int, payload: bytes, good: bool) -> None: ...

@disjoint_base
class RemoteCall(Call):
    """A call from the other side of a connection."""

    def procedure_name(self) -> str: ...

@disjoint_base
class RemoteAsk(AskFuture):
    """The future of an ask to another process."""

    def age_ms(self) -> int: ...

@disjoint_base
class Route:
    """A link that was opened."""

    @property
    def session(self) -> Session: ...
    def __init__(self, session: Session, link: int, absent: frozenset[int]) -> None: ...

@disjoint_base
class Way:
    """The way to an endpoint of another process."""

    @property
    def route(self) -> Route: ...
    def __init__(self, route: Route, again: Callable[[Way], object] | None) -> None: ...
    def found(self, route: Route) -> None: ...
    def not_found(self, for_ever: bool) -> None: ...

@disjoint_base
class RemotePort(Port):
    """Sends to an endpoint at the other side of a connection."""

    @property
    def way(self) -> Way: ...
    def __init__(
        self,
        way: Way,
        home: Any,
        address: str,
        hostname: str,
        token: Any,
        timeout_ms: int,
        deadlines: Deadlines,
        capture: bool = False,
    ) -> None: ...
