"""Triggers that follow a clock."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from flinkish._core.windows.time_window import TimeWindow
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import TimestampError
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.common.type_variables import T, W
from flinkish.common.typeinfo import Types
from flinkish.state.api import ReducingState
from flinkish.state.descriptors import ReducingStateDescriptor
from flinkish.windowing.trigger import QuietTrigger, Trigger, TriggerResult

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "ProcessingTimeTrigger",
]


class EventTimeTrigger(QuietTrigger[T, TimeWindow]):
    """Fires when the watermark passes the end of the window, then for each late element.

    As in Flink's EventTimeTrigger.
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger that fires when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the end has been passed, else wait for it."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """True: the state of windows that merge can be merged."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the new end, unless it is past: then the element fires the window."""
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Wait no more."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(QuietTrigger[T, TimeWindow]):
    """Fires when the clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger that fires when the clock passes the end of the window."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """FIRE: the end of the window is there."""
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """True: the state of windows that merge can be merged."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the new end, unless it is past."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Wait no more."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"


class EndOfStreamTrigger(QuietTrigger[T, W]):
    """Fires once, when the input has ended (Flink: EndOfStreamTrigger)."""

    @staticmethod
    def create() -> EndOfStreamTrigger:
        """The trigger that fires each window once, at the end of the stream."""
        return EndOfStreamTrigger()

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the last watermark."""
        ctx.register_event_time_timer(MAX_TIMESTAMP)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of time."""
        return TriggerResult.FIRE if time == MAX_TIMESTAMP else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """True: the state of windows that merge can be merged."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the new window's sake."""
        ctx.register_event_time_timer(MAX_TIMESTAMP)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Wait no more."""
        ctx.delete_event_time_timer(MAX_TIMESTAMP)

    def __repr__(self) -> str:
        return "EndOfStreamTrigger()"


class _Continuous(QuietTrigger[T, TimeWindow]):
    """Fires at each multiple of an interval of one clock, whose timers `_wait` and `_forget` set.

    The state holds the next multiple that the window waits for.
    """

    def __init__(self, interval: DurationLike) -> None:
        self.interval = to_millis(interval, "the interval of a continuous trigger", minimum=1)
        self._next = ReducingStateDescriptor("fire-time", min, Types.LONG())

    @abstractmethod
    def _wait(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Have the trigger called at a time."""

    @abstractmethod
    def _forget(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Have it not called then."""

    @abstractmethod
    def _following(self, time: int, window: Any) -> int:
        """When to fire next after the multiple ``time``."""

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Any,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Wait for the multiple after ``time``, or the end of the window if it comes between."""
        following = self._following(time, window)
        fire_timestamp_state.add(following)
        self._wait(following, ctx)

    def _on_multiple(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at a multiple, and wait for the next."""
        state = ctx.get_partitioned_state(self._next)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """True: the state of windows that merge can be merged."""
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """The earliest of the windows' next firings counts."""
        ctx.merge_partitioned_state(self._next)
        following = ctx.get_partitioned_state(self._next).get()
        if following is not None:
            self._wait(following, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Wait for no multiple; the end of the window is the operator's to forget."""
        state = ctx.get_partitioned_state(self._next)
        following = state.get()
        if following is not None:
            self._forget(following, ctx)
            state.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_Continuous[T]):
    """Fires at each multiple of an interval of event time, and at the end.

    As in Flink's ContinuousEventTimeTrigger.
    """

    @staticmethod
    def of(interval: DurationLike) -> ContinuousEventTimeTrigger:
        """Fire every ``interval``."""
        return ContinuousEventTimeTrigger(interval)

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the window has ended, else wait for its end and for the next multiple."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        state = ctx.get_partitioned_state(self._next)
        if state.get() is None:
            if timestamp is None:
                raise TimestampError(
                    "ContinuousEventTimeTrigger needs event time, and an element has none: call "
                    "assign_timestamps_and_watermarks before key_by"
                )
            start = timestamp - timestamp % self.interval
            self.register_next_fire_timestamp(start, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end, and at a multiple, and wait for the next."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._on_multiple(time, window, ctx)

    def _wait(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _forget(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)

    def _following(self, time: int, window: Any) -> int:
        following: int = min(time + self.interval, window.max_timestamp())
        return following


class ContinuousProcessingTimeTrigger(_Continuous[T]):
    """Fires at each multiple of an interval of the clock.

    As in Flink's ContinuousProcessingTimeTrigger.
    """

    @staticmethod
    def of(interval: DurationLike) -> ContinuousProcessingTimeTrigger:
        """Fire every ``interval``."""
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the next multiple."""
        state = ctx.get_partitioned_state(self._next)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire at a multiple, and wait for the next."""
        return self._on_multiple(time, window, ctx)

    def _wait(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _forget(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)

    def _following(self, time: int, window: Any) -> int:
        following = time + self.interval
        end: int = window.max_timestamp()
        # The end of an event-time window may be long past on this clock.
        return end if time < end < following else following
