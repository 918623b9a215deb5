"""Parquet and ORC files of programs: what is written is read, in both modes."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Configuration, Encoder, Instant, Row, Types, WatermarkStrategy
from flinkish.common.errors import (
    ArgumentTypeError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.common.time import Duration
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from flinkish.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from flinkish.datastream.formats.orc import OrcBulkWriters
from flinkish.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from flinkish.table import DataTypes
from tests.spark.support import raises
from tests.waiting import until

FIELD = DataTypes.FIELD
INNER = DataTypes.ROW([FIELD("x", DataTypes.INT()), FIELD("at", DataTypes.TIMESTAMP())])
# Each type of a column with the type of elements and a value of it.
COLUMNS: dict[str, tuple[Any, Any, Any]] = {
    "truth": (DataTypes.BOOLEAN(), Types.BOOLEAN(), True),
    "tiny": (DataTypes.TINYINT(), Types.BYTE(), -8),
    "small": (DataTypes.SMALLINT(), Types.SHORT(), 300),
    "int": (DataTypes.INT(), Types.INT(), -70_000),
    "big": (DataTypes.BIGINT(), Types.LONG(), 2**40),
    "float": (DataTypes.FLOAT(), Types.FLOAT(), 0.5),
    "double": (DataTypes.DOUBLE(), Types.DOUBLE(), 0.1),
    "text": (DataTypes.STRING(), Types.STRING(), "é"),
    "short text": (DataTypes.VARCHAR(5), Types.STRING(), "ab"),
    "bytes": (DataTypes.BYTES(), Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    "decimal": (DataTypes.DECIMAL(10, 2), Types.BIG_DEC(), Decimal("-1.25")),
    "date": (DataTypes.DATE(), Types.SQL_DATE(), date(1969, 12, 31)),
    "datetime": (
        DataTypes.TIMESTAMP(),
        Types.SQL_TIMESTAMP(),
        datetime(2024, 7, 1, 12, 30, 0, 123456),
    ),
    "instant": (DataTypes.TIMESTAMP_LTZ(), Types.INSTANT(), Instant(1_700_000_000, 5_000)),
    "list": (DataTypes.ARRAY(DataTypes.INT()), Types.BASIC_ARRAY(Types.INT()), [1, None]),
    "map": (
        DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.DOUBLE())),
        Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE())),
        {"a": [0.5], "b": None},
    ),
    "row": (
        INNER,
        Types.ROW_NAMED(["x", "at"], [Types.INT(), Types.SQL_TIMESTAMP()]),
        Row(x=7, at=datetime(2024, 1, 1)),
    ),
    "rows": (
        DataTypes.ARRAY(INNER),
        Types.OBJECT_ARRAY(Types.ROW([Types.INT(), Types.SQL_TIMESTAMP()])),
        [Row(x=8, at=None), None],
    ),
}
ROW_TYPE = DataTypes.ROW([FIELD(name, kind) for name, (kind, _, _) in COLUMNS.items()])
KIND = Types.ROW_NAMED(list(COLUMNS), [kind for _, kind, _ in COLUMNS.values()])
FULL = Row(*[value for _, _, value in COLUMNS.values()])
EMPTY = Row(*[None] * len(COLUMNS))
NO_MARKS = WatermarkStrategy.no_watermarks()
PAIR = DataTypes.ROW([FIELD("id", DataTypes.INT()), FIELD("name", DataTypes.STRING())])
PAIR_KIND = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
SCHEMA = AvroSchema.parse_string(
    json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "price", "type": ["null", "double"]},
                {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
                {"name": "tags", "type": {"type": "array", "items": "string"}},
                {"name": "sizes", "type": {"type": "map", "values": ["null", "int"]}},
                {
                    "name": "buyer",
                    "type": [
                        "null",
                        {
                            "type": "record",
                            "name": "Buyer",
                            "fields": [
                                {"name": "name", "type": "string"},
                                {
                                    "name": "kind",
                                    "type": {
                                        "type": "enum",
                                        "name": "Kind",
                                        "symbols": ["NEW", "OLD"],
                                    },
                                },
                            ],
                        },
                    ],
                },
            ],
        }
    )
)
RECORDS = [
    {
        "id": 1,
        "price": 2,
        "at": datetime(2024, 5, 1, 8, tzinfo=timezone.utc),
        "tags": ["a", "b"],
        "sizes": {"s": 1, "m": None},
        "buyer": {"name": "Ada", "kind": "OLD"},
    },
    {
        "id": 2,
        "price": None,
        "at": datetime(1969, 5, 1, 8, tzinfo=timezone.utc),
        "tags": [],
        "sizes": {},
        "buyer": None,
    },
]


def written(stream: DataStream, folder: Path, factory: Any) -> None:
    """Run a program that writes a stream."""
    sink = FileSink.for_bulk_format(str(folder), factory)
    stream.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build())
    stream.get_execution_environment().execute()


def from_parquet(env: StreamExecutionEnvironment, row_type: Any, *paths: Path, **how: Any) -> Any:
    """The rows of Parquet files."""
    form = ParquetColumnarRowInputFormat(row_type, **how)
    source = FileSource.for_bulk_file_format(form, *map(str, paths)).build()
    return env.from_source(source, NO_MARKS, "parquet")


def taken(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


@pytest.mark.parametrize("utc", [False, True])
def test_parquet_has_each_type(env: StreamExecutionEnvironment, tmp_path: Path, utc: bool) -> None:
    """Values and None, nested ones too; with datetimes in UTC or in the session's zone."""
    rows = env.from_collection([FULL, EMPTY], KIND)
    written(rows, tmp_path, ParquetBulkWriters.for_row_type(ROW_TYPE, utc_timestamp=utc))
    read = taken(from_parquet(env, ROW_TYPE, tmp_path, is_utc_timestamp=utc))
    found = {row[0]: row for row in read}
    assert list(found[True]) == list(FULL)
    assert list(found[None]) == list(EMPTY)
    assert found[True].as_dict().keys() == COLUMNS.keys()


def test_datetimes_are_of_the_zone_that_is_asked_for(
    env: StreamExecutionEnvironment, tmp_path: Path, spark: Any
) -> None:
    """In UTC the file has the instant at which UTC shows the datetime."""
    row_type = DataTypes.ROW([FIELD("at", DataTypes.TIMESTAMP())])
    kind = Types.ROW([Types.SQL_TIMESTAMP()])
    noon = datetime(2024, 7, 1, 12)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for utc, hour in ((True, 12), (False, 16)):
            folder = tmp_path / str(utc)
            rows = env.from_collection([Row(noon)], kind)
            written(rows, folder, ParquetBulkWriters.for_row_type(row_type, utc_timestamp=utc))
            [(seconds,)] = (
                spark.read.option("recursiveFileLookup", "true")
                .parquet(str(folder))
                .selectExpr("unix_seconds(at)")
                .collect()
            )
            assert seconds == datetime(2024, 7, 1, hour, tzinfo=timezone.utc).timestamp()
            [row] = taken(from_parquet(env, row_type, folder, is_utc_timestamp=utc))
            assert row[0] == noon
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_orc_has_each_type(env: StreamExecutionEnvironment, tmp_path: Path, spark: Any) -> None:
    rows = env.from_collection([FULL, EMPTY], KIND)
    properties = Configuration().set_string("orc.compress", "ZLIB")
    written(rows, tmp_path, OrcBulkWriters.for_row_type(ROW_TYPE, properties))
    frame = spark.read.orc(f"{tmp_path}/*")
    assert frame.columns == list(COLUMNS)
    [full] = frame.where("truth").collect()
    assert (full.big, full.decimal, full.list) == (2**40, Decimal("-1.25"), [1, None])
    [empty] = frame.where("truth IS NULL").collect()
    assert set(empty) == {None}
    assert [path.name for path in tmp_path.rglob("*.zlib.orc")]


def test_several_paths_and_what_they_lack(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """A field that files lack is None, as in Flink; a directory without files has no rows."""
    for number in (1, 2):
        rows = env.from_collection([Row(number)], Types.ROW([Types.INT()]))
        ids = DataTypes.ROW([FIELD("id", DataTypes.INT())])
        written(rows, tmp_path / str(number), ParquetBulkWriters.for_row_type(ids))
    (tmp_path / "empty").mkdir()
    folders = [tmp_path / name for name in ("1", "2", "empty")]
    read = taken(from_parquet(env, PAIR, *folders))
    assert sorted(read, key=str) == [Row(id=1, name=None), Row(id=2, name=None)]
    assert taken(from_parquet(env, PAIR, tmp_path / "empty")) == []


def test_lines_are_read_where_a_sink_wrote_them(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """A source goes into directories, and leaves out files that begin with a low line."""
    lines = env.from_collection(["a", "b"], Types.STRING())
    encoder = Encoder.simple_string_encoder()
    lines.sink_to(FileSink.for_row_format(str(tmp_path), encoder).build())
    env.execute()
    (tmp_path / "_hidden").write_text("c\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    assert sorted(taken(env.from_source(source.build(), NO_MARKS, "lines"))) == ["a", "b"]


def test_files_of_another_type_fail_the_job(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    rows = env.from_collection([Row("a")], Types.ROW([Types.STRING()]))
    texts = DataTypes.ROW([FIELD("id", DataTypes.STRING())])
    written(rows, tmp_path, ParquetBulkWriters.for_row_type(texts))
    with raises(JobExecutionError, match=r"Parquet column \[id\]\. Expected Spark type int"):
        taken(from_parquet(env, PAIR, tmp_path))
    with raises(JobExecutionError, match=r"PATH_NOT_FOUND.*/nowhere"):
        taken(from_parquet(env, PAIR, tmp_path / "nowhere"))


def test_records_of_avro_in_parquet(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Dicts, with dicts and lists in them, as in PyFlink."""
    kind = GenericRecordAvroTypeInfo(SCHEMA)
    records = env.from_collection(RECORDS, Types.PICKLED_BYTE_ARRAY())
    typed = records.map(lambda record: record, kind)
    written(typed, tmp_path, AvroParquetWriters.for_generic_record(SCHEMA))
    form = AvroParquetReaders.for_generic_record(SCHEMA)
    source = FileSource.for_record_stream_format(form, str(tmp_path)).build()
    read = env.from_source(source, NO_MARKS, "records")
    assert source.get_produced_type() == kind
    found = taken(read.key_by(lambda record: record["id"], Types.LONG()).map(lambda r: r, kind))
    assert sorted(found, key=lambda record: record["id"]) == RECORDS


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": None}, "id is None .* must be a long: make its type a union with null"),
        ({"more": 1}, "a record without the fields more"),
        ({"tags": "ab"}, "tags is 'ab' of type str, and must be a list"),
        ({"sizes": {1: 2}}, "a dict whose keys are texts"),
        ({"buyer": {"name": "x", "kind": "No"}}, "buyer.kind is 'No' .* must be one of NEW, OLD"),
        ({"buyer": 3}, "buyer is 3 .* a dict with the fields name, kind"),
    ],
)
def test_records_that_do_not_fit(
    batch: StreamExecutionEnvironment, change: dict[str, Any], says: str
) -> None:
    kind = GenericRecordAvroTypeInfo(SCHEMA)
    stream = batch.from_collection([1], Types.LONG()).map(lambda _: RECORDS[0] | change, kind)
    with raises(JobExecutionError, match=says):
        taken(stream)


def test_the_types_of_rows_are_compared_at_the_call(env: StreamExecutionEnvironment) -> None:
    sink = FileSink.for_bulk_format("/nowhere", ParquetBulkWriters.for_row_type(PAIR)).build()
    for kind, says in (
        (None, "the elements have no declared type: give .* the output_type"),
        (Types.LONG(), "the elements have the type"),
        (Types.ROW([Types.INT()]), "the files have 2 fields, .*, and the elements 1"),
        (Types.ROW([Types.STRING(), Types.INT()]), "the field id of the files is INT, and of the"),
    ):
        with pytest.raises(ArgumentTypeError, match=says):
            env.from_collection([1], Types.INT()).map(lambda n: n, kind).sink_to(sink)
    times = DataTypes.ROW([FIELD("at", DataTypes.ARRAY(DataTypes.TIME()))])
    for make in (ParquetBulkWriters.for_row_type, ParquetColumnarRowInputFormat):
        with pytest.raises(UnsupportedOperationError, match="files have no times of day: take"):
            make(times)
        with pytest.raises(ArgumentTypeError, match=r"row_type is a type such as DataTypes\.ROW"):
            make(PAIR_KIND)


def test_what_files_refuse() -> None:
    sink = FileSink.for_bulk_format("/nowhere", ParquetBulkWriters.for_row_type(PAIR))
    with pytest.raises(ArgumentTypeError, match="on_checkpoint_rolling_policy"):
        sink.with_rolling_policy(RollingPolicy.default_rolling_policy())
    with pytest.raises(ArgumentTypeError, match="the writers are those such as"):
        FileSink.for_bulk_format("/nowhere", PAIR)  # type: ignore[arg-type]
    form = ParquetColumnarRowInputFormat(PAIR)
    with pytest.raises(ArgumentTypeError, match="for_bulk_file_format takes a BulkFormat"):
        FileSource.for_record_stream_format(form, "/nowhere")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="for_record_stream_format takes a StreamFormat"):
        FileSource.for_bulk_file_format(StreamFormat.text_line_format(), "/nowhere")  # type: ignore[arg-type]


def test_a_monitored_directory_of_parquet(
    streaming: StreamExecutionEnvironment, tmp_path: Path, spark: Any
) -> None:
    """Rows of files that come later, in directories of the directory, to Parquet again."""
    into, out = tmp_path / "in", tmp_path / "out"
    into.mkdir()
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(PAIR), str(into))
    watched = source.monitor_continuously(Duration.of_seconds(1)).build()
    names = OutputFileConfig.builder().with_part_prefix("rows").build()
    sink = FileSink.for_bulk_format(str(out), ParquetBulkWriters.for_row_type(PAIR))
    streaming.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "checkpoints"))
    rows = streaming.from_source(watched, NO_MARKS, "rows")
    rows.map(lambda row: Row(row.id * 10, row.name), PAIR_KIND).sink_to(
        sink.with_output_file_config(names).build()
    )
    client = streaming.execute_async("files")

    def read() -> list[Any]:
        if not list(out.glob("rows-*/_SUCCESS")):
            return []
        return sorted(map(tuple, spark.read.parquet(*map(str, out.glob("rows-*"))).collect()))

    try:
        for number in (1, 2):
            frame = spark.createDataFrame([(number, f"n{number}")], "id int, name string")
            frame.coalesce(1).write.parquet(str(into / f"day{number}"))
            wanted = [(10 * one, f"n{one}") for one in range(1, number + 1)]
            until(lambda: read() == wanted, seconds=120)  # noqa: B023
    finally:
        client.cancel().result()
