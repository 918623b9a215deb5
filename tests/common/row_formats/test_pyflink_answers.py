"""What PyFlink 2.3 answers to given records, without Spark (`pyflink_answers.json`)."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Types
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.texts import charset_of, decoded, lines_of
from flinkish.common.serialization import DeserializationSchema
from flinkish.datastream.formats.csv import CsvRowDeserializationSchema
from flinkish.datastream.formats.json import JsonRowDeserializationSchema

CASES = json.loads((Path(__file__).parent / "pyflink_answers.json").read_text())["cases"]


def type_of(text: str) -> Any:
    """The type that a text such as ``Types.ROW_NAMED(['v'], [INT()])`` names."""
    names = {name: getattr(Types, name) for name in dir(Types) if name.isupper()}
    return eval(text, {"Types": Types, **names})


def schema_of(case: dict[str, Any]) -> DeserializationSchema:
    builder: Any
    if case["format"] == "csv":
        builder = CsvRowDeserializationSchema.Builder(type_of(case["type"]))
        for setter, value in case["options"].items():
            name = "set_ignore_parse_errors" if setter == "ignore_parse_errors" else setter
            getattr(builder, name)(value)
        return builder.build()  # type: ignore[no-any-return]
    builder = JsonRowDeserializationSchema.builder().type_info(type_of(case["type"]))
    if "ignore_parse_errors" in case["options"]:
        builder.ignore_parse_errors()
    return builder.build()  # type: ignore[no-any-return]


def decoder_of(case: dict[str, Any]) -> RecordDecoder:
    decoder = schema_of(case).decoder()
    assert decoder is not None
    return decoder


def told(value: Any) -> Any:
    """A value in the terms of the table."""
    if value is None:
        return None
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, float):
        return ["float", "nan" if math.isnan(value) else str(value)]
    if isinstance(value, Decimal):
        return ["dec", format(value, "f")]
    if isinstance(value, datetime):
        return ["ts", value.strftime("%Y-%m-%d %H:%M:%S.%f")]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(value).decode()]
    if isinstance(value, dict):
        return ["map", [[told(key), told(item)] for key, item in value.items()]]
    if isinstance(value, (list, tuple)):
        return ["list" if isinstance(value, list) else "row", list(map(told, value))]
    name = {int: "int", str: "str", date: "date", time: "time"}[type(value)]
    return [name, str(value)]


def title(case: dict[str, Any]) -> str:
    return f"{case['format']}: {case['name']} {case['options'] or ''}"


@pytest.mark.parametrize("case", [case for case in CASES if case["format"] != "text"], ids=title)
def test_rows_of_records(case: dict[str, Any]) -> None:
    record = base64.b64decode(case["input"])
    if case["value"] == "refused":
        with pytest.raises(ArgumentTypeError):
            schema_of(case)
        return
    decoder = decoder_of(case)
    if case["value"] == "fails":
        with pytest.raises(RecordError):
            decoder.decode(record)
    elif case["value"] == "skipped":
        assert decoder.decode(record) == []
    else:
        [row] = decoder.decode(record)
        assert list(map(told, row)) == case["value"]


@pytest.mark.parametrize("case", [case for case in CASES if case["format"] == "text"], ids=title)
def test_lines_of_files(case: dict[str, Any]) -> None:
    data = base64.b64decode(case["input"])
    text = decoded(data, charset_of(case["options"]["charset"]))
    assert lines_of(text) == case["value"]
