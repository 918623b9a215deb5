"""The outputs of a keyed operator, as streams and as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from flinkish.common.errors import IllegalStateError, UnsupportedOperationError
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.bounded import bounded_runner
from flinkish.spark.keyed.counted_rows import Counts
from flinkish.spark.keyed.ends import BATCH_TIME
from flinkish.spark.keyed.observed import (
    ObservedFrame,
    by_observed_name,
    flat,
    observed_name,
    sums_of_counts,
)
from flinkish.spark.keyed.output_rows import AllOutputsReader, OutputReader, Reader, unpacker
from flinkish.spark.keyed.packing import PACKED_SCHEMA
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import EVENT_TIME, MARK, PHASE, OperatorPlan
from flinkish.spark.keyed.processor import KeyGroupProcessor
from flinkish.spark.keyed.result_rows import COUNTERS, results_schema
from flinkish.spark.keyed.versioned import output_runner, version_runner
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.real_time.counts import SumOfCounts
from flinkish.spark.real_time.java import stage_tasks
from flinkish.spark.real_time.partitioned import can_travel, partitioned
from flinkish.spark.real_time.prompt import as_they_come, padded
from flinkish.spark.real_time.received import TASKS
from flinkish.spark.real_time.run import real_time_runner
from flinkish.spark.real_time_settings import NO_FOREACH_BATCH
from flinkish.spark.session import check_session, check_versioned_session, context_of
from flinkish.spark.versions.located import tell_checkpoints

__all__ = ["OperatorResults", "run_operator"]

Split = Callable[[DataFrame], list[DataFrame]]

_PACKED_COLUMNS = [column.split() for column in PACKED_SCHEMA.split(", ")]


def run_operator(
    plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None = None
) -> OperatorResults:
    """Plan the operator: Spark's stateful operator for a stream, a sort for a batch.

    ``second`` are the rows of the second input, for a plan with two.
    """
    name = observed_name(plan.uid, given=plan.named)
    if plan.is_versioned and not rows.base.isStreaming:
        return OperatorResults(_in_pass(plan, rows, second), plan.uid, name, None, marked=True)
    if not rows.base.isStreaming:
        observation = Observation(name)
        if plan.bounded:
            results = _in_pass(plan, rows, second)
        else:
            other = None if second is None else second.frame
            results = plan.strategy.run_batch(plan, rows.frame, other)
        results = results.observe(observation, *sums_of_counts(None))
        return OperatorResults(results, plan.uid, name, observation)
    if plan.real_time:
        return RealTimeResults(plan, _in_real_time(plan, rows, second))
    if plan.is_versioned:
        return VersionedResults(plan, _by_batch(plan, rows, second), name)
    observed = _in_store(plan, rows, second).observe(name, *sums_of_counts(plan.max_parallelism))
    return OperatorResults(observed, plan.uid, name, None)


def _in_store(plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None) -> DataFrame:
    """The operator as Spark's own stateful one."""
    check_session(rows.base.sparkSession)
    return (
        plan.strategy.packed(plan, rows, second)
        .groupBy("slot")
        .transformWithState(
            KeyGroupProcessor(plan),
            outputStructType=results_schema(),
            outputMode="Append",
            timeMode="ProcessingTime" if plan.processing_time else "EventTime",
        )
    )


def _by_batch(plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None) -> DataFrame:
    """The packed rows of an operator whose state is in version files; Spark knows of no state."""
    assert plan.partitions is not None
    spark = rows.base.sparkSession
    check_versioned_session(spark)
    tell_checkpoints(spark)
    packed = plan.strategy.packed(plan, rows, second)
    if plan.processing_time:
        packed = packed.union(_ticks(spark))
    return packed.withColumn(BATCH_TIME, _batch_time()).repartition(plan.partitions, "slot")


def _in_real_time(plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None) -> DataFrame:
    """The rows of an operator in real-time mode, with the time of their batch."""
    assert plan.partitions is not None
    spark = rows.base.sparkSession
    check_versioned_session(spark)
    tell_checkpoints(spark)
    in_jvm = context_of(spark) is not None
    _check_inputs(plan, in_jvm=in_jvm)
    if can_travel(plan, rows):
        dealt = partitioned(plan, rows.base)
    else:
        other = None if second is None else padded(second)
        packed = plan.strategy.packed(plan, padded(rows), other)
        tasks = stage_tasks(spark) if in_jvm else F.lit(None).cast("int")
        dealt = packed.withColumn(TASKS, tasks).repartition(plan.partitions, "slot")
    return as_they_come(dealt.withColumn(BATCH_TIME, _batch_time()), plan.partitions)


def _batch_time() -> Column:
    """The time (ms) of the micro-batch, which Spark's planner inserts."""
    return F.unix_millis(F.current_timestamp())


def _check_inputs(plan: OperatorPlan, *, in_jvm: bool) -> None:
    """UnsupportedOperationError for inputs that real-time mode cannot have together."""
    outputs = sum(one.chained for one in plan.inputs)
    if outputs > 1:
        raise UnsupportedOperationError(
            f"both inputs of operator {plan.uid!r} are outputs of other operators, and in "
            "real-time mode a task of Spark's reads the output of one: write one to a topic, and "
            "read it in a second query"
        )
    if outputs and not in_jvm and (plan.second is not None or plan.channelled):
        raise UnsupportedOperationError(
            f"operator {plan.uid!r} has several inputs, and another operator made one of them: in "
            "real-time mode on Spark Connect its tasks could not know how many come before them; "
            "write the output to a topic and read it in a second query, or take a classic session"
        )


def _in_pass(plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None) -> DataFrame:
    """The operator over batch DataFrames that are all rows there are, or those of a micro-batch."""
    assert plan.partitions is not None
    packed = plan.strategy.packed(plan, rows, second)
    runner = bounded_runner if plan.bounded else version_runner
    if not plan.bounded:
        packed = packed.union(_bells(rows.base.sparkSession, plan.partitions))
    dealt = MappedFrame(packed.repartition(plan.partitions, "slot"))
    return dealt.map(runner(plan), results_schema()).frame


def _bells(spark: SparkSession, partitions: int) -> DataFrame:
    """A row without a payload for each partition.

    Spark leaves out what follows a DataFrame that it knows to be empty, and a partition that was
    left out would have no state for the next micro-batch.
    """
    rows = [(slot_of(partition), 0, 0, 0, b"") for partition in range(partitions)]
    return spark.createDataFrame(rows, PACKED_SCHEMA).coalesce(1)


def _ticks(spark: SparkSession) -> DataFrame:
    """No rows, of a source that has new ones every second: so Spark runs a batch that often."""
    ticks = (
        spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    )
    columns = [F.lit(None).cast(kind).alias(name) for name, kind in _PACKED_COLUMNS]
    return ticks.where(F.col("value") < 0).select(*columns)


def _take_output(
    results: DataFrame, tag: str, schema: StructType, uid: str, *, marks: bool = False
) -> MappedFrame:
    """One of the outputs of an operator, out of all results or of a micro-batch of them.

    After its columns are EVENT_TIME and PHASE, for a following operator, and with ``marks`` there
    are rows for marks of the watermark.
    """
    return _taken(results, *_read_one(tag, schema, marks=marks), uid)


def _taken(results: DataFrame, reader: Reader, made: StructType, uid: str) -> MappedFrame:
    """The outputs that are read, in these columns, out of results."""
    return MappedFrame(results.select("phase", "tag", "payload")).map(unpacker(reader, uid), made)


def _read_one(tag: str, schema: StructType, *, marks: bool) -> tuple[Reader, StructType]:
    """The reader of an output, and the columns that it gives."""
    columns, made = _output_columns(schema, marks=marks)
    return OutputReader(tag, arrow_schema(columns), marks=marks), made


def _read_all(
    outputs: Mapping[str, tuple[str, StructType]], *, marks: bool
) -> tuple[Reader, StructType]:
    """The reader of outputs, a tag and a schema by column, and the columns that it gives."""
    structs = StructType([StructField(name, schema) for name, (_, schema) in outputs.items()])
    columns, made = _output_columns(structs, marks=marks)
    schemas = {tag: arrow_schema(schema) for tag, schema in outputs.values()}
    return AllOutputsReader(schemas, arrow_schema(columns), marks=marks), made


def _output_columns(schema: StructType, *, marks: bool) -> tuple[StructType, StructType]:
    """The columns of an output, null in marks, and those with EVENT_TIME and PHASE."""
    columns = [
        StructField(one.name, one.dataType, one.nullable or marks, one.metadata)
        for one in schema.fields
    ]
    fields = [StructField(EVENT_TIME, LongType()), StructField(PHASE, IntegerType())]
    return StructType(columns), StructType([*columns, *fields])


class OperatorResults:
    """The results of an operator: rows of a tag and a payload, and of counters."""

    def __init__(
        self,
        frame: DataFrame,
        uid: str,
        name: str,
        observation: Observation | None,
        *,
        marked: bool = False,
    ) -> None:
        self.frame = frame
        self.uid = uid
        self.name = name
        self._observation = observation
        self._marked = marked

    def output(self, tag: str, schema: StructType) -> MappedFrame:
        """One of the outputs, as `_take_output` gives it."""
        return self._mapped(*_read_one(tag, schema, marks=self._marked))

    def outputs(self, outputs: Mapping[str, tuple[str, StructType]]) -> MappedFrame:
        """Several outputs of one run, a tag and a schema by column.

        Each is a struct in its column, which is null in rows of others; then as `output`.
        """
        return self._mapped(*_read_all(outputs, marks=self._marked))

    def _mapped(self, reader: Reader, made: StructType) -> MappedFrame:
        """The outputs that are read, in these columns."""
        return _taken(self.frame, reader, made, self.uid)

    def in_batches(self, outputs: Mapping[str, StructType]) -> tuple[DataFrame, Split]:
        """All outputs of a run in one DataFrame, and the function that splits a micro-batch of it.

        ``outputs`` are the columns of each by its tag.  The function travels on Spark Connect.
        """
        uid = self.uid

        def split(frame: DataFrame) -> list[DataFrame]:
            return [
                _take_output(frame, tag, schema, uid).frame.select(*schema.names)
                for tag, schema in outputs.items()
            ]

        return self.frame, split

    def statistics(self, query: Any = None) -> dict[str, int]:
        """Sums of what the operator and its function counted, and what it held when last asked."""
        if self._observation is not None:
            return flat(self._observation.get)
        if query is None:
            raise IllegalStateError(
                "a streaming operator counts by query: call statistics(query) with what "
                "writeStream.start() returned"
            )
        return dict.fromkeys(COUNTERS, 0) | by_observed_name(query).get(self.name, {})


class VersionedResults(OperatorResults):
    """The results of an operator whose state is versioned by batch; each output is a run.

    So one Python worker runs the operator and gives the rows of an output, and packs them for the
    next operator.
    """

    def __init__(self, plan: OperatorPlan, packed: DataFrame, name: str) -> None:
        super().__init__(packed, plan.uid, name, None, marked=True)
        self._plan = plan

    def _mapped(self, reader: Reader, made: StructType) -> MappedFrame:
        """The outputs that are read, in these columns."""
        counts = Counts()
        run = output_runner(self._plan, reader, counts)
        return ObservedFrame(self.frame, run, made, self.name, self._plan.max_parallelism, counts)

    def in_batches(self, outputs: Mapping[str, StructType]) -> tuple[DataFrame, Split]:
        """As `OperatorResults.in_batches`; each output is a struct in a column of its own."""
        columns = {f"output_{number}": one for number, one in enumerate(outputs.items())}

        def split(frame: DataFrame) -> list[DataFrame]:
            return [
                frame.where(F.col(name).isNotNull()).select(f"{name}.*") for name in list(columns)
            ]

        rows = self.outputs(columns).frame.where(F.col(PHASE) != MARK)
        return rows.select(*columns), split


class RealTimeResults(OperatorResults):
    """The results of an operator in real-time mode; each output is a run of its own."""

    def __init__(self, plan: OperatorPlan, packed: DataFrame) -> None:
        super().__init__(packed, plan.uid, "", None, marked=True)
        self._plan = plan
        context = context_of(packed.sparkSession)
        self._counts = None if context is None else context.accumulator({}, SumOfCounts())

    def _mapped(self, reader: Reader, made: StructType) -> MappedFrame:
        """The outputs that are read, in these columns."""
        count = None if self._counts is None else self._counts.add
        run = real_time_runner(self._plan, reader, count)
        return MappedFrame(self.frame).map(run, made)

    def in_batches(self, outputs: Mapping[str, StructType]) -> tuple[DataFrame, Split]:
        """UnsupportedOperationError: a batch of this mode is minutes long."""
        raise UnsupportedOperationError(NO_FOREACH_BATCH)

    def statistics(self, query: Any = None) -> dict[str, int]:
        """Sums over the batches that have ended since the operator was defined.

        UnsupportedOperationError on Spark Connect, where workers cannot tell.
        """
        if self._counts is None:
            raise UnsupportedOperationError(
                "on Spark Connect an operator in real-time mode cannot tell this process what it "
                "counts: send counts as rows, to a side output"
            )
        return dict.fromkeys(COUNTERS, 0) | self._counts.value
