"""Flink's record formats for tables, with Flink's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.names import in_backticks
from flinkish.common.row_formats.csv_cells import CsvDialect
from flinkish.common.row_formats.csv_records import CsvSettings
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.table_rows import CsvTableDecoder, JsonTableDecoder
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.environment.connectors.csv_cells import is_list, written_list
from flinkish.table.options import Options

__all__ = ["SqlRecords", "TableRows", "row_decoder"]


class TableRows(DeserializationSchema):
    """The format of a table's rows in Kafka records."""

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

    UnsupportedOperationError for a column that the format cannot represent.
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


class SqlRecords(SerializationSchema):
    """The rows of a table as records, by Spark's ``to_json`` or ``to_csv``."""

    def __init__(self, format_: str, row_type: RowTypeInfo, options: Mapping[str, str]) -> None:
        self._function = f"to_{format_}"
        self._row_type = row_type
        self._options = options

    def expression(self, columns: Sequence[str]) -> str:
        """The bytes of the columns, under the table's names for them."""
        names = self._row_type.get_field_names()
        fields = ", ".join(
            f"{self._cell(in_backticks(column), type_)} AS {in_backticks(name)}"
            for column, name, type_ in zip(columns, names, self._row_type.field_types, strict=True)
        )
        given = ", ".join(f"'{name}', '{value}'" for name, value in self._options.items())
        return f"cast({self._function}(struct({fields}), map({given})) AS binary)"

    def _cell(self, column: str, type_: TypeInformation) -> str:
        is_lists = self._function == "to_csv" and is_list(type_)
        return written_list(column, ";") if is_lists else column
