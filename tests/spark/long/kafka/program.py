"""A program over Kafka: counts and sums of keys, to Kafka and to files.

    program.py SETTINGS COMMAND [ARGUMENT ...]

SETTINGS is a file of JSON with the broker, the jars and the folder.  ``produce FIRST LAST`` writes
these numbers; ``run`` counts until it is killed; ``read TOPIC`` prints the records of a topic.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from flinkish.common import Configuration, Encoder, Row, Types, WatermarkStrategy
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSink
from flinkish.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from flinkish.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

NUMBER = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
TOTAL = Types.ROW_NAMED(["key", "count", "sum"], [Types.STRING(), Types.LONG(), Types.LONG()])
KEYS = 5
NONE = WatermarkStrategy.no_watermarks()


def added(a: Row, b: Row) -> Row:
    """The total of two totals of a key."""
    return Row(key=a.key, count=a.count + b.count, sum=a.sum + b.sum)


class Program:
    """The sources and sinks of the commands."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._broker = settings["broker"]
        self._folder = Path(settings["folder"])
        found = Configuration({"spark.jars": settings["jars"], "spark.master": "local[2]"})
        place = self._folder / "checkpoint"
        if settings.get("goes_on"):
            found.set_string("execution.savepoint.path", str(place))
        self.env = StreamExecutionEnvironment.get_execution_environment(found).set_parallelism(2)

    def sink(self, topic: str, kind: Any) -> KafkaSink:
        """A sink of JSON."""
        value = JsonRowSerializationSchema.builder().with_type_info(kind).build()
        serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
        made = serializer.set_value_serialization_schema(value).build()
        builder = KafkaSink.builder().set_bootstrap_servers(self._broker)
        return builder.set_record_serializer(made).build()

    def source(self, topic: str, kind: Any, *, bounded: bool) -> DataStream:
        """A topic of JSON from its begin on, maybe up to its end."""
        value = JsonRowDeserializationSchema.builder().type_info(kind).build()
        builder = KafkaSource.builder().set_bootstrap_servers(self._broker).set_topics(topic)
        builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
        if bounded:
            builder.set_bounded(KafkaOffsetsInitializer.latest())
        return self.env.from_source(builder.set_value_only_deserializer(value).build(), NONE, topic)

    def produce(self, first: int, last: int) -> None:
        """Write numbers."""
        rows = [Row(f"k{number % KEYS}", number) for number in range(first, last)]
        self.env.from_collection(rows, NUMBER).sink_to(self.sink("numbers", NUMBER))
        self.env.execute()

    def run(self) -> None:
        """Count until the end of this process."""
        totals = (
            self.source("numbers", NUMBER, bounded=False)
            .map(lambda row: Row(key=row.key, count=1, sum=row.n), TOTAL)
            .key_by(lambda row: row.key, Types.STRING())
            .reduce(added)
            .uid("totals")
        )
        totals.sink_to(self.sink("totals", TOTAL))
        texts = totals.map(lambda row: f"{row.key} {row.count} {row.sum}", Types.STRING())
        encoder = Encoder.simple_string_encoder()
        texts.sink_to(FileSink.for_row_format(str(self._folder / "files"), encoder).build())
        self.env.execute()

    def read(self, topic: str) -> None:
        """Print the records of a topic."""
        rows = self.source(topic, TOTAL, bounded=True).execute_and_collect()
        print(json.dumps([[row.key, row.count, row.sum] for row in rows]))


if __name__ == "__main__":
    program = Program(json.loads(Path(sys.argv[1]).read_text()))
    command, *arguments = sys.argv[2:]
    getattr(program, command)(*(int(one) if one.isdigit() else one for one in arguments))
