"""CSV files of rows, by Spark's own reader and writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flinkish.common.bulk import (
    BulkWriterFactory,
    RowDataBulkWriterFactory,
    kind_in_files,
)
from flinkish.common.data_types import DataType, DataTypes, NumericType, RowField, RowType
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import Types
from flinkish.environment.connectors.csv_cells import CellReader, written_list
from flinkish.environment.connectors.files import Reading, StreamFormat

__all__ = ["CsvBulkWriters", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]


@dataclass
class _Settings:
    """The settings of a builder; ``separators`` are those of array columns, by name."""

    separators: dict[str, str] = field(default_factory=dict)
    column_separator: str = ","
    quote: str = '"'
    escape: str = ""
    line_separator: str = "\n"
    null_value: str | None = None
    comments: bool = False
    header: bool = False
    strict: bool = False
    skip_first: bool = False


class CsvSchema:
    """The columns of CSV files and how they are written; `builder` makes it."""

    def __init__(self, row_type: RowType, settings: _Settings) -> None:
        self.row_type = row_type
        self.settings = settings

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begin with no columns."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """How many columns there are."""
        return len(self.row_type)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        columns = ", ".join(f"{one.name} {one.data_type}" for one in self.row_type)
        return f"CsvSchema({columns})"

    __repr__ = __str__


class CsvSchemaBuilder:
    """The columns and settings of a `CsvSchema`."""

    def __init__(self) -> None:
        self._fields: list[RowField] = []
        self._settings = _Settings()

    def add_array_column(
        self, name: str, separator: str = ";", element_type: DataType | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of lists of texts or, with their type, of numbers or truth values."""
        self._settings.separators[name] = separator
        kind = DataTypes.STRING() if element_type is None else element_type
        if kind.kind not in (Types.STRING(), Types.BOOLEAN()) and not isinstance(kind, NumericType):
            raise ArgumentTypeError(
                f"the arrays of CSV hold texts, numbers or truth values, and those of {name} are "
                f"of {kind}"
            )
        return self._add(name, DataTypes.ARRAY(kind))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of ``true`` and ``false``, in any case of letters."""
        return self._add(name, DataTypes.BOOLEAN())

    def add_number_column(
        self, name: str, number_type: NumericType | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of numbers, BIGINT by default; an empty cell is None."""
        kind = DataTypes.BIGINT() if number_type is None else number_type
        if not isinstance(kind, NumericType):
            raise ArgumentTypeError(
                f"the numbers of {name} are of a type such as DataTypes.INT(), not {kind!r}"
            )
        return self._add(name, kind)

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of texts; an empty cell is an empty text."""
        return self._add(name, DataTypes.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema."""
        for one in schema.row_type:
            self._add(one.name, one.data_type)
        self._settings.separators |= schema.settings.separators
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        self._fields.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Leave out lines that begin with ``#``."""
        self._settings.comments = allow
        return self

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Refused: Spark has no column for what a line has beside the schema."""
        raise UnsupportedOperationError(
            f"columns of Spark have names, so there is no place for the others under {name!r}: "
            "add each column, or read lines with StreamFormat.text_line_format() and split them"
        )

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Take each cell of the arrays for one element."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Take each cell of the column at ``index`` for one element."""
        self._settings.separators[self._fields[index].name] = ""
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what is between elements, for the array columns that were added so far."""
        for name in self._settings.separators:
            self._settings.separators[name] = separator
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set what is between two cells, "," by default; one character."""
        self._settings.column_separator = _one(char, "the column separator")
        return self

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Take no character for an escape, as by default."""
        self._settings.escape = ""
        return self

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set what is before quotes within cells; without it they are doubled."""
        self._settings.escape = _one(char, "the escape character")
        return self

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Set what is between lines that are written: ``\n``, ``\r`` or ``\r\n``."""
        if separator not in ("\n", "\r", "\r\n"):
            raise UnsupportedOperationError(
                rf"the lines of Spark's CSV end with \n, \r or \r\n, not {separator!r}"
            )
        self._settings.line_separator = separator
        return self

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for None."""
        self._settings.null_value = null_value
        return self

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Take quotes for a part of the cells; files that are written need them."""
        self._settings.quote = ""
        return self

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set what is around cells that have separators or quotes in them."""
        self._settings.quote = _one(char, "the quote character")
        return self

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Leave out the first line of each file."""
        self._settings.skip_first = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Fail if the names in a header are not those of the columns."""
        self._settings.strict = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Take the first line of each file for names, and write one."""
        self._settings.header = use
        return self

    def size(self) -> int:
        """How many columns there are."""
        return len(self._fields)

    def __len__(self) -> int:
        return self.size()

    def build(self) -> CsvSchema:
        """Make the schema; IllegalArgumentError without a column or with two of one name."""
        names = [one.name for one in self._fields]
        if not names or len(set(names)) != len(names):
            raise IllegalArgumentError(
                f"a CsvSchema has columns, each with its own name, and these are {names}"
            )
        if self._settings.skip_first and self._settings.header:
            raise UnsupportedOperationError(
                "Spark leaves out one line of a CSV file, and here it is the header: take "
                "set_use_header() or set_skip_first_data_row(), and drop the other in a filter"
            )
        return CsvSchema(DataTypes.ROW(self._fields), self._settings)

    def _add(self, name: str, kind: DataType) -> CsvSchemaBuilder:
        self._fields.append(DataTypes.FIELD(name, kind))
        return self


class CsvReaderFormat(StreamFormat):
    """Rows of CSV files; `for_schema` makes it.

    A line that has too few or too many cells fails the job, and so does a cell that is no value of
    its column's type; the error shows it.  Quotes may hold line breaks, so that a file is read by
    one task, as in Flink.
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Rows of these columns."""
        told = _checked(schema).settings
        options = {
            **_common(told),
            "mode": "FAILFAST",
            "multiLine": str(bool(told.quote)).lower(),
            "comment": "#" if told.comments else "",
            "header": str(told.header or told.skip_first).lower(),
            "enforceSchema": str(not (told.strict and told.header)).lower(),
        }
        names = [in_backticks(one.name) for one in schema.row_type]
        texts = ", ".join(f"{name} string" for name in names)
        reader = CellReader(told.null_value, "a CSV file")
        cells = [
            reader.value(
                name, one.name, kind_in_files(one.data_type.kind), told.separators.get(one.name, "")
            )
            for one, name in zip(schema.row_type, names, strict=True)
        ]
        selected = [f"{cell} AS {name}" for cell, name in zip(cells, names, strict=True)]
        kind = kind_in_files(schema.row_type.kind)
        return CsvReaderFormat(Reading("csv", kind, options, texts, [selected]))


class CsvBulkWriters:
    """Writers of CSV files of rows."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Rows of these columns, by their places.

        An empty text is a pair of quotes, and None is nothing unless there is a text for it.
        """
        return _CsvWriterFactory(_checked(schema))


class _CsvWriterFactory(RowDataBulkWriterFactory):
    def __init__(self, schema: CsvSchema) -> None:
        told = schema.settings
        if not told.quote:
            raise UnsupportedOperationError(
                "Spark's CSV writer puts quotes around cells that have separators in them: leave "
                "disable_quote_char() out, or map rows to texts and take FileSink.for_row_format"
            )
        options = {
            **_common(told),
            "header": str(told.header).lower(),
            "lineSep": told.line_separator,
            "nullValue": told.null_value or "",
            "emptyValue": 2 * told.quote,
            "ignoreLeadingWhiteSpace": "false",
            "ignoreTrailingWhiteSpace": "false",
        }
        super().__init__("csv", options, schema.row_type)
        self._separators = told.separators

    def expressions(self, columns: Sequence[str]) -> list[str]:
        """The cells; elements of arrays in one text."""
        found = []
        for one, column in zip(self._row_type.fields, columns, strict=True):
            name, cell = in_backticks(one.name), in_backticks(column)
            if one.name in self._separators:
                cell = written_list(cell, self._separators[one.name])
            else:
                cell = f"cast({cell} AS {kind_in_files(one.data_type.kind).to_ddl()})"
            found.append(f"{cell} AS {name}")
        return found


def _common(told: _Settings) -> dict[str, str]:
    # Without an escape quotes are doubled, which Spark says so.
    escape = told.escape or told.quote
    return {"sep": told.column_separator, "quote": told.quote, "escape": escape}


def _checked(schema: object) -> CsvSchema:
    if not isinstance(schema, CsvSchema):
        raise ArgumentTypeError(
            "the format of CSV files needs a CsvSchema, which CsvSchema.builder() ends with "
            f"build(), not {schema!r}"
        )
    return schema


def _one(char: str, what: str) -> str:
    if len(char) != 1:
        raise IllegalArgumentError(f"{what} is one character, not {char!r}")
    return char
