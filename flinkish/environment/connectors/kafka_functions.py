"""Flink's older Kafka sources and sinks, as other interfaces of the present ones.

``FlinkKafkaConsumer`` and ``FlinkKafkaProducer`` set up a `KafkaSource` and a `KafkaSink`, with
different defaults: a consumer begins at the offsets that its group has committed, else where the
property ``auto.offset.reset`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import TypeInformation
from flinkish.common.watermark_strategy import WatermarkStrategy
from flinkish.environment.connectors.base import DeliveryGuarantee, Sink, Source
from flinkish.environment.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
)
from flinkish.environment.connectors.kafka_sinks import KafkaRecordSerializationSchema, KafkaSink
from flinkish.environment.nodes import Act

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["FlinkKafkaConsumer", "FlinkKafkaProducer", "Semantic"]

_BROKERS = "bootstrap.servers"
_GROUP = "group.id"
_RESET = "auto.offset.reset"
# Properties of consumers that Spark sets itself; the format reads the bytes.
_OURS = (_BROKERS, _GROUP, _RESET, "key.deserializer", "value.deserializer", "enable.auto.commit")
_OUR_PRODUCERS = (_BROKERS, "key.serializer", "value.serializer")


class FlinkKafkaConsumer(Source):
    """The values of the records of topics, for ``add_source``; `KafkaSource` under another name.

    Args:
        topics: a topic, or a list of them.
        deserialization_schema: the format of values.
        properties: those of Kafka's consumer; ``bootstrap.servers`` is needed.

    Raises:
        IllegalArgumentError: no topics or no brokers.
        ArgumentTypeError: the format is not a DeserializationSchema.
    """

    knows_times = True

    def __init__(
        self,
        topics: str | Sequence[str],
        deserialization_schema: DeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        if not self._topics or _BROKERS not in properties:
            raise IllegalArgumentError(
                f"a FlinkKafkaConsumer needs a topic and the property {_BROKERS!r}"
            )
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ArgumentTypeError(
                "FlinkKafkaConsumer takes a DeserializationSchema, such as SimpleStringSchema(), "
                f"not {deserialization_schema!r}"
            )
        self._schema = deserialization_schema
        self._properties = dict(properties)
        self._starting: KafkaOffsetsInitializer = self._reset()
        self.watermark_strategy: WatermarkStrategy | None = None

    def _reset(self) -> KafkaOffsetsInitializer:
        reset = str(self._properties.get(_RESET, "latest"))
        if reset.upper() not in KafkaOffsetResetStrategy.__members__:
            raise IllegalArgumentError(
                f"the property {_RESET!r} is earliest, latest or none, not {reset!r}"
            )
        if _GROUP in self._properties:
            strategy = KafkaOffsetResetStrategy[reset.upper()]
            return KafkaOffsetsInitializer.committed_offsets(strategy)
        if reset == "none":
            raise IllegalArgumentError(
                f"a consumer whose {_RESET!r} is none begins at the offsets of a group: set the "
                f"property {_GROUP!r}"
            )
        return getattr(KafkaOffsetsInitializer, reset)()  # type: ignore[no-any-return]

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Begin at the first record of each partition."""
        self._starting = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Begin after the last record of each partition."""
        self._starting = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Begin at the first record of this time (ms) or a later one."""
        self._starting = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Begin at the group's committed offsets, else where ``auto.offset.reset`` says."""
        self._starting = self._reset()
        return self

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Kept without effect: Spark keeps offsets in its checkpoint and commits none to Kafka."""
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Kept without effect: Spark always reads only the topics that are named."""
        return self

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy
    ) -> FlinkKafkaConsumer:
        """Assign event time and watermarks by this strategy, separately in each partition."""
        self.watermark_strategy = watermark_strategy
        return self

    def get_produced_type(self) -> TypeInformation:
        """The type of the format's elements."""
        return self._schema.get_produced_type()

    def input(self) -> Input:
        """The rows that a job reads."""
        builder = (
            KafkaSource.builder()
            .set_bootstrap_servers(self._properties[_BROKERS])
            .set_topics(*self._topics)
            .set_starting_offsets(self._starting)
            .set_value_only_deserializer(self._schema)
        )
        if _GROUP in self._properties:
            builder.set_group_id(self._properties[_GROUP])
        builder.set_properties(_without(self._properties, _OURS))
        return builder.build().input()


class Semantic(Enum):
    """Whether a FlinkKafkaProducer may lose or repeat elements if tasks or jobs fail."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducer(Sink):
    """Writes elements as records of a topic, for ``add_sink``; `KafkaSink` under another name.

    Args:
        topic: the topic.
        serialization_schema: the format of values.
        producer_config: properties of Kafka's producer; ``bootstrap.servers`` is needed.
        kafka_producer_pool_size: kept; Spark has a producer for each task.
        semantic: at least once, or none.

    Raises:
        IllegalArgumentError: no brokers.
        UnsupportedOperationError: ``Semantic.EXACTLY_ONCE``.
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if _BROKERS not in producer_config:
            raise IllegalArgumentError(f"a FlinkKafkaProducer needs the property {_BROKERS!r}")
        serializer = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(serialization_schema)
            .build()
        )
        builder = (
            KafkaSink.builder()
            .set_bootstrap_servers(producer_config[_BROKERS])
            .set_record_serializer(serializer)
            .set_delivery_guarantee(DeliveryGuarantee[semantic.name])
        )
        for key, value in _without(producer_config, _OUR_PRODUCERS).items():
            builder.set_property(key, value)
        self._sink = builder.build()

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducer:
        """Accept only False: a job never goes on after a record that could not be written.

        IllegalArgumentError for True: a job fails rather than lose records.
        """
        if log_failures_only:
            raise IllegalArgumentError(
                "set_log_failures_only(True) would lose records without an error: Spark's "
                "connector fails the micro-batch, which runs again"
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducer:
        """Kept without effect: Spark always flushes before a micro-batch commits."""
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducer:
        """Accept only False: Spark's connector leaves the time of a record to Kafka.

        IllegalArgumentError for True.
        """
        if write_timestamp_to_kafka:
            raise IllegalArgumentError(
                "Spark's Kafka connector gives records the time of their writing: write the event "
                "time as a field of the value"
            )
        return self

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Kept without effect: there are no transactions."""
        return self

    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that writes the records of a round."""
        return self._sink.writer(kind)


def _without(properties: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {key: str(value) for key, value in properties.items() if key not in names}
