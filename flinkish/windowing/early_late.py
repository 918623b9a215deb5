"""A window that speaks before its end, at its end, and after it."""

from __future__ import annotations

from typing import Any

from flinkish.common.type_variables import T, W
from flinkish.common.typeinfo import Types
from flinkish.state.descriptors import ReducingStateDescriptor
from flinkish.windowing.trigger import Trigger, TriggerResult, require_trigger

__all__ = ["AfterEndOfWindow", "EventTimeTriggers"]


class AfterEndOfWindow(Trigger[T, W]):
    """Fires when the watermark passes the end of the window, by other triggers before and after.

    Without a trigger for late firings each late element fires the window, as EventTimeTrigger
    does; without one for early firings there are none.  The early trigger is cleared when the
    window fires on time, so that the late one starts afresh.
    """

    def __init__(self, early: Trigger | None = None, late: Trigger | None = None) -> None:
        self.early = early
        self.late = late
        # 1 once the window has fired on time; merged windows have if any of them has.
        self._on_time = ReducingStateDescriptor("fired-on-time", max, Types.LONG())

    def with_early_firings(self, trigger: Trigger) -> AfterEndOfWindow:
        """The same, with ``trigger`` deciding until the end of the window."""
        return AfterEndOfWindow(require_trigger(trigger, "with_early_firings"), self.late)

    def with_late_firings(self, trigger: Trigger) -> AfterEndOfWindow:
        """The same, with ``trigger`` deciding after the end, while lateness allows elements."""
        return AfterEndOfWindow(self.early, require_trigger(trigger, "with_late_firings"))

    def _is_late(self, ctx: Trigger.TriggerContext) -> bool:
        return ctx.get_partitioned_state(self._on_time).get() is not None

    def _fire_on_time(self, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.get_partitioned_state(self._on_time).add(1)
        if self.early is not None:
            self.early.clear(window, ctx)
        return TriggerResult.FIRE

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Ask the trigger of the phase."""
        if self._is_late(ctx):
            if self.late is None:
                return TriggerResult.FIRE
            return self.late.on_element(element, timestamp, window, ctx)
        if window.max_timestamp() <= ctx.get_current_watermark():
            return self._fire_on_time(window, ctx)
        ctx.register_event_time_timer(window.max_timestamp())
        if self.early is None:
            return TriggerResult.CONTINUE
        return self.early.on_element(element, timestamp, window, ctx)

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Ask the trigger of the phase."""
        trigger = self.late if self._is_late(ctx) else self.early
        if trigger is None:
            return TriggerResult.CONTINUE
        return trigger.on_processing_time(time, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end; before and after ask the trigger of the phase."""
        late = self._is_late(ctx)
        if not late and time == window.max_timestamp():
            return self._fire_on_time(window, ctx)
        trigger = self.late if late else self.early
        if trigger is None:
            return TriggerResult.CONTINUE
        return trigger.on_event_time(time, window, ctx)

    def can_merge(self) -> bool:
        """If both others can."""
        return all(one is None or one.can_merge() for one in (self.early, self.late))

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the new end; a window that grew past the watermark is early again."""
        ctx.merge_partitioned_state(self._on_time)
        for trigger in (self.early, self.late):
            if trigger is not None:
                trigger.on_merge(window, ctx)
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.get_partitioned_state(self._on_time).clear()
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Forget the phase, and clear both others."""
        for trigger in (self.early, self.late):
            if trigger is not None:
                trigger.clear(window, ctx)
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self._on_time).clear()

    def __repr__(self) -> str:
        return f"AfterEndOfWindow(early={self.early!r}, late={self.late!r})"


class EventTimeTriggers:
    """Triggers put together of others, under the names of Flink's table runtime."""

    @staticmethod
    def after_end_of_window() -> AfterEndOfWindow:
        """``.with_early_firings(trigger)`` and ``.with_late_firings(trigger)`` may follow."""
        return AfterEndOfWindow()
