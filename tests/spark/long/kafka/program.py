"""A program over Kafka: counts and sums of keys, to Kafka and to files.

    program.py SETTINGS

SETTINGS is a file of JSON with the broker, the jars and the folder.  The program counts until it is
killed, and goes on from its checkpoint when it is started again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flinkish.common import Configuration, Encoder, Row, Types, WatermarkStrategy
from flinkish.datastream import StreamExecutionEnvironment
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


def added(a: Row, b: Row) -> Row:
    """The total of two totals of a key."""
    return Row(key=a.key, count=a.count + b.count, sum=a.sum + b.sum)


def main(settings: dict[str, str]) -> None:
    """Count until the end of this process."""
    broker, folder = settings["broker"], Path(settings["folder"])
    spark = {"spark.jars": settings["jars"], "spark.master": "local[2]"}
    goes_on = {"execution.savepoint.path": str(folder / "checkpoint")}
    configured = Configuration(spark | goes_on)
    env = StreamExecutionEnvironment.get_execution_environment(configured).set_parallelism(2)

    value = JsonRowDeserializationSchema.builder().type_info(NUMBER).build()
    source = KafkaSource.builder().set_bootstrap_servers(broker).set_topics("numbers")
    source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    numbers = source.set_value_only_deserializer(value).build()
    totals = (
        env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda row: Row(key=row.key, count=1, sum=row.n), TOTAL)
        .key_by(lambda row: row.key, Types.STRING())
        .reduce(added)
        .uid("totals")
    )
    record = KafkaRecordSerializationSchema.builder().set_topic("totals")
    record.set_value_serialization_schema(
        JsonRowSerializationSchema.builder().with_type_info(TOTAL).build()
    )
    sink = KafkaSink.builder().set_bootstrap_servers(broker)
    totals.sink_to(sink.set_record_serializer(record.build()).build())
    texts = totals.map(lambda row: f"{row.key} {row.count} {row.sum}", Types.STRING())
    encoder = Encoder.simple_string_encoder()
    texts.sink_to(FileSink.for_row_format(str(folder / "files"), encoder).build())
    env.execute()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
