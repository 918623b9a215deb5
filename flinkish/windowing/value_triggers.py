"""Triggers that look at elements, and a trigger that sets another one a time limit."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.type_variables import T, W
from flinkish.common.typeinfo import Types
from flinkish.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from flinkish.windowing.trigger import QuietTrigger, Trigger, TriggerResult, require_trigger

__all__ = ["CountTrigger", "DeltaTrigger", "ProcessingTimeoutTrigger", "delta_of"]


class CountTrigger(QuietTrigger[T, Any]):
    """Fires at each ``window_size``-th element of the window (Flink: CountTrigger)."""

    def __init__(self, window_size: int) -> None:
        if isinstance(window_size, bool) or not isinstance(window_size, int):
            raise ArgumentTypeError(f"CountTrigger counts to an int, not to {window_size!r}")
        if window_size < 1:
            raise IllegalArgumentError(f"CountTrigger counts to 1 or more, not to {window_size}")
        self.window_size = window_size
        self._count = ReducingStateDescriptor("count", add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Fire at every ``window_size`` elements."""
        return CountTrigger(window_size)

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Count; fire and start again at the last."""
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """True: the state of windows that merge can be merged."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Counts add up."""
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Forget the count."""
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"


def delta_of(function: Any, where: str) -> Callable[[Any, Any], float]:
    """``get_delta(old, new)`` of a DeltaFunction, or a plain function of two elements."""
    delta = getattr(function, "get_delta", function)
    if not callable(delta):
        raise ArgumentTypeError(
            f"{where} takes a function of two elements or an object with get_delta, not "
            f"{function!r}"
        )
    found: Callable[[Any, Any], float] = delta
    return found


class DeltaTrigger(QuietTrigger[T, W]):
    """Fires when an element is far enough from that of the last firing (Flink: DeltaTrigger).

    The first element of a window is where it starts from.  Windows with it cannot merge.
    """

    def __init__(self, threshold: float, delta_function: Any) -> None:
        self.threshold = threshold
        self._delta = delta_of(delta_function, "DeltaTrigger.of")
        self._last = ValueStateDescriptor("last-element", Types.PICKLED_BYTE_ARRAY())

    @staticmethod
    def of(threshold: float, delta_function: Any) -> DeltaTrigger:
        """Fire when ``delta_function(last, element)`` is above ``threshold``."""
        return DeltaTrigger(threshold, delta_function)

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Compare with the element of the last firing."""
        state = ctx.get_partitioned_state(self._last)
        last = state.value()
        if last is None:
            state.update((element,))
            return TriggerResult.CONTINUE
        if not self._delta(last[0], element) > self.threshold:
            return TriggerResult.CONTINUE
        state.update((element,))
        return TriggerResult.FIRE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Forget the element."""
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.threshold})"


class ProcessingTimeoutTrigger(Trigger[T, W]):
    """Another trigger, and a firing when it has not fired for a while.

    As in Flink's ProcessingTimeoutTrigger.  The first element after a firing starts the clock.
    ``reset_timer_on_new_record`` has every element start it again; ``should_clear_on_timeout``
    clears the nested trigger with the firing.  Windows with it cannot merge.
    """

    def __init__(
        self,
        nested_trigger: Trigger,
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger = require_trigger(nested_trigger, "ProcessingTimeoutTrigger.of")
        self.timeout = to_millis(timeout, "the timeout of a trigger", minimum=1)
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout
        self._due = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger,
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """``nested_trigger``, fired after ``timeout`` at the latest."""
        return ProcessingTimeoutTrigger(
            nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """As the nested trigger; a firing stops the clock."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self._due)
        due = state.value()
        if due is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(due)
            due = None
        if due is None:
            due = ctx.get_current_processing_time() + self.timeout
            state.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """FIRE, which purges if the nested trigger says so."""
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """FIRE, which purges if the nested trigger says so."""
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def _fire(
        self, result: TriggerResult, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Stop the clock and clear the nested trigger."""
        state = ctx.get_partitioned_state(self._due)
        due = state.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout})"
