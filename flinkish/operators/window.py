"""The window operator and its builder."""

from __future__ import annotations

from typing import Any

from flinkish._core.windows.elements.process import WindowedProcess
from flinkish.common.durations import DurationLike
from flinkish.common.output_tag import OutputTag
from flinkish.operators.base import OperatorEnvironment
from flinkish.operators.keyed_engine import KeyedEngineOperator
from flinkish.operators.window_definition import WindowDefinition
from flinkish.windowing import Evictor, Trigger, WindowAssigner

__all__ = ["WindowOperator", "WindowOperatorBuilder"]


class WindowOperator(KeyedEngineOperator):
    """Collects elements in windows, key by key, and gives what their function makes of them.

    Made by `WindowOperatorBuilder`.  Output has the last time of its window (Flink:
    WindowOperator).

    Metrics besides those of every keyed operator: ``numLateRecordsDropped``.
    """

    engine: WindowedProcess

    def __init__(self, definition: WindowDefinition) -> None:
        super().__init__(definition)
        self.function = definition.function if definition.function is not None else definition.fold

    def _count_all(self, environment: OperatorEnvironment) -> None:
        super()._count_all(environment)
        engine = self.engine
        environment.metrics.gauge("numLateRecordsDropped", lambda: engine.dropped)


class WindowOperatorBuilder:
    """Puts a window operator together; each call checks what it is given.

    ``trigger``, ``evictor``, ``allowed_lateness`` and ``side_output_late_data`` give the builder
    back; ``process``, ``apply``, ``reduce`` and ``aggregate`` give the operator.
    """

    def __init__(self, assigner: WindowAssigner) -> None:
        self._definition = WindowDefinition.of(assigner)

    def trigger(self, trigger: Trigger) -> WindowOperatorBuilder:
        """When windows fire, instead of the assigner's default."""
        self._definition = self._definition.with_trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> WindowOperatorBuilder:
        """Which elements leave a window when it fires; windows then keep all elements."""
        self._definition = self._definition.with_evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: DurationLike) -> WindowOperatorBuilder:
        """How long after its end a window still takes elements, each of which may fire it."""
        self._definition = self._definition.with_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> WindowOperatorBuilder:
        """Where elements go that are too late for all their windows; else they are counted."""
        self._definition = self._definition.with_late_tag(output_tag)
        return self

    def process(self, function: Any) -> WindowOperator:
        """Call a ProcessWindowFunction with the elements of each window that fires."""
        return WindowOperator(self._definition.with_function(function, "process"))

    def apply(self, function: Any) -> WindowOperator:
        """Call a WindowFunction with the elements of each window that fires."""
        return WindowOperator(self._definition.with_function(function, "apply"))

    def reduce(self, function: Any, window_function: Any = None) -> WindowOperator:
        """Reduce elements as they come; ``window_function`` is called with the one result."""
        return WindowOperator(self._definition.with_reduce(function, window_function))

    def aggregate(self, function: Any, window_function: Any = None) -> WindowOperator:
        """Aggregate elements as they come; ``window_function`` is called with the one result."""
        return WindowOperator(self._definition.with_aggregate(function, window_function))
