"""CSV files of programs, as PyFlink 2.3 reads and writes them, in both modes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Row, Types, WatermarkStrategy
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.common.time import Duration
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSink, FileSource
from flinkish.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    CsvSchemaBuilder,
)
from flinkish.table import DataTypes
from tests.spark.programs.collecting import collected_together
from tests.spark.support import raises
from tests.waiting import until

NO_MARKS = WatermarkStrategy.no_watermarks()
KIND = Types.ROW_NAMED(["id", "s"], [Types.INT(), Types.STRING()])


def columns() -> CsvSchemaBuilder:
    return CsvSchema.builder().add_number_column("id", DataTypes.INT()).add_string_column("s")


def stream_of(env: StreamExecutionEnvironment, path: Path, schema: CsvSchemaBuilder) -> DataStream:
    form = CsvReaderFormat.for_schema(schema.build())
    source = FileSource.for_record_stream_format(form, str(path)).build()
    return env.from_source(source, NO_MARKS, "csv")


def read(env: StreamExecutionEnvironment, path: Path, schema: CsvSchemaBuilder) -> list[Any]:
    return list(stream_of(env, path, schema).execute_and_collect())


def lines_of(folder: Path) -> list[str]:
    return [line for path in sorted(folder.glob("*/*.csv")) for line in path.open(newline="")]


def write(
    env: StreamExecutionEnvironment, folder: Path, rows: Any, kind: Any, schema: CsvSchemaBuilder
) -> None:
    sink = FileSink.for_bulk_format(str(folder), CsvBulkWriters.for_schema(schema.build()))
    env.from_collection(rows, kind).sink_to(sink.build())
    env.execute()


READ: list[tuple[str, CsvSchemaBuilder, list[Any]]] = [
    ('1,a\n2,"b,""c"\n3, x \n', columns(), [(1, "a"), (2, 'b,"c'), (3, " x ")]),
    ('1,\n2,""\n,x\n', columns(), [(1, ""), (2, ""), (None, "x")]),
    ('1,"l\nm"\r\n2,b', columns(), [(1, "l\nm"), (2, "b")]),
    (
        "1,a,-\n2,b,7;-\n",
        columns().add_array_column("l", element_type=DataTypes.INT()).set_null_value("-"),
        [(1, "a", [None]), (2, "b", [7, None])],
    ),
    ("1,-\n-,\n", columns().set_null_value("-"), [(1, None), (None, "")]),
    ("id,s\n1,a\n", columns().set_use_header().set_strict_headers(), [(1, "a")]),
    ("x,y\n1,a\n", columns().set_use_header(), [(1, "a")]),
    ("1,a\n2,b\n", columns().set_skip_first_data_row(), [(2, "b")]),
    ("#hi\n1,a\n", columns().set_allow_comments(), [(1, "a")]),
    ("1,a\\'b'\n", columns().set_escape_char("\\").set_quote_char("'"), [(1, "a\\'b'")]),
    ("1,'a\\'b'\n", columns().set_escape_char("\\").set_quote_char("'"), [(1, "a'b")]),
    ('1,"a"\n', columns().disable_quote_char(), [(1, '"a"')]),
    (
        "1;a;x|y\n2;b;\n",
        columns().add_array_column("l", "|").set_column_separator(";"),
        [(1, "a", ["x", "y"]), (2, "b", [])],
    ),
    (
        "1,a,1;22\n",
        columns().add_array_column("l", element_type=DataTypes.INT()),
        [(1, "a", [1, 22])],
    ),
    (
        "1,a,x;y\n",
        columns().add_array_column("l").disable_array_element_separator(),
        [(1, "a", ["x;y"])],
    ),
    (
        "true,1.239,2.5,9000000000\nFALSE,,,\n",
        CsvSchema.builder()
        .add_boolean_column("b")
        .add_number_column("d", DataTypes.DECIMAL(10, 2))
        .add_number_column("f", DataTypes.DOUBLE())
        .add_number_column("n"),
        [(True, Decimal("1.24"), 2.5, 9_000_000_000), (False, None, None, None)],
    ),
    ("", columns(), []),
]


def test_what_is_read(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    streams = []
    for number, (text, schema, _) in enumerate(READ):
        path = tmp_path / f"{number}.csv"
        path.write_text(text, newline="")
        streams.append(stream_of(env, path, schema))
    found = [[tuple(row) for row in rows] for rows in collected_together(streams)]
    assert found == [rows for _, _, rows in READ]


@pytest.mark.parametrize(
    ("text", "schema", "says"),
    [
        (
            "1,caf\xe9\n",
            columns(),
            "of the column s of a CSV file has bytes that are",
        ),
        ("1\n", columns(), "MALFORMED"),
        ("1,a,b\n", columns(), "MALFORMED"),
        ("x,a\n", columns(), 'the cell "x" is in the column id of a CSV file, whose type is'),
        ("3000000000,a\n", columns(), 'the cell "3000000000" is in the column id'),
        ("1\n", CsvSchema.builder().add_boolean_column("b"), 'the cell "1" is in the column b'),
        ("x,y\n1,a\n", columns().set_use_header().set_strict_headers(), "header"),
        (
            "1;x",
            CsvSchema.builder().add_array_column("l", element_type=DataTypes.INT()),
            'the cell "x" is in the column l',
        ),
    ],
)
def test_what_is_no_such_csv(
    env: StreamExecutionEnvironment, tmp_path: Path, text: str, schema: CsvSchemaBuilder, says: str
) -> None:
    path = tmp_path / "file.csv"
    path.write_text(text, encoding="latin-1")
    with raises(JobExecutionError, match=says):
        read(env, path, schema)


def test_what_is_written(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Lines as PyFlink writes them, but for an empty text, which PyFlink writes as None."""
    rows = [(1, "a"), (2, 'b,"c"'), (3, None), (4, ""), (5, " x "), (6, "l\nm")]
    write(env, tmp_path / "out", rows, KIND, columns())
    assert "".join(lines_of(tmp_path / "out")) == ('1,a\n2,"b,""c"""\n3,\n4,""\n5, x \n6,"l\nm"\n')
    found = {row.id: row.s for row in read(env, tmp_path / "out", columns())}
    assert found == dict(rows) | {3: ""}

    write(env, tmp_path / "null", rows, KIND, columns().set_null_value("-"))
    found = {row.id: row.s for row in read(env, tmp_path / "null", columns().set_null_value("-"))}
    assert found == dict(rows)


def test_arrays_headers_and_separators(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    schema = columns().add_array_column("l", "|").set_column_separator(";").set_use_header()
    schema.set_line_separator("\r\n").set_quote_char("'")
    kind = Types.ROW([Types.INT(), Types.STRING(), Types.BASIC_ARRAY(Types.STRING())])
    rows = [(1, "x;y", ["p", "q"]), (2, "y", []), (3, "z", ["a", None])]
    write(env, tmp_path, rows, kind, schema)
    assert "".join(lines_of(tmp_path)) == "id;s;l\r\n1;'x;y';p|q\r\n2;y;''\r\n3;z;a|\r\n"
    found = sorted(map(tuple, read(env, tmp_path, schema)))
    assert found == [(1, "x;y", ["p", "q"]), (2, "y", []), (3, "z", ["a", ""])]


def test_schemas_tell_their_columns() -> None:
    schema = columns().add_array_column("l", "|").build()
    assert (len(schema), schema.size(), len(columns())) == (3, 3, 2)
    assert str(schema) == "CsvSchema(id INT, s STRING, l ARRAY<STRING>)"
    more = CsvSchema.builder().add_boolean_column("b").add_columns_from(schema)
    assert str(more.build()) == "CsvSchema(b BOOLEAN, id INT, s STRING, l ARRAY<STRING>)"
    assert more.build().settings.separators == {"l": "|"}
    assert more.clear_columns().add_string_column("x").size() == 1


def test_what_schemas_refuse() -> None:
    with pytest.raises(IllegalArgumentError, match="the column separator is one character"):
        columns().set_column_separator("||")
    with pytest.raises(IllegalArgumentError, match="columns, each with its own name"):
        columns().add_string_column("id").build()
    with pytest.raises(ArgumentTypeError, match="of a type such as"):
        columns().add_number_column("n", DataTypes.STRING())  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="arrays of CSV hold texts, numbers or truth"):
        columns().add_array_column("l", element_type=DataTypes.DATE())
    with pytest.raises(UnsupportedOperationError, match="drop the other in a filter"):
        columns().set_use_header().set_skip_first_data_row().build()
    with pytest.raises(UnsupportedOperationError, match="add each column, or read lines"):
        columns().set_any_property_name("rest")
    with pytest.raises(UnsupportedOperationError, match="CSV end with"):
        columns().set_line_separator("|")
    with pytest.raises(UnsupportedOperationError, match=r"leave disable_quote_char\(\) out"):
        CsvBulkWriters.for_schema(columns().disable_quote_char().build())
    with pytest.raises(ArgumentTypeError, match="needs a CsvSchema"):
        CsvReaderFormat.for_schema(columns())  # type: ignore[arg-type]


def test_a_monitored_directory_of_csv(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    into, out = tmp_path / "in", tmp_path / "out"
    into.mkdir()
    form = CsvReaderFormat.for_schema(columns().build())
    source = FileSource.for_record_stream_format(form, str(into))
    rows = streaming.from_source(
        source.monitor_continuously(Duration.of_seconds(1)).build(), NO_MARKS, "csv"
    )
    sink = FileSink.for_bulk_format(str(out), CsvBulkWriters.for_schema(columns().build()))
    rows.map(lambda row: Row(row.id, row.s.upper()), KIND).sink_to(sink.build())
    client = streaming.execute_async("csv")
    try:
        for number in (1, 2):
            part = tmp_path / "part"
            part.write_text(f"{number},n{number}\n")
            part.rename(into / f"{number}.csv")
            wanted = [f"{one},N{one}\n" for one in range(1, number + 1)]
            until(lambda: sorted(lines_of(out)) == wanted, seconds=120)  # noqa: B023
    finally:
        client.cancel().result()
