"""One trigger under a test's control, without an operator around it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state.named_timers import NamedTimers, poll_timer
from flinkish._core.state.table import StateTable
from flinkish._core.windows.elements.process import WindowTriggerContext
from flinkish.common.elements import StreamRecord
from flinkish.common.errors import IllegalStateError
from flinkish.metrics import MetricGroup
from flinkish.operators.runtime_context import KeyedRuntimeContext
from flinkish.state.backend import KeyedStateBackend
from flinkish.windowing import TimeWindowSerializer, Trigger, TriggerResult
from flinkish.windowing.windows import namespaces_of

__all__ = ["TriggerTestHarness"]

_KEY = 1


class TriggerTestHarness:
    """Calls a trigger for windows of one key, and shows what it keeps.

    Windows are those of ``serializer``.  Processing time starts at 0, the watermark at the
    lowest 64-bit number.
    """

    __test__ = False

    def __init__(self, trigger: Trigger, serializer: Any = None) -> None:
        self.trigger = trigger
        self._spaces = namespaces_of(TimeWindowSerializer() if serializer is None else serializer)
        self._table = StateTable(0)
        self._table.processing_time = 0
        self._backend = KeyedStateBackend(self._table)
        KeyedRuntimeContext(self._backend, task_name="trigger")  # its states raise our errors
        self._timers = NamedTimers(self._table, 0)
        self._context: Any = WindowTriggerContext(
            self._table, KeyedTimerService(self._table), self._backend.state, MetricGroup()
        )

    def _use(self, window: Any) -> None:
        self._table.set_current_key(_KEY, 0, self._spaces.to_key(window))

    # --- calls

    def process_element(
        self, element: Any, window: Any, timestamp: int | None = None
    ) -> TriggerResult:
        """Have a value, or a StreamRecord with its own time, arrive in ``window``."""
        if isinstance(element, StreamRecord):
            element, timestamp = element.value, element.timestamp
        self._use(window)
        return self.trigger.on_element(element, timestamp, window, self._context)

    def advance_watermark(self, time: int, window: Any = None) -> Any:
        """Set the watermark (ms) and fire timers: [(window, result)], in their order.

        With ``window`` the one result; IllegalStateError unless exactly one timer of that window,
        and none of another, fired.
        """
        self._table.watermark = time
        return self._fired(self._fire(True, time), window)

    def advance_processing_time(self, time: int, window: Any = None) -> Any:
        """The same on the clock."""
        self._table.processing_time = time
        return self._fired(self._fire(False, time), window)

    def _fire(self, event: bool, time: int) -> list[tuple[Any, TriggerResult]]:
        fired = []
        while (polled := poll_timer(self._table, event, time)) is not None:
            _, timestamp, _, space = polled
            window = self._spaces.from_key(space)
            call = self.trigger.on_event_time if event else self.trigger.on_processing_time
            fired.append((window, call(timestamp, window, self._context)))
        return fired

    def _fired(self, fired: list[tuple[Any, TriggerResult]], window: Any) -> Any:
        if window is None:
            return fired
        if [one for one, _ in fired] != [window]:
            raise IllegalStateError(f"one timer of {window!r} should have fired, not {fired!r}")
        return fired[0][1]

    def invoke_on_event_time(self, timestamp: int, window: Any) -> TriggerResult:
        """Call ``on_event_time`` as if there had been such a timer."""
        self._use(window)
        return self.trigger.on_event_time(timestamp, window, self._context)

    def merge_windows(self, target_window: Any, merged_windows: Iterable[Any]) -> None:
        """Call ``on_merge`` for windows that became one; their own timers stay."""
        rows = []
        for window in merged_windows:
            self._use(window)
            rows.append(self._context.current_row())
        self._use(target_window)
        self._context.call_on_merge(self.trigger.on_merge, target_window, rows)

    def clear_trigger_state(self, window: Any) -> None:
        """Call the trigger's ``clear`` for ``window``."""
        self._use(window)
        self.trigger.clear(window, self._context)

    # --- what is kept

    def num_state_entries(self, window: Any = None) -> int:
        """States that hold anything, of one window or of all."""
        if window is None:
            return self._backend.number_of_entries()
        self._use(window)
        found: int = self._context.number_of_states()
        return found

    def num_event_time_timers(self, window: Any = None) -> int:
        """Event-time timers, of one window or of all."""
        return self._count(True, window)

    def num_processing_time_timers(self, window: Any = None) -> int:
        """Processing-time timers, of one window or of all."""
        return self._count(False, window)

    def _count(self, event: bool, window: Any) -> int:
        if window is None:
            return self._timers.count(event)
        return self._timers.count_in(event, self._spaces.to_key(window))
