"""Where reading of topics begins and ends: ``starts.py SETTINGS BASE``.

Reads the topics that the test has filled, whose times begin at BASE (ms), in each way, and prints
the values by case as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from flinkish.common import Configuration, SimpleStringSchema, WatermarkStrategy
from flinkish.common.errors import IllegalStateError
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)

FIRST, SECOND = (KafkaTopicPartition("starts", number) for number in range(2))
EARLIEST, LATEST = KafkaOffsetResetStrategy.EARLIEST, KafkaOffsetResetStrategy.LATEST
AT = KafkaOffsetsInitializer


class Program:
    """The topics, read in several ways."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._broker = settings["broker"]
        found = {"spark.jars": settings["jars"], "spark.master": "local[2]"}
        self.env = StreamExecutionEnvironment.get_execution_environment(Configuration(found))

    def stream(
        self, start: AT, end: AT | None = None, topic: str = "starts", **read: Any
    ) -> DataStream:
        builder = KafkaSource.builder().set_bootstrap_servers(self._broker)
        if "pattern" in read:
            builder.set_topic_pattern(read["pattern"])
        elif "partitions" in read:
            builder.set_partitions(read["partitions"])
        else:
            builder.set_topics(topic)
        builder.set_group_id(read.get("group", "nobody")).set_starting_offsets(start)
        if end is not None:
            builder.set_bounded(end)
        source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
        return self.env.from_source(source, WatermarkStrategy.no_watermarks(), topic)

    def bounded(self, start: AT, end: AT | None = None, **read: Any) -> list[str]:
        return sorted(self.stream(start, end or AT.latest(), **read).execute_and_collect())


def main(settings: dict[str, str], base: int) -> None:
    read = Program(settings)
    found: dict[str, Any] = {
        "earliest": read.bounded(AT.earliest()),
        "time": read.bounded(AT.timestamp(base + 4000)),
        "all times": read.bounded(AT.timestamp(0)),
        "future": read.bounded(AT.timestamp(base + 10**9)),
        "until a time": read.bounded(AT.earliest(), AT.timestamp(base + 4000)),
        "empty": read.bounded(AT.timestamp(base), topic="empty"),
        "some offsets": read.bounded(AT.offsets({FIRST: 3})),
        "deleted": read.bounded(AT.offsets({FIRST: 0}, LATEST)),
        "committed": read.bounded(AT.committed_offsets(EARLIEST), group="g"),
        "pattern": read.bounded(AT.offsets({SECOND: 1}, LATEST), pattern="starts|__consumer_.*"),
        "partitions": read.bounded(AT.offsets({SECOND: 1}), partitions={SECOND}),
        "until offsets": read.bounded(AT.earliest(), AT.offsets({FIRST: 4})),
        "until before": read.bounded(AT.offsets({FIRST: 5}), AT.offsets({FIRST: 4}, LATEST)),
    }
    try:
        read.bounded(AT.committed_offsets(), group="g")
    except IllegalStateError as error:
        found["none"] = str(error)
    both = read.stream(AT.offsets({FIRST: 5})).union(
        read.stream(AT.timestamp(base + 10**9), topic="empty")
    )
    found["unbounded"] = sorted(both.execute_and_collect(limit=4))
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2]))
