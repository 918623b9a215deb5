"""The base of all triggers, and the triggers that know neither time nor values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic

from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.methods import require_methods
from flinkish.common.type_variables import T, W
from flinkish.metrics import MetricGroup
from flinkish.state.descriptors import StateDescriptor
from flinkish.windowing.windows import GlobalWindow

__all__ = [
    "NeverTrigger",
    "PurgingTrigger",
    "QuietTrigger",
    "Trigger",
    "TriggerResult",
    "require_trigger",
]


class TriggerResult(Enum):
    """The decision on a window: (whether it fires, whether its contents go)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window function runs."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the contents are cleared; state and timers of the trigger stay.

        As in Flink's WindowOperator.
        """
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Says when a window fires.

    One object serves all windows; what it must remember of one goes into
    ``ctx.get_partitioned_state``.  State and timers are those of the key and the window.
    """

    class TriggerContext(ABC):
        """Time, timers and state of the window that a method is called for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The clock, in ms."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where the operator's metrics live."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come, in ms."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have ``on_processing_time`` called when the clock has reached ``time`` (ms)."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have ``on_event_time`` called when the watermark has reached ``time`` (ms)."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget such a timer."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget such a timer."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """The state of this description, of the key and the window."""

    class OnMergeContext(TriggerContext):
        """The same for ``on_merge``."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Move the state of the merged windows into that of the new one."""

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int | None, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """An element was added to ``window``; its event time is ``timestamp`` (ms, or None)."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """The clock has reached ``time``, for which there was a timer of ``window``."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """The watermark has reached ``time``, for which there was a timer of ``window``."""

    def can_merge(self) -> bool:
        """Whether ``on_merge`` works; needed for sessions and other merging windows."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Windows were merged into ``window``: have its timers and state take their place."""
        raise UnsupportedOperationError(
            f"{type(self).__name__} cannot merge windows: implement on_merge, and can_merge"
        )

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Forget ``window``: remove the state and timers that the trigger made for it."""


def require_trigger(trigger: Any, where: str) -> Trigger:
    """``trigger``, if it is one; ArgumentTypeError otherwise."""
    methods = ("on_element", "on_event_time", "on_processing_time", "clear")
    require_methods(trigger, methods, f"{where} takes a Trigger")
    found: Trigger = trigger
    return found


class QuietTrigger(Trigger[T, W]):
    """A trigger that timers mean nothing to, as long as it does not override what they call."""

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """CONTINUE: it sets no timers in processing time."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """CONTINUE: it sets no timers in event time."""
        return TriggerResult.CONTINUE


class NeverTrigger(QuietTrigger[T, GlobalWindow]):
    """A trigger that never fires: the default of GlobalWindows, to be replaced by another one."""

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """CONTINUE: no element makes it fire."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Yes: there is nothing to merge."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing: it has no state to merge."""

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Do nothing: it has no state to clear."""

    def __repr__(self) -> str:
        return "NeverTrigger()"


class PurgingTrigger(Trigger[T, Any]):
    """Another trigger, whose firings also clear the contents (Flink: PurgingTrigger)."""

    def __init__(self, nested_trigger: Trigger) -> None:
        self.nested_trigger = require_trigger(nested_trigger, "PurgingTrigger.of")

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        """The trigger that fires like ``nested_trigger`` and then empties the window."""
        return PurgingTrigger(nested_trigger)

    def _purging(self, result: TriggerResult) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if result is TriggerResult.FIRE else result

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """As the nested trigger."""
        return self._purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """As the nested trigger."""
        return self._purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """As the nested trigger."""
        return self._purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """As the nested trigger."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """As the nested trigger."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """As the nested trigger."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"
