"""Flink's formats of the records of tables, by the options that it has for them."""

from __future__ import annotations

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.row_formats.csv_cells import CsvDialect
from flinkish.common.row_formats.csv_records import CsvSettings
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.table_rows import CsvTableDecoder, JsonTableDecoder
from flinkish.common.serialization import DeserializationSchema
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.table.options import Options

__all__ = ["TableRows", "row_decoder"]


class TableRows(DeserializationSchema):
    """The rows of a table in records of Kafka."""

    def __init__(self, decoder: RecordDecoder) -> None:
        self._decoder = decoder

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._decoder.produced

    def decoder(self) -> RecordDecoder:
        """The format."""
        return self._decoder


def row_decoder(format_: str, row_type: RowTypeInfo, options: Options) -> RecordDecoder:
    """The format ``json`` or ``csv`` with the options of a table.

    UnsupportedOperationError for a column that the format has no form for.
    """
    try:
        return (_json if format_ == "json" else _csv)(row_type, options)
    except RecordError as error:
        raise UnsupportedOperationError(f"the table {options.table}: {error}") from None


def _json(row_type: RowTypeInfo, options: Options) -> RecordDecoder:
    ignores = options.flag("json.ignore-parse-errors")
    complete = options.flag("json.fail-on-missing-field")
    if ignores and complete:
        raise IllegalArgumentError(
            f"the table {options.table} has both json.fail-on-missing-field and "
            "json.ignore-parse-errors: a record that lacks a field fails the job or is left out"
        )
    timestamps = options.take("json.timestamp-format.standard", "SQL")
    assert timestamps is not None
    return JsonTableDecoder(row_type, timestamps, ignores=ignores, complete=complete)


def _csv(row_type: RowTypeInfo, options: Options) -> RecordDecoder:
    quote = _character(options, "csv.quote-character", '"')
    dialect = CsvDialect(
        _character(options, "csv.field-delimiter", ",") or ",",
        None if options.flag("csv.disable-quote-character") else quote,
        _character(options, "csv.escape-character", None),
        options.flag("csv.allow-comments"),
    )
    between = options.take("csv.array-element-delimiter", ";")
    assert between is not None
    settings = CsvSettings(dialect, between, options.take("csv.null-literal"))
    return CsvTableDecoder(row_type, settings, ignores=options.flag("csv.ignore-parse-errors"))


def _character(options: Options, key: str, default: str | None) -> str | None:
    value = options.take(key, default)
    if value is not None and len(value) != 1:
        raise IllegalArgumentError(
            f"the option '{key}' of the table {options.table} is one character, not {value!r}"
        )
    return value
