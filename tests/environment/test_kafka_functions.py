"""Kafka's connectors of Flink's first generation: the settings of the second in other words."""

from typing import Any

import pytest

from flinkish.common import SimpleStringSchema, WatermarkStrategy
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.kafka_offsets import KafkaPosition
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaOffsetsInitializer,
    KafkaSource,
    Semantic,
)

PROPERTIES = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "shop",
    "max.poll.records": "10",
    "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
}


def consumer(**properties: str) -> FlinkKafkaConsumer:
    return FlinkKafkaConsumer("orders", SimpleStringSchema(), PROPERTIES | properties)


def source(starting: KafkaOffsetsInitializer, *topics: str) -> Any:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:9092")
        .set_topics(*topics)
        .set_group_id("shop")
        .set_starting_offsets(starting)
        .set_property("max.poll.records", "10")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
        .input()
    )


def same(first: Any, second: Any) -> bool:
    return bool(vars(first)["options"] == vars(second)["options"])


@pytest.mark.parametrize(
    ("function", "starting"),
    [
        (consumer(), KafkaOffsetsInitializer.latest()),
        (consumer(**{"auto.offset.reset": "earliest"}), KafkaOffsetsInitializer.earliest()),
        (consumer().set_start_from_earliest(), KafkaOffsetsInitializer.earliest()),
        (consumer().set_start_from_latest(), KafkaOffsetsInitializer.latest()),
        (consumer().set_start_from_timestamp(7), KafkaOffsetsInitializer.timestamp(7)),
        (
            consumer().set_start_from_earliest().set_start_from_group_offsets(),
            KafkaOffsetsInitializer.latest(),
        ),
    ],
)
def test_a_consumer_reads_what_a_source_reads(
    function: FlinkKafkaConsumer, starting: KafkaOffsetsInitializer
) -> None:
    assert same(function.input(), source(starting, "orders"))


def test_a_consumer_begins_where_its_group_was() -> None:
    assert vars(consumer().input())["start"] == KafkaPosition("latest", committed=True)
    alone = {key: value for key, value in PROPERTIES.items() if key != "group.id"}
    found: Any = FlinkKafkaConsumer("t", SimpleStringSchema(), alone).input()
    assert found.start == KafkaPosition("latest")
    with pytest.raises(IllegalArgumentError, match=r"set the property 'group\.id'"):
        FlinkKafkaConsumer("t", SimpleStringSchema(), alone | {"auto.offset.reset": "none"})


def test_a_consumer_reads_several_topics() -> None:
    both = FlinkKafkaConsumer(["a", "b"], SimpleStringSchema(), PROPERTIES)
    assert same(both.input(), source(KafkaOffsetsInitializer.latest(), "a", "b"))


def test_add_source_takes_a_consumer_with_its_strategy() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = env.add_source(consumer().assign_timestamps_and_watermarks(strategy), "orders")
    assert timed.get_type() == SimpleStringSchema().get_produced_type()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([], SimpleStringSchema(), PROPERTIES), IllegalArgumentError, "needs a topic"),
        (("orders", SimpleStringSchema(), {}), IllegalArgumentError, "bootstrap.servers"),
        (("orders", str, PROPERTIES), ArgumentTypeError, "DeserializationSchema"),
        (
            ("orders", SimpleStringSchema(), PROPERTIES | {"auto.offset.reset": "first"}),
            IllegalArgumentError,
            "earliest, latest or none",
        ),
    ],
)
def test_a_consumer_says_what_it_needs(
    arguments: tuple[Any, ...], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        FlinkKafkaConsumer(*arguments)


def test_a_producer_writes_as_a_sink_does() -> None:
    producer = FlinkKafkaProducer(
        "out", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092", "acks": "all"}
    )
    assert producer._sink._options == {
        "kafka.bootstrap.servers": "localhost:9092",
        "kafka.acks": "all",
    }
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a"]).add_sink(producer)


def test_a_producer_refuses_what_would_lose_records_or_needs_transactions() -> None:
    brokers = {"bootstrap.servers": "localhost:9092"}
    with pytest.raises(UnsupportedOperationError, match="no transactions"):
        FlinkKafkaProducer("out", SimpleStringSchema(), brokers, semantic=Semantic.EXACTLY_ONCE)
    producer = FlinkKafkaProducer("out", SimpleStringSchema(), brokers)
    with pytest.raises(IllegalArgumentError, match="lose records"):
        producer.set_log_failures_only(True)
    with pytest.raises(IllegalArgumentError, match="time of their writing"):
        producer.set_write_timestamp_to_kafka(True)
