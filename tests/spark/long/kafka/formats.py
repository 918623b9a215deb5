"""Rows of Avro and CSV, and bytes, through topics that are chosen by element.

    formats.py SETTINGS

SETTINGS is a file of JSON with the broker and the jars.
"""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from flinkish.common import Configuration, Row, Types, WatermarkStrategy
from flinkish.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    RowFieldExtractorSchema,
    SerializationSchema,
)
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicSelector,
)
from flinkish.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from flinkish.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Item",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"]},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            },
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "sizes", "type": {"type": "map", "values": "double"}},
            {
                "name": "inner",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "Inner",
                        "fields": [{"name": "x", "type": ["int", "null"]}],
                    },
                ],
            },
        ],
    }
)
AVRO = Types.ROW_NAMED(
    ["id", "name", "day", "at", "price", "tags", "sizes", "inner"],
    [
        Types.LONG(),
        Types.STRING(),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.BIG_DEC(),
        Types.OBJECT_ARRAY(Types.STRING()),
        Types.MAP(Types.STRING(), Types.DOUBLE()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
    ],
)
ITEMS = [
    Row(
        1,
        "é'\\",
        date(2024, 7, 1),
        datetime(2024, 7, 1, 12, 30),
        Decimal("1.25"),
        ["a"],
        {"s": 0.5},
        Row(x=3),
    ),
    Row(2, None, date(1969, 7, 1), datetime(1969, 7, 1), Decimal("-1"), [], {}, None),
]
PAIR = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


class ByOddness(KafkaTopicSelector):
    """Odd and even numbers have topics of their own."""

    def apply(self, data: Any) -> str:
        return "odd" if data.id % 2 else "even"


class Formats:
    """Writes and reads topics."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._broker = settings["broker"]
        found = {"spark.jars": settings["jars"], "spark.master": "local[2]"}
        found["spark.sql.session.timeZone"] = "America/New_York"
        self.env = StreamExecutionEnvironment.get_execution_environment(Configuration(found))

    def write(
        self, rows: Any, kind: Any, topic: Any, value: SerializationSchema, key: Any = None
    ) -> None:
        builder = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(value)
        if isinstance(topic, str):
            builder.set_topic(topic)
        else:
            builder.set_topic_selector(topic)
        if key is not None:
            builder.set_key_serialization_schema(key)
        sink = KafkaSink.builder().set_bootstrap_servers(self._broker)
        stream = self.env.from_collection(rows, kind)
        stream.sink_to(sink.set_record_serializer(builder.build()).build())
        self.env.execute()

    def read(self, topic: str, value: DeserializationSchema) -> list[Any]:
        builder = KafkaSource.builder().set_bootstrap_servers(self._broker).set_topics(topic)
        builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
        builder.set_bounded(KafkaOffsetsInitializer.latest())
        source = builder.set_value_only_deserializer(value).build()
        stream = self.env.from_source(source, WatermarkStrategy.no_watermarks(), topic)
        return sorted(stream.execute_and_collect(), key=str)

    def check(self) -> None:
        avro = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
        self.write(ITEMS, AVRO, "avro", avro)
        found = self.read("avro", AvroRowDeserializationSchema(avro_schema_string=SCHEMA))
        assert [list(row) for row in found] == [list(row) for row in ITEMS], found
        assert found[0].as_dict().keys() == set(AVRO.get_field_names())

        rows = [Row(number, f"n,{number}") for number in range(4)]
        lines = CsvRowSerializationSchema.Builder(PAIR).build()
        self.write(rows, PAIR, ByOddness(), lines)
        texts = CsvRowDeserializationSchema.Builder(PAIR).build()
        assert [tuple(row) for row in self.read("odd", texts)] == [(1, "n,1"), (3, "n,3")]
        assert [tuple(row) for row in self.read("even", texts)] == [(0, "n,0"), (2, "n,2")]

        parts = Types.ROW([BYTES, BYTES])
        keyed = RowFieldExtractorSchema(0), RowFieldExtractorSchema(1)
        self.write([Row(b"k", b"\x00\xff")], parts, "fields", keyed[1], keyed[0])
        assert self.read("fields", ByteArraySchema()) == [b"\x00\xff"]
        self.write([b"one"], BYTES, lambda value: value.decode(), ByteArraySchema())
        assert self.read("one", ByteArraySchema()) == [b"one"]


if __name__ == "__main__":
    Formats(json.loads(Path(sys.argv[1]).read_text())).check()
    print("done")
