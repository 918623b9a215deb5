"""A round of a job: the DataFrames of its sources, and all that is done with what comes of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from flinkish.common.ddl import in_sql
from flinkish.spark.chains.dealt import InTurn, ToAll
from flinkish.spark.chains.steps import Step
from flinkish.spark.elements import ElementReader
from flinkish.spark.jobs.inputs import OWN, PARTITION, Input
from flinkish.spark.jobs.part_files import PartFiles, part_name
from flinkish.spark.keyed.plan import EVENT_TIME
from flinkish.spark.mapped_frame import MappedFrame, run_to_end
from flinkish.spark.passes import JobScope, Pass
from flinkish.spark.schemas import session_time_zone
from flinkish.spark.streams.chosen_keys import no_key
from flinkish.spark.streams.data_stream import DataStream, ProcessedStream
from flinkish.spark.streams.rows import UNDECLARED, StreamRows
from flinkish.spark.type_mapping import cast_columns, row_schema

__all__ = ["Round"]

_PART = "__flinkish_part"


@dataclass(frozen=True)
class Round:
    """One run of a program's operators, over all rows or over those of a micro-batch.

    ``sources`` are the streams of the program's inputs.  ``job`` names the job, the same after a
    restart from its checkpoint.  ``number`` is that of the micro-batch, the same if it is run
    again; 0 in a job that has one round.  ``files`` are those of a job with many rounds.  ``sink``
    is the uid of the sink whose rows are written.
    """

    spark: SparkSession
    sources: Sequence[DataStream]
    job: str
    number: int
    files: PartFiles | None = None
    sink: str = ""
    kept: list[DataFrame] = field(default_factory=list)
    views: list[str] = field(default_factory=list)

    @staticmethod
    def over(
        frames: Sequence[tuple[DataFrame, Input]],
        spark: SparkSession,
        within: Pass | None,
        scope: JobScope,
        job: str,
        number: int = 0,
        files: PartFiles | None = None,
    ) -> Round:
        """A round over inputs and their DataFrames, whose operators share a scope."""
        sources = []
        for frame, source in frames:
            mapped = source.elements(frame)
            names = mapped.schema.names
            rows = StreamRows(
                mapped,
                tuple(name for name in names if name not in OWN),
                source.kind or UNDECLARED,
                event_time=EVENT_TIME if EVENT_TIME in names else None,
                ends=source.bounded,
                source_times=EVENT_TIME in names,
                partition=PARTITION if PARTITION in names else None,
                within=within,
                job=scope,
            )
            sources.append(DataStream._of(rows))
        return Round(spark, sources, job, number, files)

    def of_sink(self, uid: str) -> Round:
        """The same round for the sink ``uid``."""
        return replace(self, sink=uid)

    def before(self, stream: DataStream, uid: str, tasks: int | None) -> DataStream:
        """A stream before the operator ``uid``, which is called so in messages and counts.

        It has so many tasks, or as many as an operator of the pass.
        """
        within = stream._rows.within
        return stream._before(uid, tasks or (None if within is None else within.partitions))

    def keyed(self, stream: DataStream, tasks: int | None) -> DataStream:
        """A stream before an operator with keys, which so many tasks share if it is said."""
        rows = stream._rows
        return DataStream._of(replace(rows, job=replace(rows.job, tasks=tasks)))

    def dealt(self, stream: DataStream, tasks: int) -> DataStream:
        """A stream whose elements are dealt to so many tasks in turn."""
        return stream.partition_custom(InTurn(), no_key, tasks)

    def copied(self, stream: DataStream, tasks: int) -> DataStream:
        """A stream with a copy of each element in each of so many tasks."""
        return stream._dealt(Step("flat_map", ToAll(tasks)), tasks)

    def shared(self, stream: DataStream) -> DataStream:
        """A stream that several operators or sinks read: what makes it runs once."""
        if isinstance(stream, ProcessedStream):
            self._keep(stream._results.frame)
            return stream
        rows = stream._rows
        frame = self._keep(rows.mapped.frame)
        return DataStream._of(replace(rows, mapped=MappedFrame(frame)))

    def _keep(self, frame: DataFrame) -> DataFrame:
        self.kept.append(frame.persist())
        return frame

    def ran(self, stream: DataStream) -> DataStream:
        """A stream whose keyed operators have run to their end, once.

        A statement of SQL may leave out a part of their rows, or read some twice.
        """
        rows = stream._rows
        if not rows.chained or rows.is_whole:
            return stream
        frame = self._keep(rows.mapped.frame)
        run_to_end(frame)
        return DataStream._of(replace(rows, mapped=MappedFrame(frame)))

    def drain(self, stream: DataStream) -> None:
        """Run all that makes a stream, for its effects."""
        run_to_end(stream._rows.mapped.frame)

    def write_files(self, writer: DataFrameWriter, base: str, prefix: str) -> None:
        """Write rows to the directory of this sink and round in ``base``, hidden until complete."""
        base = base.rstrip("/") or "/"
        if self.files is not None:
            self.files.write(writer, base, prefix, self.job, self.sink, self.number)
            return
        # The job has one round, and an id of its own.
        name = part_name(prefix, self.job, self.sink, self.number)
        writer.mode("errorifexists").save(f"{base}/{name}")

    def elements(self, stream: DataStream) -> Iterator[tuple[int, Any]]:
        """The elements of a stream, each with the number of its task, in the order of tasks."""
        rows = stream._rows
        # The condition is always true.  It keeps Spark from moving the number into an aggregate in
        # Python, where the task is not known.
        frame = rows.in_columns().where(F.spark_partition_id() >= 0)
        frame = frame.withColumn(_PART, F.spark_partition_id())
        columns, kind, zone = list(rows.columns), rows.kind, session_time_zone(self.spark)
        for batch in frame.toArrow().to_batches():
            parts = batch.column(_PART).to_pylist()
            yield from zip(
                parts, ElementReader(batch.select(columns), kind, zone).elements(), strict=True
            )

    def columns_of(self, stream: DataStream) -> DataFrame:
        """The elements of a stream as a DataFrame, one column for those that are single values.

        BIG_DEC and BIG_INT are decimals in it.  UnsupportedOperationError for elements of no
        declared type.
        """
        rows = stream._rows
        rows.check_columns()
        frame = rows.in_columns()
        wanted = None if rows.kind is None else in_sql(rows.kind)
        if wanted is None or wanted == rows.kind:
            return frame
        return cast_columns(frame, row_schema(wanted))

    def view(self, frame: DataFrame) -> str:
        """The name under which statements of SQL find a DataFrame while the round lasts."""
        name = f"flinkish_view_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(name)
        self.views.append(name)
        return name

    def close(self) -> None:
        """Forget what was shared and named."""
        for name in self.views:
            self.spark.catalog.dropTempView(name)
        for frame in self.kept:
            frame.unpersist()
        self.views.clear()
        self.kept.clear()
