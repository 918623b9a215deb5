"""The elements of a stream, and all that operators over them have to know of what lies before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from flinkish.spark.channels import Channel
from flinkish.spark.elements import ElementReader
from flinkish.spark.keyed.plan import MARK, PHASE, OperatorPlan
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.passes import JobScope, Pass
from flinkish.spark.real_time.prompt import in_time
from flinkish.spark.real_time_settings import is_real_time
from flinkish.spark.schemas import output_schema, session_time_zone
from flinkish.spark.streams.chosen_keys import ChosenKeys

__all__ = ["SHUFFLE_PARTITIONS", "KeyedRows", "Output", "StreamRows"]

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

_TASK = "__flinkish_task"

# The type of elements for which none was declared; compared by identity, on the driver.
UNDECLARED = PickledBytesTypeInfo()


@dataclass(frozen=True)
class Output:
    """The elements of an output: their columns, and their type unless they are Rows of these."""

    schema: StructType
    kind: TypeInformation | None

    @classmethod
    def of(cls, declared: StructType | str | TypeInformation | None, what: str) -> Output:
        """The output that a user declared; ``what`` names it in errors."""
        given = UNDECLARED if declared is None else declared
        kind = given if isinstance(given, TypeInformation) else None
        return cls(output_schema(given, what), kind)


@dataclass(frozen=True)
class StreamRows:
    """The rows of a stream.

    ``columns`` are the user's, of elements of the type ``kind``, or if that is None of Rows.  Rows
    that an operator made have EVENT_TIME and PHASE besides, and if they are ``marked`` there are
    marks of the watermark among them (`flinkish.spark.keyed.marks`).
    ``operators`` and ``calls`` count the keyed operators before, and the calls after the last of
    them.  ``watermark`` is the rule of the watermark in words.  ``channels`` are what the rows come
    from, each with its watermark; if they are ``channelled`` the column CHANNEL says of a row, or
    of a mark, of which it is.  ``watermark_lost`` says that Spark passes no watermark on.  Rows of
    a source that ``ends`` are all in the first micro-batch; ``partition`` is the column that names
    the partition of the source.  ``source_times`` says that ``event_time`` is the source's own, of
    which no strategy has made a watermark.
    ``paths`` has for each operator before how it runs, and its details; ``plans`` their plans, by
    name.  ``within`` is the pass of a program that has these rows; then they lie in a batch
    DataFrame, and operators see a stream all the same.  ``job`` is what the operators of a program
    share.
    """

    mapped: MappedFrame
    columns: tuple[str, ...]
    kind: TypeInformation | None = None
    event_time: str | None = None
    operators: int = 0
    calls: int = 0
    watermark: str | None = None
    channels: tuple[Channel, ...] = ()
    channelled: bool = False
    marked: bool = False
    ends: bool = False
    partition: str | None = None
    source_times: bool = False
    watermark_lost: bool = False
    paths: Mapping[str, list[str]] = field(default_factory=dict)
    plans: Mapping[str, OperatorPlan] = field(default_factory=dict)
    placed: bool = False
    within: Pass | None = None
    job: JobScope = field(default_factory=JobScope)

    @property
    def streaming(self) -> bool:
        """Whether it is of a streaming DataFrame, or part of a program in streaming mode."""
        return self.within is not None or self.mapped.base.isStreaming

    @property
    def real_time(self) -> bool:
        """Whether operators on it run in real-time mode; programs have micro-batches."""
        return self.within is None and self.streaming and is_real_time(self.spark)

    @property
    def restarts(self) -> bool:
        """Whether each micro-batch begins with fresh functions, as on streaming DataFrames."""
        return self.within is None and self.streaming

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows that there are: time ends after them."""
        return not self.streaming or (self.within is not None and self.within.bounded)

    @property
    def partitions(self) -> int:
        """How many tasks share the work of an operator."""
        if self.job.tasks is not None:
            return self.job.tasks
        if self.within is not None:
            return self.within.partitions
        return int(self.spark.conf.get(SHUFFLE_PARTITIONS) or 1)

    @property
    def spark(self) -> SparkSession:
        """The session of the DataFrame."""
        return self.mapped.base.sparkSession

    @property
    def schema(self) -> StructType:
        """The columns of the user, and their types."""
        found = self.mapped.schema
        return StructType([found[name] for name in self.columns])

    @property
    def chained(self) -> bool:
        """Whether a keyed operator made the rows."""
        return self.operators > 0

    @property
    def output(self) -> Output:
        """The declaration of an operator whose output has the type of its input."""
        return Output(self.schema, self.kind)

    def reader(self) -> Callable[[pa.RecordBatch], ElementReader]:
        """The function that makes the elements of a record batch of these rows."""
        columns, kind, zone = list(self.columns), self.kind, session_time_zone(self.spark)
        return lambda batch: ElementReader(batch.select(columns), kind, zone)

    def apart(self) -> MappedFrame:
        """The rows, in a stage of their own if their operator's state is versioned by batch.

        It finds its state by the number of its task, and in a union Spark numbers the tasks of all
        parts in a row.  The rows of a task stay together and in order.  In real-time mode there is
        but one such part in a union (`united`), and it comes first.
        """
        if self.real_time or not (self.marked and self.chained):
            return self.mapped
        frame = self.frame.withColumn(_TASK, F.spark_partition_id())
        return MappedFrame(frame.repartition(_TASK).drop(_TASK))

    def to_df(self) -> DataFrame:
        """The columns of the user.

        UnsupportedOperationError for elements of no declared type.
        """
        self.check_columns()
        return self.in_columns()

    def check_columns(self) -> None:
        """UnsupportedOperationError for elements that have no columns of their own."""
        if self.kind is UNDECLARED:
            raise UnsupportedOperationError(
                "no type was declared for the elements of this stream, so a DataFrame of them "
                "would have one column of pickles: declare them where they are made, as in "
                "schema='device string, n bigint', or output_type=Types.ROW_NAMED(...)"
            )

    def in_columns(self) -> DataFrame:
        """The elements as they lie in columns, whatever their type."""
        return self.without_marks().select(*map(in_backticks, self.columns))

    def without_marks(self) -> DataFrame:
        """All columns of the rows that are elements."""
        return self.frame.where(F.col(PHASE) != MARK) if self.marked else self.frame

    @property
    def frame(self) -> DataFrame:
        """All rows and marks; those that a function makes come as they are made."""
        return in_time(self.mapped).frame


@dataclass(frozen=True)
class KeyedRows:
    """The rows of a stream, and their keys."""

    rows: StreamRows
    keys: ChosenKeys
