"""Records of Kafka, from positions that may be beyond what Spark's options can express."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkish.common.errors import JobExecutionError, UnsupportedOperationError
from flinkish.common.kafka_offsets import KafkaPosition, as_json, bounds_of
from flinkish.spark.internals import KafkaTopics
from flinkish.spark.jobs.inputs import BoundedFormatInput, FormatInput
from flinkish.spark.jobs.modules import module_needed
from flinkish.spark.session import context_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BoundedKafkaInput", "KafkaInput"]

_EARLIEST, _LATEST = KafkaPosition("earliest"), KafkaPosition("latest")


@dataclass(frozen=True)
class KafkaInput(FormatInput):
    """The records of topics from ``start`` on; ``group`` is the group of committed offsets.

    The options express the start as far as they can.
    """

    start: KafkaPosition = _EARLIEST
    group: str | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The records from now on."""
        if not self.start.is_asked_of_broker:
            return self._read(spark)
        with _topics(self, spark) as topics:
            offsets = as_json(self.start.resolve(topics))
        return replace(self, options={**self.options, "startingOffsets": offsets})._read(spark)

    def _read(self, spark: SparkSession) -> DataFrame:
        return super().frame(spark)

    def going_on(self) -> KafkaInput:
        """The same without a start, which is in the checkpoint."""
        options = {**self.options, **_EARLIEST.options("starting")}
        return replace(self, options=options, start=_EARLIEST)


@dataclass(frozen=True)
class BoundedKafkaInput(BoundedFormatInput):
    """The records of topics between two positions, as they are when the job starts."""

    start: KafkaPosition = _EARLIEST
    end: KafkaPosition = _LATEST
    group: str | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The records."""
        asked = self.start.is_asked_of_broker or self.end.is_asked_of_broker
        if not asked and context_of(spark) is None:
            return self._read(spark)
        with _topics(self, spark) as topics:
            starts, ends = bounds_of(self.start, self.end, topics)
        offsets = {"startingOffsets": as_json(starts), "endingOffsets": as_json(ends)}
        said = [name for name in self.options if "Timestamp" in name]
        options = {name: value for name, value in self.options.items() if name not in said}
        return replace(self, options={**options, **offsets})._read(spark)

    def _read(self, spark: SparkSession) -> DataFrame:
        return super().frame(spark)


@contextmanager
def _topics(given: KafkaInput | BoundedKafkaInput, spark: SparkSession) -> Iterator[KafkaTopics]:
    if context_of(spark) is None:
        raise UnsupportedOperationError(
            "offsets of Kafka's partitions need a classic session, which asks the broker for its "
            "partitions; with Spark Connect take earliest(), latest() or timestamp(...)"
        )
    topics = KafkaTopics.of(spark, given.options, given.group)
    if topics is None:
        raise JobExecutionError(module_needed("kafka"))
    try:
        yield topics
    finally:
        topics.close()
