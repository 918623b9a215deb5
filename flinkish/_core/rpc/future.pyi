"""Futures that cost little, and their time limits."""

from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any, Generic, TypeVar, final

from typing_extensions import disjoint_base

from flinkish._core.wheel.timing_wheel import TimingWheel

_T = TypeVar("_T")

def equip(words: ModuleType, clock: Callable[[], int]) -> None: ...
def start_deadline(future: TimedFuture[Any], deadlines: Deadlines, millis: int) -> None: ...
def leave_callbacks(leave: bool) -> None: ...
def serve_callbacks(serve: bool) -> None: ...
def call_back(future: RpcFuture[Any], callback: Callable[[Any], object]) -> None: ...

@final
class Prompt:
    """A callback of flinkish itself."""

    def __init__(self, function: Callable[[Any], object]) -> None: ...
    def __call__(self, future: Any) -> None: ...

@disjoint_base
class RpcFuture(Generic[_T]):
    """The result of a call, with the methods of ``concurrent.futures.Future``; awaitable.

    Threading: safe from any thread.  ``add_done_callback`` says where callbacks run.
    """

    @classmethod
    def __class_getitem__(cls, item: Any) -> Any: ...
    def set_result(self, result: _T) -> None:
        """End it with a result; InvalidStateError if it has ended."""

    def set_exception(self, exception: BaseException | type[BaseException]) -> None:
        """End it with an error; InvalidStateError if it has ended."""

    def set_running_or_notify_cancel(self) -> bool:
        """For the thread that computes the result: False if it was cancelled, else it cannot be."""

    def cancel(self) -> bool:
        """Want no result any more; False if it is there, or its computation has begun.

        A call that is on its way is carried out nevertheless.
        """

    def cancelled(self) -> bool:
        """Whether ``cancel`` ended it."""

    def running(self) -> bool:
        """Whether its computation has begun and not ended."""

    def done(self) -> bool:
        """Whether it has ended."""

    def result(self, timeout: float | None = None) -> _T:
        """The value returned, or the error raised.  Waits ``timeout`` seconds at most.

        CancelledError if it was cancelled, TimeoutError if the time is over.
        """

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error it failed with, or None; waits like ``result``."""

    def add_done_callback(self, fn: Callable[[RpcFuture[_T]], object]) -> None:
        """Call ``fn(self)`` when it has ended; what it raises is logged.

        The thread that ends the future does so, or a thread for callbacks (F5), or this one at
        once.
        """

    def __await__(self) -> Generator[Any, None, _T]: ...

@disjoint_base
class TimedFuture(RpcFuture[_T]):
    """A future that fails when its time is over."""

    @property
    def timeout_ms(self) -> int: ...
    @property
    def deadline_ms(self) -> int: ...

@final
class Deadlines:
    """Time limits in one wheel."""

    def __init__(self, wheel: TimingWheel, arm: Callable[[int], object]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def expired(self) -> int: ...
    def expire(self) -> int: ...
    def abandon(self, error: BaseException) -> int: ...
