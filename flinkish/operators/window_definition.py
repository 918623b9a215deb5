"""The definition of a window operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flinkish._core.windows.elements.process import WindowedProcess
from flinkish.functions.aggregates import BuiltInAggregates, described_aggregates
from flinkish.operators.definition import EnginePlace, KeyedDefinition
from flinkish.operators.window_engine import make_window_engine, window_namespaces
from flinkish.operators.window_settings import WindowSettings

__all__ = ["WindowDefinition"]


@dataclass(frozen=True)
class WindowDefinition(WindowSettings, KeyedDefinition):
    """One window operator."""

    kind = "windows, row by row"
    of_key = True
    on_time = "process"
    asked_with = "window"

    def method_of(self, number: int) -> str:
        """Elements and timers call the same method."""
        return "process"

    def services(self) -> dict[str, str]:
        """The timers of windows."""
        return {"window-timers": window_namespaces(self)}

    def settings(self) -> dict[str, Any]:
        """The windows, and the built-in aggregates by their columns, without names of results."""
        # An assigner of the user's own without a repr would show its address.
        shown = type(self.assigner).__repr__ is not object.__repr__
        name = type(self.assigner).__qualname__
        found: dict[str, Any] = {"windows": repr(self.assigner) if shown else name}
        if isinstance(self.fold, BuiltInAggregates):
            found["aggregates"] = described_aggregates(self.fold.aggregates)
        return found

    def make_engine(self, place: EnginePlace) -> WindowedProcess:
        """The loop that fills windows and fires them."""
        return make_window_engine(
            self, place.backend, place.timers, place.runtime_context, names=place.names[0]
        )

    def late_rows(self, engine: WindowedProcess) -> int:
        """Elements that no window took."""
        return engine.unplaced
