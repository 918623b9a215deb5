"""Kafka by Spark's own connector, under PyFlink's names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.connectors.base import DeliveryGuarantee, Sink, Source
from flinkish.environment.nodes import Act

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = [
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaSink",
    "KafkaSource",
    "KafkaTopicPartition",
]


@dataclass(frozen=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int


class KafkaOffsetsInitializer:
    """Where reading begins or ends, if no checkpoint says it."""

    def __init__(self, value: str, *, is_time: bool = False) -> None:
        self.value = value
        self.is_time = is_time

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """At the first record that the topic has."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """After the last record that the topic has now."""
        return KafkaOffsetsInitializer("latest")

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """At the first record of this time (ms) or a later one."""
        return KafkaOffsetsInitializer(str(int(timestamp)), is_time=True)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int], offset_reset_strategy: Any = None
    ) -> KafkaOffsetsInitializer:
        """At an offset for each partition, which must be all of them."""
        by_topic: dict[str, dict[str, int]] = {}
        for one, offset in offsets.items():
            by_topic.setdefault(one.topic, {})[str(one.partition)] = offset
        return KafkaOffsetsInitializer(json.dumps(by_topic))

    @staticmethod
    def committed_offsets(offset_reset_strategy: Any = None) -> KafkaOffsetsInitializer:
        """Refused: Spark keeps offsets in its checkpoint, and commits none to Kafka."""
        raise UnsupportedOperationError(
            "Spark commits no offsets to Kafka, so there are none to begin at: a job goes on from "
            "its checkpoint (execution.savepoint.path); else begin at earliest() or timestamp(...)"
        )


class KafkaSource(Source):
    """The values of the records of topics; `builder` makes it.

    The session needs Spark's Kafka connector: ``spark.jars.packages`` in the configuration, or its
    jars by ``env.add_jars``.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        schema: DeserializationSchema,
        *,
        bounded: bool,
    ) -> None:
        self._options = dict(options)
        self._schema = schema
        self._bounded = bounded

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begin with no settings."""
        return KafkaSourceBuilder()

    def get_produced_type(self) -> TypeInformation:
        """The type of the format's elements."""
        return self._schema.get_produced_type()

    def input(self) -> Input:
        """Records from Spark's connector."""
        from flinkish.spark.jobs.inputs import BoundedFormatInput, FormatInput

        made = BoundedFormatInput if self._bounded else FormatInput
        selections = self._schema.selections("value")
        kind = self._schema.get_produced_type()
        partition = "concat(topic, ' ', partition)"
        return made("kafka", self._options, selections, kind, partition)


class KafkaSourceBuilder:
    """The settings of a `KafkaSource`."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._schema: DeserializationSchema | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._ending: KafkaOffsetsInitializer | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the brokers: ``host:port``, several with commas."""
        return self._set("kafka.bootstrap.servers", bootstrap_servers)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Set the topics."""
        return self._set("subscribe", ",".join(topics))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Set a regular expression (Java's) for the names of topics."""
        return self._set("subscribePattern", topic_pattern)

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Set the partitions that are read."""
        by_topic: dict[str, list[int]] = {}
        for one in partitions:
            by_topic.setdefault(one.topic, []).append(one.partition)
        return self._set("assign", json.dumps(by_topic))

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the beginning of the names of Spark's consumer groups."""
        return self._set("groupIdPrefix", group_id)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the beginning of the names of Spark's consumer groups."""
        return self.set_group_id(prefix)

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where reading begins, `earliest` by default."""
        self._starting = starting_offsets_initializer
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to these offsets, and end."""
        self._ending = stopping_offsets_initializer
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Set the format of values."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ArgumentTypeError(
                "set_value_only_deserializer takes a DeserializationSchema, such as "
                f"SimpleStringSchema(), not {deserialization_schema!r}"
            )
        self._schema = deserialization_schema
        return self

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of Kafka's consumers."""
        return self._set(f"kafka.{key}", value)

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Set properties of Kafka's consumers."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        """Make the source; IllegalArgumentError if brokers, topics or format are missing."""
        needed = {
            "set_bootstrap_servers": "kafka.bootstrap.servers" in self._options,
            "set_topics": bool({"subscribe", "subscribePattern", "assign"} & set(self._options)),
            "set_value_only_deserializer": self._schema is not None,
        }
        missing = [name for name, there in needed.items() if not there]
        if missing:
            raise IllegalArgumentError(f"a KafkaSource needs {' and '.join(missing)}")
        assert self._schema is not None
        options = dict(self._options)
        _put(options, "starting", self._starting)
        if self._ending is not None:
            _put(options, "ending", self._ending)
        return KafkaSource(options, self._schema, bounded=self._ending is not None)

    def _set(self, option: str, value: str) -> KafkaSourceBuilder:
        self._options[option] = str(value)
        return self


def _put(options: dict[str, str], which: str, offsets: KafkaOffsetsInitializer) -> None:
    options[f"{which}{'Timestamp' if offsets.is_time else 'Offsets'}"] = offsets.value


class KafkaRecordSerializationSchema:
    """How elements become records of a topic; `builder` makes it."""

    def __init__(
        self, topic: str, value: SerializationSchema, key: SerializationSchema | None
    ) -> None:
        self.topic = topic
        self.value = value
        self.key = key

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Begin with no settings."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """The settings of a `KafkaRecordSerializationSchema`."""

    def __init__(self) -> None:
        self._topic: str | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Set the topic."""
        self._topic = topic
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the format of values."""
        self._value = value_serialization_schema
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the format of keys, of the whole element."""
        self._key = key_serialization_schema
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Make it; IllegalArgumentError if topic or format are missing."""
        if self._topic is None or self._value is None:
            raise IllegalArgumentError(
                "records of Kafka need set_topic and set_value_serialization_schema"
            )
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key)


class KafkaSink(Sink):
    """Writes elements as records of a topic; `builder` makes it.

    Spark's connector writes at least once: a task that fails, and a micro-batch that runs again,
    writes its records again.
    """

    def __init__(
        self, options: Mapping[str, str], serializer: KafkaRecordSerializationSchema
    ) -> None:
        self._options = dict(options)
        self._serializer = serializer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begin with no settings."""
        return KafkaSinkBuilder()

    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that writes the records of a round."""
        options, serializer = self._options, self._serializer

        def act(this: Any, stream: Any) -> None:
            frame = this.columns_of(stream)
            columns = [f"{serializer.value.expression(frame.columns)} AS value"]
            if serializer.key is not None:
                columns.append(f"{serializer.key.expression(frame.columns)} AS key")
            writer = frame.selectExpr(*columns).write.format("kafka")
            writer.options(**options).option("topic", serializer.topic).save()

        return act


class KafkaSinkBuilder:
    """The settings of a `KafkaSink`."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the brokers: ``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set the topic and the format of records."""
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Ask for a guarantee; UnsupportedOperationError for EXACTLY_ONCE."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise UnsupportedOperationError(
                "Spark's Kafka connector has no transactions, so it writes at least once: take "
                "AT_LEAST_ONCE, and let readers drop records that they have seen, by a key"
            )
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Take the names of transactions, of which there are none."""
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of Kafka's producers."""
        self._options[f"kafka.{key}"] = str(value)
        return self

    def build(self) -> KafkaSink:
        """Make the sink; IllegalArgumentError if brokers or format are missing."""
        if self._serializer is None or "kafka.bootstrap.servers" not in self._options:
            raise IllegalArgumentError(
                "a KafkaSink needs set_bootstrap_servers and set_record_serializer"
            )
        return KafkaSink(self._options, self._serializer)
