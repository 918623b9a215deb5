"""The plan of a task: plain data that travels to workers with Spark's closures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.elements import ElementReader
from flinkish.spark.encoders import Encoder, RowEncoder, StructEncoder

if TYPE_CHECKING:  # a worker loads the parts that its own plan has, when it unpickles them
    from flinkish.operators import StreamOperator
    from flinkish.spark.control_plane import PlaneHandle

__all__ = ["AGE_MS", "MAIN_COLUMN", "SideOutput", "TaskPlan", "side_column"]

AGE_MS = 100  # long enough for a batch of many values
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
    ``output_type`` is set where values must be converted for their columns.  The operator sees the
    columns ``rows`` of its input, by default all, as elements of ``input_type`` (None: Rows),
    with the timestamps that ``stamps`` gives for a batch.  Values that were emitted wait for others
    for ``age_ms`` at most.
    """

    name: str
    make_operator: Callable[[], StreamOperator]
    output: pa.Schema
    output_type: TypeInformation | None
    sides: tuple[SideOutput, ...]
    time_zone: tzinfo
    key_columns: tuple[str, ...] = ()
    key_type: str | None = None
    job_parameters: dict[str, str] = field(default_factory=dict)
    rows: tuple[str, ...] | None = None
    input_type: TypeInformation | None = None
    stamps: Callable[[pa.RecordBatch], list[int | None]] | None = None
    control_plane: PlaneHandle | None = None
    age_ms: int = AGE_MS

    def elements(self, batch: pa.RecordBatch) -> ElementReader:
        """The elements of a batch of the input."""
        seen = batch if self.rows is None else batch.select(list(self.rows))
        return ElementReader(seen, self.input_type, self.time_zone)

    @property
    def columns(self) -> pa.Schema:
        """The schema of the batches that the task gives to Spark."""
        if not self.sides:
            return self.output
        structs = [pa.field(MAIN_COLUMN, pa.struct(list(self.output)))]
        structs += [
            pa.field(side_column(index), pa.struct(list(side.schema)))
            for index, side in enumerate(self.sides)
        ]
        return pa.schema(structs)

    def watched(self, operator: Any, encoder: Any) -> AbstractContextManager[object]:
        """The surroundings of a run of its operator, whose main output the encoder encodes."""
        return nullcontext()

    def main_rows(self) -> RowEncoder:
        """The encoder of the main output's rows."""
        what = f"the main output of task {self.name!r}"
        return RowEncoder(what, self.output, self.output_type, self.time_zone)

    def encoders(self) -> dict[OutputTag | None, Encoder]:
        """The encoders of the outputs' values, that of the main one under None."""
        main = self.main_rows()
        if not self.sides:
            return {None: main}
        columns = self.columns
        encoders: dict[OutputTag | None, Encoder] = {None: StructEncoder(main, columns, 0)}
        for index, side in enumerate(self.sides):
            what = f"the side output {side.tag.tag_id!r} of task {self.name!r}"
            rows = RowEncoder(what, side.schema, side.tag.type_info, self.time_zone)
            encoders[side.tag] = StructEncoder(rows, columns, index + 1)
        return encoders
