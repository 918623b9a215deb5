"""The outputs of a keyed operator, as streams and as DataFrames."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from flinkish.common.errors import IllegalStateError
from flinkish.spark.batch import run_batch
from flinkish.spark.internals import arrow_schema
from flinkish.spark.packing import PACKED_SCHEMA, packer, unpacker
from flinkish.spark.plan import EVENT_TIME, PHASE, OperatorPlan
from flinkish.spark.processor import KeyGroupProcessor
from flinkish.spark.result_rows import COUNTERS, results_schema
from flinkish.spark.session import check_session
from flinkish.spark.two_inputs import packer_of_input
from flinkish.spark.vector_packing import pack_rows_of

__all__ = ["OperatorResults", "run_operator", "take_output"]


def run_operator(
    plan: OperatorPlan, frame: DataFrame, second: DataFrame | None = None
) -> OperatorResults:
    """Plan the operator: Spark's stateful operator for a stream, a sort for a batch.

    ``second`` are the rows of the second input, for a plan with two.
    """
    name = f"flinkish.{plan.uid}"
    sums = [F.sum(counter).alias(counter) for counter in COUNTERS]
    if plan.vector is not None:
        frame = frame.drop(*_unread(frame, plan))
    if not frame.isStreaming:
        observation = Observation(name)
        return OperatorResults(
            run_batch(frame, plan, second).observe(observation, *sums), name, observation
        )
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
    return OperatorResults(results.observe(name, *sums), name, None)


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


def take_output(results: DataFrame, tag: str, schema: StructType) -> DataFrame:
    """One of the outputs, out of all results or of a micro-batch of them.

    Behind its columns are EVENT_TIME and PHASE, for a following operator.
    """
    fields = [StructField(EVENT_TIME, LongType()), StructField(PHASE, IntegerType())]
    return results.select("phase", "tag", "payload").mapInArrow(
        unpacker(tag, arrow_schema(schema)), StructType([*schema.fields, *fields])
    )


class OperatorResults:
    """What an operator gives: rows of a tag and a payload, and of counters."""

    def __init__(self, frame: DataFrame, name: str, observation: Observation | None) -> None:
        self.frame = frame
        self.name = name
        self._observation = observation

    def output(self, tag: str, schema: StructType) -> DataFrame:
        """One of the outputs, as `take_output` gives it."""
        return take_output(self.frame, tag, schema)

    def statistics(self, query: Any = None) -> dict[str, int]:
        """Sums of what the operator counted."""
        if self._observation is not None:
            return {name: value or 0 for name, value in self._observation.get.items()}
        if query is None:
            raise IllegalStateError(
                "a streaming operator counts by query: call statistics(query) with what "
                "writeStream.start() returned"
            )
        total: Counter[str] = Counter(dict.fromkeys(COUNTERS, 0))
        for progress in query.recentProgress:
            observed = progress["observedMetrics"].get(self.name)
            if observed is not None:
                counted = _by_name(observed)
                total.update({name: counted[name] or 0 for name in COUNTERS})
        return dict(total)


def _by_name(observed: Any) -> dict[str, Any]:
    """Observed metrics by name; Spark Connect sends values and names apart."""
    fields = observed.asDict()
    if set(fields) == {"values", "schema"}:
        names = [field["name"] for field in fields["schema"]["fields"]]
        return dict(zip(names, fields["values"], strict=True))
    return dict(fields)
