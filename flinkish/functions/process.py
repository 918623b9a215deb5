"""Functions with time, and with timers where there are keys.

``process_element`` and ``on_timer`` are generators, or return an iterable, or nothing.  A plain
value goes to the output; a pair of an OutputTag and a value goes to that side output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.functions.base import Function
from flinkish.time.domain import TimeDomain
from flinkish.time.timer_service import TimerService

__all__ = [
    "CoProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessFunction",
]


class _Context(ABC):
    """The context of a call; not to be kept after it."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Time, and timers of the current key."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Event time of the value, or time of the timer, in milliseconds.

        None for a value without event time (Flink: KeyedProcessOperator).
        """


class _KeyedContext(_Context):
    """The context of a call with a key."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the value or timer."""


class ProcessFunction(Function):
    """Makes any number of values of each, and knows the time; there are no keys."""

    class Context(_Context):
        """Its timer service tells the time; timers are refused (Flink: ProcessOperator)."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        """Yields what ``value`` becomes."""


class KeyedProcessFunction(Function):
    """Makes values of values and of timers, key by key, with state of each key."""

    class Context(_KeyedContext):
        """The context of a call of ``process_element``."""

    class OnTimerContext(Context):
        """The context of a call of ``on_timer``."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock that the timer followed."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        """Yields what ``value`` becomes."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        """Yields what comes of a timer of the current key that was set for ``timestamp``."""


class CoProcessFunction(Function):
    """Makes values of the values of two streams, and knows the time; there are no keys."""

    class Context(_Context):
        """Its timer service tells the time; timers are refused (Flink: ProcessOperator)."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Yields what a value of the first stream becomes."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Yields what a value of the second stream becomes."""


class KeyedCoProcessFunction(Function):
    """Makes values of the values of two streams and of timers; both share the state of a key."""

    class Context(_KeyedContext):
        """The context of a call of ``process_element1`` or ``process_element2``."""

    class OnTimerContext(Context):
        """The context of a call of ``on_timer``."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock that the timer followed."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Yields what a value of the first stream becomes."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Yields what a value of the second stream becomes."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        """Yields what comes of a timer of the current key that was set for ``timestamp``."""
