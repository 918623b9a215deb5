"""Inboxes of endpoints and the queues of those that have letters."""

from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import disjoint_base

from flinkish._core.rpc_future import RpcFuture, TimedFuture

_T = TypeVar("_T")

@disjoint_base
class Letter:
    """Something for an endpoint."""

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
class Inbox:
    """Letters on their way to one endpoint."""

    @property
    def target(self) -> Any: ...
    @property
    def home(self) -> Any: ...
    @property
    def name(self) -> str: ...
    @property
    def token(self) -> Any: ...
    @property
    def life_code(self) -> int: ...
    @property
    def size(self) -> int: ...
    def __init__(
        self, queue: RunQueue, home: Any, name: str, target: Any, token: Any = None
    ) -> None: ...
    def in_turn(self) -> bool: ...
    def post(self, letter: Letter) -> None: ...
    def set_life(self, life: int) -> None: ...
    def close(self) -> None: ...

@disjoint_base
class TurnFuture(TimedFuture[_T]):
    """A future that a turn of an inbox ends."""

def turn_future(inbox: Inbox) -> TurnFuture[Any]: ...

@disjoint_base
class RunQueue:
    """Inboxes with letters."""

    def __init__(self, limit: int, workers: int, spare: Callable[[RunQueue], object]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def turns(self) -> int: ...
    @property
    def letters(self) -> int: ...
    def work(self) -> None: ...
    def close(self) -> None: ...
