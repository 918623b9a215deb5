"""A keyed process operator as plain as can be: dicts, sorted lists, one key after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from flinkish.common import OutputTag
from flinkish.common.timestamps import MIN_TIMESTAMP
from tests.models.keyed_states import ModelFold, ModelList, ModelMap, ModelState


class KeyedProcessModel:
    """Handles batches as the operator on Spark says it does: watermark first, then rows."""

    def __init__(self, function: Any, key_of: Callable[[Any], Any]) -> None:
        self._function, self._key_of = function, key_of
        self.key: Any = None
        self.watermark = MIN_TIMESTAMP
        self._at: int | None = None
        self._timers: dict[tuple[int, Any], int] = {}
        self._outputs: list[tuple[str, Any, int | None]] = []
        self.counts: dict[str, int] = defaultdict(int)
        self._states: dict[str, ModelState] = {}
        function.open(
            SimpleNamespace(
                get_state=lambda d: self.state(ModelState, d),
                get_list_state=lambda d: self.state(ModelList, d),
                get_map_state=lambda d: self.state(ModelMap, d),
                get_reducing_state=lambda d: self.state(ModelFold, d),
                get_aggregating_state=lambda d: self.state(ModelFold, d),
            )
        )

    def state(self, kind: type[ModelState], descriptor: Any) -> ModelState:
        return self._states.setdefault(descriptor.get_name(), kind(self, descriptor))

    def timer_service(self) -> KeyedProcessModel:
        return self

    def timestamp(self) -> int | None:
        return self._at

    def get_current_key(self) -> Any:
        return self.key

    def current_watermark(self) -> int:
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        if (timestamp, self.key) not in self._timers:
            self._timers[timestamp, self.key] = self.counts["timers_registered"]
            self.counts["timers_registered"] += 1

    def delete_event_time_timer(self, timestamp: int) -> None:
        if self._timers.pop((timestamp, self.key), None) is not None:
            self.counts["timers_deleted"] += 1

    def batch(self, rows: list[Any], watermark: int) -> list[tuple[str, Any, int | None]]:
        """(tag, value, timestamp) of all outputs; rows are (value, timestamp in ms)."""
        self.advance(watermark)
        for value, at in rows:
            self.element(value, at)
        return self.take()

    def advance(self, watermark: int) -> None:
        self.watermark = max(self.watermark, watermark)
        while due := [timer for timer in self._timers if timer[0] <= self.watermark]:
            at, self.key = min(due, key=lambda timer: (timer[0], self._timers[timer]))
            del self._timers[at, self.key]
            self.counts["timers_fired"] += 1
            self._at = at
            self._collect(self._function.on_timer(at, self))

    def element(self, value: Any, at: int | None) -> None:
        self.key, self._at = self._key_of(value), at
        self.counts["rows"] += 1
        self.counts["late_rows"] += at is not None and at <= self.watermark
        self._collect(self._function.process_element(value, self))

    def take(self) -> list[tuple[str, Any, int | None]]:
        taken, self._outputs = self._outputs, []
        return taken

    def _collect(self, given: Any) -> None:
        for value in given or ():
            tagged = isinstance(value, tuple) and isinstance(value[0], OutputTag)
            tag, value = (value[0].tag_id, value[1]) if tagged else ("", value)
            self._outputs.append((tag, tuple(value), self._at))
