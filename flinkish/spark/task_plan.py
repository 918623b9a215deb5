"""What a worker must know of a task: plain data that travels with Spark's closures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.operators import StreamOperator

__all__ = ["MAIN_COLUMN", "SideOutput", "TaskPlan", "side_column"]

MAIN_COLUMN = "__flinkish_main"


def side_column(index: int) -> str:
    """The column of the side output with this index."""
    return f"__flinkish_side_{index}"


@dataclass(frozen=True)
class SideOutput:
    """A side output and its columns."""

    tag: OutputTag
    schema: pa.Schema


@dataclass(frozen=True)
class TaskPlan:
    """An operator on a DataFrame.

    Without ``sides`` the task gives the columns of ``output``; with some it gives structs, one
    column for the main output and one for each side output, of which one is not null in each row.
    ``output_type`` is set where values must be converted for their columns.
    """

    name: str
    make_operator: Callable[[], StreamOperator]
    output: pa.Schema
    output_type: TypeInformation | None
    sides: tuple[SideOutput, ...]
    time_zone: str
    key_columns: tuple[str, ...] = ()
    key_type: str | None = None
    job_parameters: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> pa.Schema:
        """What the task gives Spark."""
        if not self.sides:
            return self.output
        structs = [pa.field(MAIN_COLUMN, pa.struct(list(self.output)))]
        structs += [
            pa.field(side_column(index), pa.struct(list(side.schema)))
            for index, side in enumerate(self.sides)
        ]
        return pa.schema(structs)
