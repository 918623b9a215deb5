"""The plan of a chain: plain data that travels to workers with Spark's closures."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo

import pyarrow as pa

from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.chains.dealt import SLOT
from flinkish.spark.chains.steps import Step
from flinkish.spark.channels import CHANNEL
from flinkish.spark.elements import ElementReader
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.kept_fields import KeptFields
from flinkish.spark.keyed.plan import EVENT_TIME, PHASE
from flinkish.spark.passes import JobScope

__all__ = ["ChainPlan"]


@dataclass(frozen=True)
class ChainPlan:
    """Functions one after the other on the elements of a stream.

    Elements are of ``input_type`` in ``columns``; what comes out is of ``output_type`` in
    ``output``: of the main output, or of the side output ``tag`` of the last step.  ``stamped``
    says which column is event time.  If ``marked``, marks of the watermark pass; with
    ``makes_marks`` each task makes one of the highest event time that it saw of a channel, which a
    filter may hide from operators after it, at the end of its input or, if ``prompt``, after each
    batch of it; ``channelled`` rows and marks say which it is.  What is ``dealt`` has the
    column SLOT, which the function of the last step says (see `dealt`).
    ``job`` is what the operators of a program share, ``fields`` the fields that the functions
    changed in earlier passes.
    """

    steps: tuple[Step, ...]
    columns: tuple[str, ...]
    input_type: TypeInformation | None
    output: pa.Schema
    output_type: TypeInformation | None
    time_zone: tzinfo
    tag: OutputTag | None = None
    stamped: Stamped | None = None
    marked: bool = False
    makes_marks: bool = False
    prompt: bool = False
    channelled: bool = False
    dealt: bool = False
    job: JobScope = field(default_factory=JobScope)
    fields: KeptFields | None = None

    @property
    def name(self) -> str:
        """The methods of the steps, for messages."""
        return ", ".join(step.method for step in self.steps)

    @property
    def phased(self) -> bool:
        """Whether a phase comes out with each row."""
        stamped = self.stamped
        return stamped is not None and (stamped.chained or self.marked or self.makes_marks)

    @property
    def schema(self) -> pa.Schema:
        """The columns of what comes out, with event time, phase, channel and slot if there are."""
        found = self.output
        for name, kind in self.stamp_columns:
            found = found.append(pa.field(name, kind))
        return found.append(pa.field(SLOT, pa.int32())) if self.dealt else found

    @property
    def stamp_columns(self) -> list[tuple[str, pa.DataType]]:
        """Event time, phase and channel, if they are there."""
        if self.stamped is None:
            return []
        time = pa.int64() if self.stamped.chained else pa.timestamp("us", "UTC")
        phase = [(PHASE, pa.int32())] if self.phased else []
        return [(EVENT_TIME, time), *phase, *([(CHANNEL, pa.int64())] if self.channelled else [])]

    def elements(self, batch: pa.RecordBatch) -> ElementReader:
        """The elements of a batch of the input."""
        return ElementReader(batch.select(list(self.columns)), self.input_type, self.time_zone)

    def encoder(self) -> RowEncoder:
        """The encoder of what comes out."""
        what = f"the output of {self.steps[-1].method}({self.steps[-1].name})"
        return RowEncoder(what, self.output, self.output_type, self.time_zone)
