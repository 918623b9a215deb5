"""The outputs of a keyed operator, as streams and as DataFrames."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from flinkish.common.errors import IllegalStateError
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.batch import run_batch
from flinkish.spark.keyed.columns.packing import pack_rows_of
from flinkish.spark.keyed.observed import by_observed_name, flat, observed_name, sum_metrics
from flinkish.spark.keyed.packing import PACKED_SCHEMA, packer, unpacker
from flinkish.spark.keyed.plan import EVENT_TIME, PHASE, OperatorPlan
from flinkish.spark.keyed.processor import KeyGroupProcessor
from flinkish.spark.keyed.result_rows import COUNTERS, GAUGES, METRICS, REPORTS, results_schema
from flinkish.spark.keyed.two_inputs import packer_of_input
from flinkish.spark.session import check_session

__all__ = ["OperatorResults", "run_operator", "take_output"]


def run_operator(
    plan: OperatorPlan, frame: DataFrame, second: DataFrame | None = None
) -> OperatorResults:
    """Plan the operator: Spark's stateful operator for a stream, a sort for a batch.

    ``second`` are the rows of the second input, for a plan with two.
    """
    name = observed_name(plan.uid, given=plan.named)
    sums = [F.sum(counter).alias(counter) for counter in COUNTERS]
    sums.append(sum_metrics(F.col(METRICS)).alias(METRICS))
    if plan.vector is not None:
        frame = frame.drop(*_unread(frame, plan))
    if not frame.isStreaming:
        observation = Observation(name)
        results = run_batch(frame, plan, second).observe(observation, *sums)
        return OperatorResults(results, plan.uid, name, observation)
    check_session(frame.sparkSession)
    results = (
        _packed(frame, plan, second)
        .groupBy("slot")
        .transformWithState(
            KeyGroupProcessor(plan),
            outputStructType=results_schema(),
            outputMode="Append",
            timeMode="ProcessingTime" if plan.processing_time else "EventTime",
        )
    )
    # Null in a batch in which not all key groups were asked.
    asked = F.sum(REPORTS) == plan.max_parallelism
    sums += [F.when(asked, F.sum(gauge)).alias(gauge) for gauge in GAUGES]
    return OperatorResults(results.observe(name, *sums), plan.uid, name, None)


def _packed(frame: DataFrame, plan: OperatorPlan, second: DataFrame | None) -> DataFrame:
    """The rows of the inputs as payloads."""
    if second is not None:
        # Spark's watermark of a union is the lower of both, like Flink's.
        assert plan.second is not None
        return frame.mapInArrow(packer_of_input(plan, 1), PACKED_SCHEMA).union(
            second.mapInArrow(packer_of_input(plan.second, 2), PACKED_SCHEMA)
        )
    return frame.mapInArrow(packer(plan.without_functions(), pack_rows_of(plan)), PACKED_SCHEMA)


def _unread(frame: DataFrame, plan: OperatorPlan) -> list[str]:
    """Columns that nobody reads, and that therefore need not travel."""
    read = {*plan.schema.names, *plan.key_columns, plan.event_time}
    if plan.chained:
        read |= {EVENT_TIME, PHASE}
    return [name for name in frame.columns if name not in read]


def take_output(results: DataFrame, tag: str, schema: StructType, uid: str) -> DataFrame:
    """One of the outputs of an operator, out of all results or of a micro-batch of them.

    Behind its columns are EVENT_TIME and PHASE, for a following operator.
    """
    fields = [StructField(EVENT_TIME, LongType()), StructField(PHASE, IntegerType())]
    return results.select("phase", "tag", "payload").mapInArrow(
        unpacker(tag, arrow_schema(schema), uid), StructType([*schema.fields, *fields])
    )


class OperatorResults:
    """The results of an operator: rows of a tag and a payload, and of counters."""

    def __init__(
        self, frame: DataFrame, uid: str, name: str, observation: Observation | None
    ) -> None:
        self.frame = frame
        self.uid = uid
        self.name = name
        self._observation = observation

    def output(self, tag: str, schema: StructType) -> DataFrame:
        """One of the outputs, as `take_output` gives it."""
        return take_output(self.frame, tag, schema, self.uid)

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
