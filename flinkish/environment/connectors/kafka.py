"""Sources of Kafka by Spark's own connector, under PyFlink's names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.serialization import DeserializationSchema
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.connectors.base import Source

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = [
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]


@dataclass(frozen=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Where Kafka begins if it has no offset; Spark begins where it is told, or fails."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


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

    Elements have the timestamps of their records, as in Flink, unless a strategy says others.
    """

    knows_times = True

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
        return made("kafka", self._options, selections, kind, partition=partition, time="timestamp")


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

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Refused: Spark's connector reads up to offsets and ends, or goes on."""
        raise UnsupportedOperationError(
            "Spark's connector cannot wait at offsets: take set_bounded(...) with them, whose job "
            "ends there, or leave them out"
        )

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
