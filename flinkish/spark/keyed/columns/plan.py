"""The plan of a vectorised window operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from flinkish.common.output_tag import OutputTag
from flinkish.functions.aggregates import BuiltInAggregate, described_aggregates
from flinkish.operators.definition import OperatorDefinition
from flinkish.operators.vector_aggregates import VectorAggregates
from flinkish.operators.vector_window import WindowSpec
from flinkish.spark.keyed.plan import OperatorPlan

__all__ = ["PANE_BEGIN", "RECORD", "WINDOW_END", "WINDOW_START", "VectorPlan", "vector_of"]

# Columns of the output after those of the key.
WINDOW_START = "window_start"
WINDOW_END = "window_end"

# Columns of payloads in which records of panes travel instead of rows.
PANE_BEGIN = "__flinkish_begin"
RECORD = "__flinkish_record"

_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class VectorPlan(OperatorDefinition):
    """Windows, what is computed in them, and where late rows go (None: they are counted)."""

    spec: WindowSpec
    aggregates: tuple[BuiltInAggregate, ...]
    late_tag: OutputTag | None = None

    kind = "windows, by columns"
    name = "vectorised windows"

    def settings(self) -> dict[str, Any]:
        """The windows, without how long they take late elements, and the aggregates."""
        spec = asdict(replace(self.spec, lateness=0))
        windows = ", ".join(f"{name} {value} ms" for name, value in spec.items() if value)
        return {"windows": windows, "aggregates": described_aggregates(self.aggregates)}

    def for_packing(self) -> VectorPlan:
        """All of it: rows are combined before they travel."""
        return self

    @property
    def combines(self) -> bool:
        """Whether records of panes may travel instead of rows."""
        return self.spec.combines and self.late_tag is None

    def aggregates_of(self, schema: pa.Schema) -> VectorAggregates:
        """The aggregates over columns of these types."""
        return VectorAggregates(self.aggregates, schema)

    def columns(self, keys: Sequence[str], schema: pa.Schema) -> list[str]:
        """The columns that have to travel: all for a side output of late rows, else those read."""
        if self.late_tag is not None:
            return list(schema.names)
        read = {*keys, *(str(one.column) for one in self.aggregates if one.column is not None)}
        return [name for name in schema.names if name in read]

    def output(self, keys: Sequence[str], schema: pa.Schema) -> pa.Schema:
        """The columns of the output: the key, the window, the results."""
        fields = [schema.field(name) for name in keys]
        fields += [pa.field(WINDOW_START, _INSTANT), pa.field(WINDOW_END, _INSTANT)]
        return pa.schema([*fields, *self.aggregates_of(schema).fields])


def vector_of(plan: OperatorPlan) -> VectorPlan:
    """The windows of an operator's plan."""
    assert isinstance(plan.operator, VectorPlan)
    return plan.operator
