"""Operators of functions without keys: they have no state and no timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.methods import require_methods
from flinkish.common.notes import add_note, dated
from flinkish.common.output_tag import OutputTag
from flinkish.functions.base import FilterFunction, FlatMapFunction, Function, MapFunction
from flinkish.functions.process import ProcessFunction
from flinkish.operators.base import (
    LifeCycle,
    OperatorEnvironment,
    Output,
    StreamOperator,
)
from flinkish.operators.runtime_context import TaskRuntimeContext
from flinkish.operators.unkeyed_context import NoTimers, UnkeyedContext, values_of

__all__ = [
    "ProcessOperator",
    "StreamFilter",
    "StreamFlatMap",
    "StreamMap",
    "UnkeyedOperator",
]


class UnkeyedOperator(StreamOperator):
    """Runs a function without keys.  Output carries the timestamp of its element.

    What the function raises leaves the operator as it is, with a note that names function and
    method.  Metric: ``numRecordsIn``.
    """

    kind: ClassVar[type[Function]]
    methods: ClassVar[tuple[str, ...]]  # that a function of this kind has to have

    def __init__(self, function: Function) -> None:
        super().__init__()
        wanted = f"{type(self).__name__} needs a {self.kind.__name__}"
        require_methods(function, self.methods, wanted)
        self.function: Any = function

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator."""
        super().setup(output, environment)
        environment = self.environment
        self._clocks = NoTimers(environment.current_processing_time)
        self._context = UnkeyedContext(self._clocks)
        self._records = environment.metrics.counter("numRecordsIn")
        self.runtime_context = TaskRuntimeContext(**environment.context_settings())

    def open(self) -> None:
        """Open the function."""
        super().open()
        try:
            self.function.open(self.runtime_context)
        except Exception as error:
            self._explain(error, "open")
            raise

    def _run(self, method: str, record: StreamRecord, call: Callable[[Any], Any]) -> None:
        """Emit what a call makes of a record; `method` is the function's, for messages."""
        self._records.inc()
        self._context.time = record.timestamp
        try:
            for value in call(record.value):
                if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], OutputTag):
                    self.output.emit_side(value[0], StreamRecord(value[1], record.timestamp))
                else:
                    self.output.emit(StreamRecord(value, record.timestamp))
        except Exception as error:
            self._explain(error, method)
            raise
        finally:
            self._context.time = None

    def process_watermark(self, watermark: Watermark) -> None:
        """Pass the watermark on."""
        self._require_open("process_watermark")
        self._clocks.watermark = watermark.timestamp
        self.output.emit(watermark)

    def close(self) -> None:
        """Close the function, if it was opened."""
        opened = self.life in (LifeCycle.OPEN, LifeCycle.FINISHED)
        super().close()
        if opened:
            self.function.close()

    def _explain(self, error: Exception, method: str) -> None:
        when = (
            "" if method == "open" else f" for an element of timestamp {dated(self._context.time)}"
        )
        add_note(error, f"raised in {type(self.function).__name__}.{method}{when}")

    def _values(self, method: str, *arguments: Any) -> Iterable[Any]:
        """The values that a method of the function gives, as an iterable."""
        return values_of(getattr(self.function, method)(*arguments), method)


class ProcessOperator(UnkeyedOperator):
    """Runs a ProcessFunction; see `UnkeyedOperator`."""

    kind = ProcessFunction
    methods = ("process_element",)

    def process_element(self, record: StreamRecord) -> None:
        """Hand a record to the function."""
        self._require_open("process_element")
        self._run("process_element", record, self._call)

    def _call(self, value: Any) -> Iterable[Any]:
        return self._values("process_element", value, self._context)


class StreamMap(UnkeyedOperator):
    """Runs a MapFunction; see `UnkeyedOperator`."""

    kind = MapFunction
    methods = ("map",)

    def process_element(self, record: StreamRecord) -> None:
        """Emit what the function makes of a record."""
        self._require_open("process_element")
        self._run("map", record, lambda value: (self.function.map(value),))


class StreamFlatMap(UnkeyedOperator):
    """Runs a FlatMapFunction; see `UnkeyedOperator`."""

    kind = FlatMapFunction
    methods = ("flat_map",)

    def process_element(self, record: StreamRecord) -> None:
        """Emit all that the function makes of a record."""
        self._require_open("process_element")
        self._run("flat_map", record, lambda value: self._values("flat_map", value))


class StreamFilter(UnkeyedOperator):
    """Runs a FilterFunction; see `UnkeyedOperator`."""

    kind = FilterFunction
    methods = ("filter",)

    def process_element(self, record: StreamRecord) -> None:
        """Emit a record again, if the function keeps it."""
        self._require_open("process_element")
        self._run("filter", record, lambda value: (value,) if self.function.filter(value) else ())
