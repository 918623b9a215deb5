"""Timers of an event loop: one wheel for all of them."""

from collections.abc import Callable
from contextvars import Context
from typing import final

from typing_extensions import TypeVarTuple, Unpack, disjoint_base

_Ts = TypeVarTuple("_Ts")

@final
class WheelHandle:
    """A callback that is to be called."""

    def cancel(self) -> None: ...
    def cancelled(self) -> bool: ...
    def when(self) -> float: ...

@disjoint_base
class LoopTimers:
    """The timers."""

    in_child: bool
    scheduled: int
    cancelled: int
    fired: int

    def __init__(self, clock: Callable[[], float]) -> None: ...
    def __len__(self) -> int: ...
    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> WheelHandle: ...
    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> WheelHandle: ...
    def next_time(self) -> float | None: ...
    def armed(self, seconds: float | None) -> None: ...
    def fire(self, limit: int) -> None: ...
