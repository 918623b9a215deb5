"""Programs over files of Avro: what is written is read, in both modes and as files come.

    program.py FOLDER JARS

JARS are those of Spark's Avro; without them the program prints the error that a user would see.
"""

from __future__ import annotations

import json
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from flinkish.common import Configuration, Types
from flinkish.common.errors import JobExecutionError
from flinkish.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSink
from flinkish.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)

TYPES: dict[str, tuple[Any, Any]] = {
    "truth": ("boolean", True),
    "int": ("int", -7),
    "long": ("long", 2**40),
    "float": ("float", 0.5),
    "double": ("double", 0.1),
    "text": ("string", "é"),
    "bytes": ("bytes", b"\x00\xff"),
    "fixed": ({"type": "fixed", "name": "F", "size": 2}, b"ab"),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    "again": ("E", "A"),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        Decimal("-1.25"),
    ),
    "date": ({"type": "int", "logicalType": "date"}, date(1969, 12, 31)),
    "millis": (
        {"type": "long", "logicalType": "timestamp-millis"},
        datetime(2024, 7, 1, 12, 30, 0, 123000, tzinfo=timezone.utc),
    ),
    "micros": (
        {"type": "long", "logicalType": "timestamp-micros"},
        datetime(2024, 7, 1, 12, 30, 0, 123456, tzinfo=timezone.utc),
    ),
    "local": (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        datetime(2024, 7, 1, 12, 30),
    ),
    "list": ({"type": "array", "items": ["null", "int"]}, [1, None]),
    "map": ({"type": "map", "values": "double"}, {"a": 0.5}),
    "record": (
        {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": ["null", "int"]}]},
        {"x": 3},
    ),
    "records": ({"type": "array", "items": "Inner"}, [{"x": None}, {"x": 4}]),
    "wide": (["int", "long"], 5),
}


def schema(nulls: bool) -> AvroSchema:
    """Each type, as it is or in a union with null."""
    fields = [
        {"name": name, "type": kind if not nulls else ["null", *_listed(kind)]}
        for name, (kind, _) in TYPES.items()
    ]
    record = {"type": "record", "name": "All", "namespace": "a.b", "fields": fields}
    return AvroSchema.parse_string(json.dumps(record))


def _listed(kind: Any) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


FULL = {name: value for name, (_, value) in TYPES.items()}
EMPTY = dict.fromkeys(TYPES)


def environment(jars: str) -> StreamExecutionEnvironment:
    settings = {"spark.master": "local[2]", "spark.ui.enabled": "false"}
    settings |= {"spark.jars": jars} if jars else {}
    return StreamExecutionEnvironment.get_execution_environment(Configuration(settings))


def write(env: StreamExecutionEnvironment, folder: Path, nulls: bool) -> list[Any]:
    """Write records; gives them."""
    kind = GenericRecordAvroTypeInfo(schema(nulls))
    records = [FULL, EMPTY] if nulls else [FULL]
    stream = env.from_collection(records, Types.PICKLED_BYTE_ARRAY()).map(lambda one: one, kind)
    sink = FileSink.for_bulk_format(str(folder), AvroBulkWriters.for_generic_record(kind.schema))
    stream.sink_to(sink.build())
    env.execute()
    return records


def files(jars: str, folder: Path) -> None:
    for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
        for nulls in (False, True):
            env = environment(jars).set_runtime_mode(mode)
            place = folder / f"{mode.name}-{nulls}"
            records = write(env, place, nulls)
            read = list(
                env.create_input(AvroInputFormat(str(place), schema(nulls))).execute_and_collect()
            )
            assert sorted(read, key=str) == sorted(records, key=str), read


if __name__ == "__main__":
    place, jars = Path(sys.argv[1]), sys.argv[2]
    if jars:
        files(jars, place)
        print("done")
    else:
        try:
            write(environment(""), place, nulls=False)
        except JobExecutionError as error:
            print(error)
