"""Functions of a stream, keyed or not, and of one that reaches every task.

They are generators, or return an iterable, or nothing, like those of `functions.process`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic

from flinkish.common.type_variables import IN1, IN2, KEY, OUT, K, V
from flinkish.functions.base import Function
from flinkish.state.api import BroadcastState, ReadOnlyBroadcastState
from flinkish.state.descriptors import MapStateDescriptor, StateDescriptor
from flinkish.time.domain import TimeDomain
from flinkish.time.timer_service import TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
]


class BaseBroadcastProcessFunction(Function):
    """The base of functions with broadcast state."""

    class BaseContext(ABC):
        """The context of every call; not to be kept after it."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Event time of the element, or time of the timer, in ms; None without one."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The clock, in ms."""

        @abstractmethod
        def current_watermark(self) -> int:
            """How far event time has come, in ms."""

    class Context(BaseContext):
        """The context of a call with a broadcast element."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[K, V]
        ) -> BroadcastState[K, V]:
            """The broadcast state, to read and to write."""

    class ReadOnlyContext(BaseContext):
        """The context of a call with another element."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[K, V]
        ) -> ReadOnlyBroadcastState[K, V]:
            """The broadcast state, to read."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Makes values of elements that have no keys, and of elements that all tasks share.

    ``process_broadcast_element`` must do the same with the broadcast state wherever it is called:
    every task has a copy of its own.
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """The context of a call with a broadcast element."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """The context of a call with another element."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
        """Yields what an element becomes."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Any:
        """Takes a broadcast element, usually into the broadcast state; yields what it becomes."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Makes values of keyed elements, of timers, and of elements that all keys share.

    ``process_broadcast_element`` must do the same with the broadcast state wherever it is called:
    every key group has a copy of its own.
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """The context of a call with a broadcast element; it has no key."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], object]
        ) -> None:
            """Call ``function(key, state)`` for every key that holds anything in a state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """The context of a call with a keyed element."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Time, and timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the element or timer."""

    class OnTimerContext(ReadOnlyContext):
        """The context of a call of ``on_timer``."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock that the timer followed."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Any:
        """Yields what a keyed element becomes."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Any:
        """Takes a broadcast element, usually into the broadcast state; yields what it becomes."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Any:
        """Yields what comes of a timer of the current key that was set for ``timestamp``."""
