"""Rules of Flink's formats beside those of the table: each case was answered by Flink 2.3.0."""

from __future__ import annotations

import math
import pickle
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import pytest

from flinkish.common import Row, Types
from flinkish.common.durations import Instant
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.row_formats.csv_cells import CsvDialect
from flinkish.common.row_formats.csv_records import CsvRecordDecoder, CsvSettings
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_records import JsonRecordDecoder
from flinkish.common.row_formats.numbers import double_text, fitted, float_of, float_text
from flinkish.common.row_formats.texts import decoded, lines_of
from flinkish.common.typeinfo import TypeInformation
from flinkish.datastream.formats.csv import CsvRowSerializationSchema
from flinkish.datastream.formats.json import JsonRowSerializationSchema

FAILS = object()
HALF = datetime(2024, 7, 1, 12, 34, 56, 500_000)
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
INTS = Types.PRIMITIVE_ARRAY(Types.INT())


def json_value(kind: TypeInformation, text: str | bytes, **settings: bool) -> Any:
    """The field v of a record."""
    row = Types.ROW_NAMED(["v"], [kind])
    settings = {"ignores": False, "complete": False, **settings}
    decoder = pickle.loads(pickle.dumps(JsonRecordDecoder(row, **settings)))
    value = text if isinstance(text, bytes) else f'{{"v": {text}}}'.encode()
    [found] = decoder.decode(value)
    return found[0]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Types.INT(), "-3.7", -3),
        (Types.INT(), "3e9", FAILS),
        (Types.INT(), '"3.0"', FAILS),
        (Types.INT(), r'"\u0661"', 1),
        (Types.INT(), r'"\u00a07"', FAILS),
        (Types.INT(), "true", FAILS),
        (Types.LONG(), "9223372036854775807.0", 2**63 - 1),
        (Types.LONG(), "1e19", FAILS),
        (Types.SHORT(), "3.0", FAILS),
        (Types.BYTE(), "128", FAILS),
        (Types.STRING(), "1e3", "1000.0"),
        (Types.STRING(), "1E-7", "1.0E-7"),
        (Types.STRING(), "-0", "0"),
        (Types.STRING(), "1e400", "Infinity"),
        (Types.STRING(), '[1,"a",null,{"b":1.50}]', '[1,"a",null,{"b":1.5}]'),
        (Types.STRING(), r'{"a":"\u0001\n\"/"}', r'{"a":"\u0001\n\"/"}'),
        (Types.STRING(), "123456789012345678901234567890", "123456789012345678901234567890"),
        (Types.DOUBLE(), '"1d"', 1.0),
        (Types.DOUBLE(), '"0x1p3"', 8.0),
        (Types.DOUBLE(), '"1,5"', FAILS),
        (Types.DOUBLE(), "true", FAILS),
        (Types.FLOAT(), "1e39", math.inf),
        (Types.BOOLEAN(), '" TRUE "', True),
        (Types.BOOLEAN(), '"yes"', False),
        (Types.BIG_DEC(), "12.50", Decimal("12.5")),
        (Types.BIG_DEC(), '"12.50"', Decimal("12.50")),
        (Types.BIG_DEC(), '"1_0"', FAILS),
        (Types.BIG_INT(), "1e3", FAILS),
        (Types.SQL_DATE(), '"2024-2-3"', FAILS),
        (Types.SQL_DATE(), '"2024-02-30"', FAILS),
        (Types.SQL_TIME(), '"12:34:56"', FAILS),
        (Types.SQL_TIME(), '"12:34:56.5Z"', FAILS),
        (Types.CHAR(), "65", "A"),
        (Types.CHAR(), '""', None),
        (Types.INSTANT(), '"2024-01-01T02:00:00.5+02:00"', Instant(1_704_067_200, 500_000_000)),
        (Types.INSTANT(), "-1.5", Instant(-2, 500_000_000)),
        (Types.INSTANT(), "100000000000000000", FAILS),
        (Types.INSTANT(), '"0001-01-01T00:00:00+18:00"', FAILS),
        (Types.INSTANT(), f'"{"9" * 5000}"', FAILS),
        (Types.MAP(Types.INT(), Types.STRING()), '{"x": 1}', FAILS),
        (Types.PRIMITIVE_ARRAY(Types.CHAR()), r'"a\ud800"', ["a", "?"]),
        (BYTES, '"AQ"', FAILS),
        (BYTES, "[1, 2]", None),
        (INTS, '[1.5, "2", null, ""]', [1, 2, 0, 0]),
        (INTS, "[true]", FAILS),
        (INTS, "5", FAILS),
        (Types.PRIMITIVE_ARRAY(Types.BOOLEAN()), '[2, "True", null]', [True, True, False]),
        (Types.PRIMITIVE_ARRAY(Types.CHAR()), '"abc"', ["a", "b", "c"]),
        (Types.MAP(Types.STRING(), Types.INT()), "5", {}),
        (Types.MAP(Types.INT(), Types.STRING()), '{" 2": 2}', {2: "2"}),
        (Types.OBJECT_ARRAY(Types.INT()), "{}", FAILS),
    ],
)
def test_json_values(kind: TypeInformation, text: str, value: Any) -> None:
    if value is FAILS:
        with pytest.raises(RecordError, match=r"^field v"):
            json_value(kind, text)
        assert json_value(kind, text, ignores=True) is None
        return
    found = json_value(kind, text)
    assert (found, str(found), type(found)) == (value, str(value), type(value))


@pytest.mark.parametrize(
    "record",
    [
        b'\xef\xbb\xbf{"v":1}',
        '{"v":1}'.encode("utf-16"),
        '{"v":1}'.encode("utf-32-be"),
        b'{"v":1}\xff',
        b' \r\n{"v":1}x',
        b'{"z":{"y":[1e400,"\\ud800"]},"v":1}',
    ],
)
def test_records_with_more_than_an_object(record: bytes) -> None:
    assert json_value(Types.INT(), record) == 1


@pytest.mark.parametrize(
    "record",
    [
        *(b"", b" ", b'{"v":1', b'{"v":1,"z":"\xff"}', b'{"v":"\x01"}', b'{"v":1,}', b"[1]"),
        *(b'{"v":+1}', b'{"v":.5}', b'{"v":"\\x"}', b"{v:1}", b'{"v":' + b"1" * 1001 + b"}"),
        *(b'{"v":' + b"[" * 100_000, b"\x00", None),
    ],
)
def test_records_that_are_no_object(record: bytes | None) -> None:
    row = Types.ROW_NAMED(["v"], [Types.STRING()])
    with pytest.raises(RecordError):
        JsonRecordDecoder(row, ignores=False, complete=False).decode(record)
    assert JsonRecordDecoder(row, ignores=True, complete=False).decode(record) == []


def test_where_json_is_wrong() -> None:
    inner = Types.ROW_NAMED(["x"], [Types.OBJECT_ARRAY(Types.INT())])
    kind = Types.MAP(Types.STRING(), inner)
    with pytest.raises(RecordError, match=r"^field v\.k\.x\[1\]: 'b' is not an integer"):
        json_value(kind, '{"k": {"x": [1, "b"]}}')
    with pytest.raises(RecordError, match="the field x is missing"):
        json_value(kind, '{"k": {}}', complete=True)


def csv_row(fields: list[TypeInformation], text: str, **settings: Any) -> Any:
    """The row of a record of CSV."""
    row = Types.ROW(fields)
    ignores = settings.pop("ignores", False)
    between, null = settings.pop("between", ";"), settings.pop("null", None)
    described = CsvSettings(CsvDialect(**settings), between, null)
    decoder = pickle.loads(pickle.dumps(CsvRecordDecoder(row, described, ignores=ignores)))
    rows = decoder.decode(text.encode())
    return rows[0] if rows else None


STRINGS = [Types.STRING(), Types.STRING()]


@pytest.mark.parametrize(
    ("text", "settings", "cells"),
    [
        ("a,b\nc,d", {}, ("a", "b")),
        ("a,b,", {}, ("a", "b")),
        ("a,b,,", {}, None),
        ('"a" ,b', {}, ("a", "b")),
        ('"a"x,b', {}, None),
        ('a,"b\nc"', {}, ("a", "b\nc")),
        ("\ufeffa,b", {}, ("a", "b")),
        ("a,b\u2028\x85\x1c", {}, ("a", "b\u2028\x85\x1c")),
        ("\na,b", {}, None),
        ("", {}, None),
        ('"a\\nb",c\\,d', {"escape": "\\"}, ("a\nb", "c,d")),
        ("a,b\\", {"escape": "\\"}, None),
        ("'a''b',\"c\"", {"quote": "'"}, ("a'b", '"c"')),
        ("\n #x\n  a,b", {"comments": True}, ("a", "b")),
        ("#x", {"comments": True}, None),
        ('-,"-"', {"null": "-"}, (None, None)),
        (" -,b", {"null": "-"}, (" -", "b")),
        ("a\tb", {"separator": "\t"}, ("a", "b")),
    ],
)
def test_csv_cells(text: str, settings: dict[str, Any], cells: Any) -> None:
    if cells is None:
        with pytest.raises(RecordError):
            csv_row(STRINGS, text, **settings)
    else:
        assert csv_row(STRINGS, text, **settings) == cells


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Types.BOOLEAN(), "yes", "False"),
        (Types.BIG_DEC(), " 1.50 ", "1.50"),
        (Types.SQL_DATE(), "2024-02-30", "2024-03-01"),
        (Types.SQL_DATE(), " 2024-02-03", FAILS),
        (Types.SQL_TIME(), "24:00:60", "00:01:00"),
        (Types.SQL_TIME(), "99999999:0:0", "15:00:00"),
        (Types.SQL_TIME(), "99999999999:0:0", FAILS),
        (Types.SQL_TIMESTAMP(), "2024-01-01 2000000000:0:0", FAILS),
        (Types.SQL_TIMESTAMP(), " 2024-3-1 25:3:4.5 ", "2024-03-02 01:03:04.500000"),
        (Types.SQL_TIMESTAMP(), "2024-03-01  02:03:04", FAILS),
        (Types.OBJECT_ARRAY(Types.STRING()), "a;;b", "['a', '', 'b']"),
        (Types.OBJECT_ARRAY(Types.STRING()), " ", "[]"),
        (Types.OBJECT_ARRAY(Types.INT()), "1;", FAILS),
        (Types.ROW([Types.INT(), Types.STRING()]), "1", FAILS),
        (BYTES, "AQ==", "b'\\x01'"),
    ],
)
def test_csv_values(kind: TypeInformation, text: str, value: Any) -> None:
    if value is FAILS:
        with pytest.raises(RecordError, match=r"^field f0: "):
            csv_row([kind], text)
    else:
        assert str(csv_row([kind], text)[0]) == value


def test_lenient_csv() -> None:
    fields = [Types.INT(), Types.OBJECT_ARRAY(Types.INT()), Types.ROW([Types.INT(), Types.INT()])]
    assert csv_row(fields, "x", ignores=True) == (None, None, None)
    assert csv_row(fields, "1,2;x,3", ignores=True) == (1, [2, None], (3, None))
    assert csv_row(fields, "1,2,3,4", ignores=True) is None


def test_texts_as_java_decodes_them() -> None:
    assert decoded(b"\xed\xa0\x80x\xe2\x82", "utf-8") == "\ufffdx\ufffd"
    assert decoded(b"\xef\xbb\xbfa", "utf-8") == "\ufeffa"
    assert decoded(b"\xff\xfea\x00", "utf-16") == "a"
    assert decoded(b"\x00a", "utf-16") == "a"
    assert lines_of("a\r\rb\r\n\r\nc") == ["a", "", "b", "", "c"]
    assert lines_of("") == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((1.0, "1.0"), (0.001, "0.001"), (9999999.0, "9999999.0"), (1e7, "1.0E7")),
        *((0.00099, "9.9E-4"), (-0.0, "-0.0"), (math.nan, "NaN"), (-math.inf, "-Infinity")),
        *((123456.789, "123456.789"), (1.5e300, "1.5E300"), (100.0, "100.0")),
    ],
)
def test_texts_of_doubles(value: float, text: str) -> None:
    assert double_text(value) == text


def test_floats_of_32_bits() -> None:
    assert float_text(float_of("0.1")) == "0.1"
    assert float_text(float_of("16777217")) == "1.6777216E7"
    # The double of this text lies half-way between two floats, the text above that.
    assert float_of("1.00000005960464477539063") == 1.0000001192092896
    assert float_of("1.000000059604644775390625") == 1.0


def test_decimals_of_tables() -> None:
    assert fitted(Decimal("1.235"), 4, 2) == Decimal("1.24")
    assert fitted(Decimal("99.995"), 4, 2) is None
    assert fitted(Decimal("0E+5"), 4, 2) == 0
    assert fitted(Decimal("1E+9999999999"), 4, 2) is None
    assert fitted(Decimal("1E-9999999999"), 4, 2) == 0


ROWS = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


def written(schema: Any, kind: TypeInformation, value: Any) -> str:
    """The record that a serialization schema makes of a row of one field."""
    row_type = Types.ROW_NAMED(["v"], [kind])
    encode = pickle.loads(pickle.dumps(schema(row_type).encoder(row_type)))
    return encode(Row(v=value)).decode()  # type: ignore[no-any-return]


def as_json(kind: TypeInformation) -> Any:
    return JsonRowSerializationSchema.builder().with_type_info(kind).build()


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Types.STRING(), '\x01\n"\\/é', '"\\u0001\\n\\"\\\\/é"'),
        (Types.STRING(), "😀", r'"\uD83D\uDE00"'),
        (Types.DOUBLE(), 1e7, "1.0E7"),
        (Types.DOUBLE(), math.nan, '"NaN"'),
        (Types.FLOAT(), 0.10000000149011612, "0.1"),
        (Types.BIG_DEC(), Decimal("3.00"), "3.00"),
        (Types.BIG_DEC(), Decimal("1E+3"), "1E+3"),
        (Types.SQL_TIME(), time(12, 34, 56), '"12:34:56Z"'),
        (Types.SQL_TIMESTAMP(), HALF, '"2024-07-01T12:34:56.5Z"'),
        (Types.INSTANT(), Instant(1_719_792_000, 500_000_000), '"2024-07-01T00:00:00.500Z"'),
        (BYTES, b"\x01\x02\x03", '"AQID"'),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": None}, '{"a":1,"b":null}'),
        (Types.OBJECT_ARRAY(ROWS), [Row(a=1, b=None), None], '[{"a":1,"b":null},null]'),
        (Types.BOOLEAN(), None, "null"),
    ],
)
def test_json_of_values(kind: TypeInformation, value: Any, text: str) -> None:
    assert written(as_json, kind, value) == f'{{"v":{text}}}'


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        *((Types.STRING(), value, value) for value in ("a", "a-b", "a;b", "é", "x" * 24, "")),
        *((Types.STRING(), value, f'"{value}"') for value in ("a b", "a,b", "#a", "x" * 25, "\\")),
        (Types.STRING(), 'a"b', '"a""b"'),
        (Types.STRING(), None, ""),
        (Types.DOUBLE(), 1e-5, "1.0E-5"),
        (Types.BIG_DEC(), Decimal("3.00"), "3.00"),
        (Types.SQL_TIMESTAMP(), datetime(2024, 7, 1, 12, 34), '"2024-07-01 12:34:00.0"'),
        (Types.OBJECT_ARRAY(Types.STRING()), ["a", None, "b c", ""], '"a;;b c;"'),
        (ROWS, Row(a=1, b="x"), "1;x"),
        (BYTES, b"\x01\x02\x03", "AQID"),
    ],
)
def test_csv_of_values(kind: TypeInformation, value: Any, text: str) -> None:
    assert written(lambda row: CsvRowSerializationSchema.Builder(row).build(), kind, value) == (
        f"{text}\n"
    )


def test_settings_of_csv() -> None:
    builder = CsvRowSerializationSchema.Builder(Types.ROW(STRINGS)).set_field_delimiter("|")
    builder.set_quote_character("'").set_escape_character("^").set_null_literal("-")
    encode = builder.set_line_delimiter("").build().encoder(Types.ROW(STRINGS))
    assert encode(("a'^b", None)) == b"'a''^^b'|-"
    plain = builder.disable_quote_character().build().encoder(Types.ROW(STRINGS))
    assert plain(("a|b", "c")) == b"a|b|c"
    with pytest.raises(IllegalArgumentError, match="ends with"):
        builder.set_line_delimiter("|")
    with pytest.raises(ArgumentTypeError, match="the elements have the type Long: declare the"):
        builder.build().encoder(Types.LONG())
    with pytest.raises(ArgumentTypeError, match="CSV has no form for"):
        CsvRowSerializationSchema.Builder(Types.ROW([Types.LIST(Types.INT())])).build()
