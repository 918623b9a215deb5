"""Where reading of Kafka begins and ends, as Flink's OffsetsInitializers have it; no broker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from flinkish.common import SimpleStringSchema
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
)
from flinkish.common.kafka_offsets import KafkaPosition, Partition, as_json, bounds_of
from flinkish.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from flinkish.spark.jobs.modules import coordinates_of, missing_module

EARLIEST, LATEST, NONE = (
    KafkaOffsetResetStrategy.EARLIEST,
    KafkaOffsetResetStrategy.LATEST,
    KafkaOffsetResetStrategy.NONE,
)


class Topics:
    """Partitions 0 to 3 of a topic: 1 has lost its first five records, 2 is empty, 3 has time."""

    def __init__(
        self, group: str | None = None, committed: Mapping[int, int] | None = None
    ) -> None:
        self.group = group
        self._committed = committed or {}

    def beginnings(self) -> dict[Partition, int]:
        return {("t", number): offset for number, offset in enumerate((0, 5, 0, 0))}

    def ends(self) -> dict[Partition, int]:
        return {("t", number): offset for number, offset in enumerate((10, 9, 0, 7))}

    def committed(self) -> dict[Partition, int]:
        return {("t", number): offset for number, offset in self._committed.items()}

    def since(self, time: int) -> dict[Partition, int]:
        return {("t", 3): 4} if time <= 100 else {}


def at(*offsets: int) -> dict[Partition, int]:
    return {("t", number): offset for number, offset in enumerate(offsets)}


def named(offsets: Mapping[int, int], strategy: Any = EARLIEST) -> KafkaOffsetsInitializer:
    by_partition = {KafkaTopicPartition("t", number): n for number, n in offsets.items()}
    return KafkaOffsetsInitializer.offsets(by_partition, strategy)


INITIALIZERS = KafkaOffsetsInitializer
CASES: dict[str, tuple[KafkaOffsetsInitializer, Topics, dict[Partition, int]]] = {
    "earliest": (INITIALIZERS.earliest(), Topics(), at(0, 5, 0, 0)),
    "latest": (INITIALIZERS.latest(), Topics(), at(10, 9, 0, 7)),
    "time: a partition without such a record begins at its end": (
        INITIALIZERS.timestamp(100),
        Topics(),
        at(10, 9, 0, 4),
    ),
    "time in the future": (INITIALIZERS.timestamp(101), Topics(), at(10, 9, 0, 7)),
    "offsets of all": (named({0: 3, 1: 6, 2: 0, 3: 7}), Topics(), at(3, 6, 0, 7)),
    "others are reset to the first": (named({0: 3}), Topics(), at(3, 5, 0, 0)),
    "others are reset to the last": (named({0: 3}, LATEST), Topics(), at(3, 9, 0, 7)),
    "others take what the group has committed": (
        named({0: 3}, LATEST),
        Topics("g", {0: 1, 3: 2}),
        at(3, 9, 0, 2),
    ),
    "no group, no commits": (named({0: 3}), Topics(None, {3: 2}), at(3, 5, 0, 0)),
    "partitions that are not read": (named({0: 3, 9: 1}), Topics(), at(3, 5, 0, 0)),
    "an offset that was deleted": (named({1: 2}, LATEST), Topics(), at(10, 9, 0, 7)),
    "an offset beyond the end": (named({0: 11}), Topics(), at(0, 5, 0, 0)),
    "offsets that stand for places": (
        named({0: -1, 1: -2, 3: -3}, LATEST),
        Topics("g", {3: 6}),
        at(10, 5, 0, 6),
    ),
    "committed": (
        INITIALIZERS.committed_offsets(),
        Topics("g", {0: 1, 1: 7, 2: 0, 3: 7}),
        at(1, 7, 0, 7),
    ),
    "committed, else the last": (
        INITIALIZERS.committed_offsets(LATEST),
        Topics("g", {0: 1, 1: 2}),
        at(1, 9, 0, 7),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_where_partitions_begin(case: str) -> None:
    initializer, topics, expected = CASES[case]
    assert initializer.position.resolve(topics) == expected


@pytest.mark.parametrize(
    ("initializer", "topics", "words"),
    [
        (named({0: 3}, NONE), Topics("g"), "group 'g' has committed no offset in partition 1"),
        (
            named({0: 3, 1: 2, 2: 0, 3: 0}, NONE),
            Topics(),
            "partition 1 of the topic 't' does not have the offset 2, but those from 5 to 9",
        ),
        (INITIALIZERS.committed_offsets(), Topics("g", {0: 1}), "reset strategy is NONE"),
    ],
)
def test_what_none_refuses(
    initializer: KafkaOffsetsInitializer, topics: Topics, words: str
) -> None:
    with pytest.raises(IllegalStateError, match=words):
        initializer.position.resolve(topics)


def test_bounds() -> None:
    """A partition whose end is before its start has no records to read."""
    start, end = named({0: 3, 3: 6}).position, named({0: 8, 3: 2}, LATEST).position
    assert bounds_of(start, end, Topics()) == (at(3, 5, 0, 6), at(8, 9, 0, 6))
    with pytest.raises(IllegalStateError, match=r"offset 11 of partition 0 .* records up to 10"):
        bounds_of(start, named({0: 11}).position, Topics())


def test_spark_is_told_what_it_can_say() -> None:
    time = KafkaOffsetsInitializer.timestamp(5).position
    assert time.options("starting") == {
        "startingTimestamp": "5",
        "startingOffsetsByTimestampStrategy": "latest",
    }
    assert time.options("ending") == {"endingTimestamp": "5"}
    assert KafkaPosition("latest").options("ending") == {"endingOffsets": "latest"}
    assert not time.is_asked_of_broker
    assert named({0: 1}).position.is_asked_of_broker
    assert json.loads(as_json({("b", 10): 1, ("b", 2): 0, ("a", 0): 3})) == {
        "a": {"0": 3},
        "b": {"10": 1, "2": 0},
    }


def builder() -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers("localhost:1")
    return made.set_value_only_deserializer(SimpleStringSchema())


def test_what_a_builder_refuses() -> None:
    made = builder().set_topics("t")
    with pytest.raises(IllegalArgumentError, match="set_topic_pattern after set_topics"):
        made.set_topic_pattern("t.*")
    for initializer in (INITIALIZERS.committed_offsets(), named({0: -3})):
        with pytest.raises(IllegalArgumentError, match="set_group_id"):
            made.set_starting_offsets(initializer).build()
    made.set_group_id("g").build()
    with pytest.raises(IllegalArgumentError, match="before the first record"):
        made.set_bounded(INITIALIZERS.earliest()).build()
    wrong: Any = "earliest"
    with pytest.raises(ArgumentTypeError, match="such as KafkaOffsetsInitializer"):
        made.set_starting_offsets(wrong)
    with pytest.raises(ArgumentTypeError, match="KafkaOffsetResetStrategy"):
        INITIALIZERS.committed_offsets(wrong)
    with pytest.raises(ArgumentTypeError, match="KafkaTopicPartition"):
        INITIALIZERS.offsets({wrong: 1})


def test_properties_that_spark_would_refuse() -> None:
    """Flink's KafkaSource overrides some, and takes some that are not Kafka's."""
    made = (
        builder()
        .set_topics("t")
        .set_properties(
            {
                "group.id": "g",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "true",
                "key.deserializer": "org.example.Keys",
                "partition.discovery.interval.ms": "1000",
                "max.poll.records": "7",
            }
        )
    )
    options: Any = made.set_starting_offsets(INITIALIZERS.committed_offsets()).build().input()
    assert options.options == {
        "kafka.bootstrap.servers": "localhost:1",
        "subscribe": "t",
        "groupIdPrefix": "g",
        "failOnDataLoss": "false",
        "kafka.max.poll.records": "7",
    }
    assert options.going_on().start == KafkaPosition("earliest")


@pytest.mark.parametrize(
    ("spark", "release"),
    [("4.1.4", "4.1.2"), ("4.2.0", "4.2.0"), ("4.3.0", "4.2.0"), ("4.0.1", "4.1.2")],
)
def test_coordinates_that_maven_central_has(spark: str, release: str) -> None:
    found = coordinates_of("kafka", spark)
    assert found == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{release}"


def test_a_missing_module_is_told_in_one_line() -> None:
    said = missing_module("[DATA_SOURCE_NOT_FOUND] Failed to find data source: kafka. Make sure")
    assert said is not None
    assert "\n" not in said
    assert coordinates_of("kafka") in said
    assert "spark-avro_2.13" in (missing_module("Failed to find data source: avro.") or "")
    assert missing_module("some other error") is None
