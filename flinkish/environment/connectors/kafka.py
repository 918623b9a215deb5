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
from flinkish.common.kafka_offsets import KafkaPosition, OffsetReset
from flinkish.common.row_formats.decoder import Records
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

# Where a record is from, for errors.
_ORIGIN = ("topic", "partition", "offset")


_SUBSCRIPTIONS = {
    "subscribe": "set_topics",
    "subscribePattern": "set_topic_pattern",
    "assign": "set_partitions",
}
# Properties that Flink's KafkaSource overrides, or that belong to it and not to Kafka.
_OVERRIDDEN = frozenset(
    (
        *("key.deserializer", "value.deserializer", "enable.auto.commit", "client.id.prefix"),
        *("partition.discovery.interval.ms", "register.consumer.metrics"),
        "commit.offsets.on.checkpoint",
    )
)


@dataclass(frozen=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Where reading begins in a partition whose offset is unknown or no longer exists."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaOffsetsInitializer:
    """Where reading begins or ends, if there is no checkpoint to go on from.

    Partitions that a topic gets while a job runs are read from their first record on.
    """

    def __init__(self, position: KafkaPosition) -> None:
        self.position = position

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """At the first record that each partition has."""
        return KafkaOffsetsInitializer(KafkaPosition("earliest"))

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """After the last record that each partition has now."""
        return KafkaOffsetsInitializer(KafkaPosition("latest"))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """At the first record of this time (ms) or a later one; at the end of other partitions."""
        return KafkaOffsetsInitializer(KafkaPosition("latest", time=int(timestamp)))

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """At the given offset of each partition.

        Partitions that are not named, or do not have the offset (any more), begin at the offset
        that the group has committed, if any, else where the strategy says.
        """
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition) or type(offset) is not int:
                raise ArgumentTypeError(
                    "offsets are ints by KafkaTopicPartition(topic, number), not "
                    f"{partition!r}: {offset!r}"
                )
        reset = _reset_of(offset_reset_strategy)
        by_partition = {(one.topic, one.partition): offset for one, offset in offsets.items()}
        return KafkaOffsetsInitializer(KafkaPosition(reset, offsets=by_partition, committed=True))

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """At the offset that the group has committed, else where the strategy says.

        Spark itself commits no offsets to Kafka: a job that goes on from a checkpoint takes its
        offsets from there, and any other job begins at those that the group's consumers committed.
        """
        reset = _reset_of(offset_reset_strategy)
        return KafkaOffsetsInitializer(KafkaPosition(reset, committed=True))


def _reset_of(strategy: object) -> OffsetReset:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise ArgumentTypeError(
            f"the reset strategy is a KafkaOffsetResetStrategy, such as EARLIEST, not {strategy!r}"
        )
    if strategy is KafkaOffsetResetStrategy.NONE:
        return "none"
    return "earliest" if strategy is KafkaOffsetResetStrategy.EARLIEST else "latest"


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
        start: KafkaPosition,
        end: KafkaPosition | None = None,
        group: str | None = None,
    ) -> None:
        self._options = dict(options)
        self._schema = schema
        self._start, self._end = start, end
        self._group = group

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begin with no settings."""
        return KafkaSourceBuilder()

    def get_produced_type(self) -> TypeInformation:
        """The type of the format's elements."""
        return self._schema.get_produced_type()

    def input(self) -> Input:
        """Records from Spark's connector."""
        from flinkish.spark.jobs.kafka_input import BoundedKafkaInput, KafkaInput

        options = self._options | self._start.options("starting")
        if self._end is not None:
            options |= self._end.options("ending")
        decoder = self._schema.decoder()
        rows: dict[str, Any] = {
            "format": "kafka",
            "options": options,
            "selections": [] if decoder is not None else self._schema.selections("value"),
            "records": None if decoder is None else Records(decoder, "value", _ORIGIN),
            "kind": self._schema.get_produced_type(),
            "partition": "concat(topic, ' ', partition)",
            "time": "timestamp",
            "start": self._start,
            "group": self._group,
        }
        if self._end is None:
            return KafkaInput(**rows)
        return BoundedKafkaInput(**rows, end=self._end)


class KafkaSourceBuilder:
    """The settings of a `KafkaSource`."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._schema: DeserializationSchema | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._ending: KafkaOffsetsInitializer | None = None
        self._group: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the brokers: ``host:port``, several with commas."""
        return self._set("kafka.bootstrap.servers", bootstrap_servers)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Set the topics."""
        return self._subscribe("subscribe", ",".join(topics))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Set a regular expression (Java's) for the names of topics."""
        return self._subscribe("subscribePattern", topic_pattern)

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Set the partitions that are read."""
        by_topic: dict[str, list[int]] = {}
        for one in partitions:
            by_topic.setdefault(one.topic, []).append(one.partition)
        return self._subscribe("assign", json.dumps(by_topic))

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the group whose committed offsets `KafkaOffsetsInitializer` reads.

        Spark's consumers have groups of their own, whose names begin with this name.
        """
        self._group = group_id
        return self._set("groupIdPrefix", group_id)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the prefix of the names of Spark's consumer groups, unless a group is set."""
        return self if self._group is not None else self._set("groupIdPrefix", prefix)

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where reading begins, `earliest` by default."""
        self._starting = _checked(starting_offsets_initializer)
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to these offsets, as they are when the job starts, and end."""
        self._ending = _checked(stopping_offsets_initializer)
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
        """Set a property of Kafka's consumers.

        ``group.id`` has the same effect as `set_group_id`.  If Kafka has deleted records that a job
        has not read, the job fails, or, with ``auto.offset.reset``, goes on at the first offset
        that is left.  Properties that Flink's KafkaSource overrides or defines change nothing.
        """
        if key == "group.id":
            return self.set_group_id(value)
        if key == "auto.offset.reset":
            return self._set("failOnDataLoss", str(value not in ("earliest", "latest")).lower())
        return self if key in _OVERRIDDEN else self._set(f"kafka.{key}", value)

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Set properties of Kafka's consumers."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        """Make the source.

        IllegalArgumentError if brokers, topics or format are missing, if committed offsets are
        asked for without a group, and for an end before the first record.
        """
        needed = {
            "set_bootstrap_servers": "kafka.bootstrap.servers" in self._options,
            "set_topics": bool({"subscribe", "subscribePattern", "assign"} & set(self._options)),
            "set_value_only_deserializer": self._schema is not None,
        }
        missing = [name for name, there in needed.items() if not there]
        if missing:
            raise IllegalArgumentError(f"a KafkaSource needs {' and '.join(missing)}")
        assert self._schema is not None
        start = self._starting.position
        end = None if self._ending is None else self._ending.position
        for position in (start, end):
            if position is not None and position.needs_group and self._group is None:
                raise IllegalArgumentError(
                    "committed offsets are those of a consumer group: call set_group_id(...), or "
                    "begin at earliest(), latest() or timestamp(...)"
                )
        if end == KafkaPosition("earliest"):
            raise IllegalArgumentError(
                "set_bounded(earliest()) ends before the first record: give latest(), "
                "timestamp(...) or offsets(...)"
            )
        return KafkaSource(self._options, self._schema, start, end, self._group)

    def _subscribe(self, option: str, value: str) -> KafkaSourceBuilder:
        """Set the topics, once; IllegalArgumentError if they were set already, as in Flink."""
        for other, method in _SUBSCRIPTIONS.items():
            if other in self._options:
                raise IllegalArgumentError(
                    f"{_SUBSCRIPTIONS[option]} after {method}: a KafkaSource reads topics, those "
                    "of a pattern, or partitions; call one of the three, once"
                )
        return self._set(option, value)

    def _set(self, option: str, value: str) -> KafkaSourceBuilder:
        self._options[option] = str(value)
        return self


def _checked(initializer: object) -> KafkaOffsetsInitializer:
    if not isinstance(initializer, KafkaOffsetsInitializer):
        raise ArgumentTypeError(
            "the start or end of reading is a KafkaOffsetsInitializer, such as "
            f"KafkaOffsetsInitializer.earliest(), not {initializer!r}"
        )
    return initializer
