"""The formats of tables' records, without Spark."""

from __future__ import annotations

import pickle
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import pytest

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.table import DataTypes
from flinkish.table.formats import row_decoder
from flinkish.table.options import Options

COLUMNS = {
    "n": DataTypes.INT(),
    "s": DataTypes.STRING(),
    "d": DataTypes.DECIMAL(10, 2),
    "day": DataTypes.DATE(),
    "clock": DataTypes.TIME(),
    "at": DataTypes.TIMESTAMP(3),
    "moment": DataTypes.TIMESTAMP_LTZ(3),
    "l": DataTypes.ARRAY(DataTypes.INT()),
}
KIND = RowTypeInfo([one.kind for one in COLUMNS.values()], list(COLUMNS))
MAPS = RowTypeInfo([DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()).kind], ["m"])
UTC = timezone.utc


def decoder(format_: str, kind: RowTypeInfo = KIND, **given: str) -> RecordDecoder:
    options = Options(
        "t", {f"{format_}.{key.replace('_', '-')}": one for key, one in given.items()}
    )
    made = row_decoder(format_, kind, options)
    options.done()
    return pickle.loads(pickle.dumps(made))  # type: ignore[no-any-return]


def row(format_: str, record: str, **given: str) -> Any:
    [found] = decoder(format_, **given).decode(record.encode())
    return found


def test_json() -> None:
    """Texts of numbers are those of the record; timestamps have a blank, or a T if so asked."""
    record = (
        '{"n":"2","s":1.10,"d":1.235,"day":"2024-07-01","clock":"12:34:56.5",'
        '"at":"2024-07-01 12:30:00.5","moment":"2024-07-01 12:30:00Z","l":[1,null,"3"]}'
    )
    noon = datetime(2024, 7, 1, 12, 30)
    half = datetime(2024, 7, 1, 12, 30, 0, 500_000)
    assert row("json", record) == (
        *(2, "1.10", Decimal("1.24"), date(2024, 7, 1), time(12, 34, 56, 500_000), half),
        *(noon.replace(tzinfo=UTC), [1, None, 3]),
    )
    iso = {"timestamp_format.standard": "ISO-8601"}
    given = '{"at":"2024-07-01T12:30:00.5","moment":"2024-07-01T12:30Z","s":{"a":1.50}}'
    assert row("json", given, **iso)[5:7] == (half, noon.replace(tzinfo=UTC))
    assert row("json", given, **iso)[1] == '{"a":1.5}'
    assert row("json", '{"moment":"2024-07-01 12:30:00"}')[6] == noon
    with pytest.raises(RecordError, match=r"field at: .* is not a timestamp such as 2024-07-01 12"):
        row("json", '{"at":"2024-07-01T12:30:00"}')
    assert row("json", '{"at":"x","n":1}', ignore_parse_errors="true")[:2] == (1, None)
    for value in ("[1]", "5", '"a"'):
        with pytest.raises(RecordError, match=r"field m: .* is not a JSON object"):
            decoder("json", MAPS).decode(f'{{"m":{value}}}'.encode())
    assert row("json", '{"d":123456789}')[2] is None  # more digits than the column has
    lenient = decoder("json", MAPS, ignore_parse_errors="true")
    assert lenient.decode(b'[{"m":{"a":1}},5,null,{}]') == [({"a": 1},), (None,)]
    with pytest.raises(RecordError, match="5 is not a JSON object"):
        decoder("json", MAPS).decode(b"[{},5]")
    for nothing in (None, b"", b" \r", b"null"):
        assert decoder("json").decode(nothing) == []


def test_csv() -> None:
    """An empty cell is None, but for texts."""
    record = "2,a,1.5,2024-07-01,12:34,2024-07-01 12:30:00,2024-07-01 12:30:00Z,1;3"
    noon = datetime(2024, 7, 1, 12, 30)
    assert row("csv", record) == (
        *(2, "a", Decimal("1.50"), date(2024, 7, 1), time(12, 34), noon),
        *(noon.replace(tzinfo=UTC), [1, 3]),
    )
    assert row("csv", ",,,,,,,") == (None, "", None, None, None, None, None, [])
    assert row("csv", ",-,,,,,,", null_literal="-")[1] is None
    assert row(
        "csv", "1;'a;b'", field_delimiter=";", quote_character="'", ignore_parse_errors="true"
    )[:2] == (1, "a;b")
    assert decoder("csv").decode(None) == []


def test_what_is_refused() -> None:
    with pytest.raises(IllegalArgumentError, match="SQL or ISO-8601, not 'RFC'"):
        decoder("json", **{"timestamp_format.standard": "RFC"})
    with pytest.raises(IllegalArgumentError, match=r"has both json\.fail-on-missing-field"):
        decoder("json", fail_on_missing_field="true", ignore_parse_errors="true")
    with pytest.raises(IllegalArgumentError, match=r"'csv\.field-delimiter' .* is one character"):
        decoder("csv", field_delimiter="||")
    with pytest.raises(UnsupportedOperationError, match="the table t: CSV has no form for Map"):
        decoder("csv", MAPS)
