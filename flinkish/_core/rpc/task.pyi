"""Functions in main threads, and futures that turns end."""

from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import disjoint_base

from flinkish._core.rpc.future import RpcFuture, TimedFuture
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
