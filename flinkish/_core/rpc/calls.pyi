"""Calls of endpoints."""

from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import disjoint_base

from flinkish._core.rpc.future import Deadlines, RpcFuture, TimedFuture
from flinkish._core.rpc.inbox import Inbox, Letter

_T = TypeVar("_T")

@disjoint_base
class Task(Letter):
    """A function to be called in the main thread."""

    def __init__(
        self,
        function: Callable[[], object],
        future: RpcFuture[Any] | None = None,
        control: bool = False,
    ) -> None: ...

@disjoint_base
class TurnFuture(TimedFuture[_T]):
    """A future that a turn of an inbox ends."""

def turn_future(inbox: Inbox) -> TurnFuture[Any]: ...

@disjoint_base
class Procedure:
    """A method of a gateway."""

    @property
    def name(self) -> str: ...
    @property
    def gateway(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def local(self) -> bool: ...
    @property
    def encode_arguments(self) -> Any: ...
    @property
    def decode_arguments(self) -> Any: ...
    @property
    def encode_result(self) -> Any: ...
    @property
    def decode_result(self) -> Any: ...
    @property
    def foreign_result(self) -> bool: ...
    def __init__(
        self,
        name: str,
        gateway: str,
        number: int,
        kind: int,
        local: bool,
        encode_arguments: Callable[[tuple[Any, ...]], bytes] | None,
        decode_arguments: Callable[[Any], tuple[Any, ...]] | None,
        encode_result: Callable[[Any], bytes] | None,
        decode_result: Callable[[Any], Any] | None,
        foreign_result: bool = False,
    ) -> None: ...

@disjoint_base
class Call(Letter):
    """A call of a method of an endpoint; a base class."""

@disjoint_base
class LocalCall(Call):
    """A call from this process."""

@disjoint_base
class AskFuture(TurnFuture[Any]):
    """The future of an ask."""

    def take(self, payload: bytes) -> None: ...
    @property
    def method(self) -> str: ...
    @property
    def address(self) -> str: ...

@disjoint_base
class Port:
    """Where a gateway sends its calls."""

    @property
    def home(self) -> Any: ...
    @property
    def address(self) -> str: ...
    @property
    def hostname(self) -> str: ...
    @property
    def token(self) -> Any: ...
    @property
    def timeout_ms(self) -> int: ...
    def __init__(
        self,
        home: Any,
        address: str,
        hostname: str,
        token: Any,
        timeout_ms: int,
        deadlines: Deadlines,
        capture: bool = False,
    ) -> None: ...
    def tell(
        self, procedure: Procedure, arguments: tuple[Any, ...], timeout: Any = None
    ) -> None: ...
    def ask(
        self, procedure: Procedure, arguments: tuple[Any, ...], timeout: Any = None
    ) -> AskFuture: ...
    def call(
        self, procedure: Procedure, arguments: tuple[Any, ...], timeout: Any = None
    ) -> Any: ...
    def is_own(self, inbox: Inbox) -> bool: ...
    def with_timeout(self, timeout_ms: int) -> Port: ...

@disjoint_base
class LocalPort(Port):
    """Sends to an endpoint of this process."""

    @property
    def inbox(self) -> Inbox: ...
    def __init__(
        self,
        inbox: Inbox,
        home: Any,
        address: str,
        hostname: str,
        token: Any,
        timeout_ms: int,
        deadlines: Deadlines,
        capture: bool = False,
        serialize: bool = False,
    ) -> None: ...
