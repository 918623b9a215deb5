"""Formats of rows in records: JSON and CSV, read and written by Spark's own functions."""

from __future__ import annotations

from collections.abc import Sequence

from flinkish.common.ddl import schema_ddl
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import in_backticks
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation, Types
from flinkish.environment.connectors.csv_cells import CellReader, is_list, quotable, written_list

__all__ = [
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
]

_BAD = "__flinkish_bad"


class _RowDeserializationSchema(DeserializationSchema):
    """Rows of a declared type in texts."""

    _function = ""
    _comments = False

    def __init__(self, kind: RowTypeInfo, options: dict[str, str], *, ignores_errors: bool) -> None:
        self._kind = kind
        self._options = options
        self._ignores = ignores_errors

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._kind

    def selections(self, column: str) -> Sequence[Sequence[str]]:
        """The fields; a record that cannot be read fails the job, or is left out if so asked."""
        fields = schema_ddl(self._read_kind())
        options = {**self._options, "mode": "FAILFAST"}
        if self._ignores:
            fields += f", {_BAD} string"
            options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BAD}
        given = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
        text = f"cast({column} AS string)"
        comment = f"startswith({text}, '#')"
        if self._comments:
            text = f"if({comment}, NULL, {text})"
        read = self._checked(text, f"{self._function}({text}, '{quotable(fields)}', map({given}))")
        if self._ignores:
            read = f"filter(array({read}), r -> r.{_BAD} IS NULL)"
        else:
            read = f"array({read})"
        if self._comments:
            read = f"filter({read}, r -> NOT coalesce({comment}, false))"
        fields_of = zip(self._kind.get_field_names(), self._kind.field_types, strict=True)
        names = [self._value(f"r.{in_backticks(name)}", name, kind) for name, kind in fields_of]
        return [[f"inline(transform({read}, x -> struct(x AS r)))"], names]

    def _read_kind(self) -> RowTypeInfo:
        """The type of what Spark's function reads."""
        return self._kind

    def _checked(self, text: str, read: str) -> str:
        """The expression that reads a text, with what is to be checked before."""
        return read

    def _value(self, field: str, name: str, kind: TypeInformation) -> str:
        """A field of the elements out of one that was read."""
        return field


class JsonRowDeserializationSchema(_RowDeserializationSchema):
    """Rows as JSON objects; `builder` makes it."""

    _function = "from_json"
    _complete = False

    def _checked(self, text: str, read: str) -> str:
        if not self._complete:
            return read
        names = ", ".join(f"'{quotable(name)}'" for name in self._kind.get_field_names())
        missing = f"array_except(array({names}), json_object_keys({text}))"
        error = f"raise_error(concat('no ', array_join({missing}, ', '), ' in the JSON ', {text}))"
        return f"if(cardinality({missing}) > 0, {error}, {read})"

    class Builder:
        """The settings of the format."""

        def __init__(self) -> None:
            self._kind: TypeInformation | None = None
            self._ignores = False
            self._complete = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows, with names of fields."""
            self._kind = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Refused: types of rows come from `type_info`."""
            raise UnsupportedOperationError(
                "a JSON schema is not read here: give type_info(Types.ROW_NAMED(...)) with the "
                "schema's properties"
            )

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Fail for a record that lacks a field, whose value would be None."""
            self._complete = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Leave out records that are no JSON of this type, instead of failing."""
            self._ignores = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Make the format."""
            if self._ignores and self._complete:
                raise IllegalArgumentError(
                    "a record that lacks a field fails the job or is left out: take "
                    "fail_on_missing_field() or ignore_parse_errors()"
                )
            kind = _row_type(self._kind, "JsonRowDeserializationSchema")
            made = JsonRowDeserializationSchema(kind, {}, ignores_errors=self._ignores)
            made._complete = self._complete
            return made

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begin with no settings."""
        return JsonRowDeserializationSchema.Builder()


class CsvRowDeserializationSchema(_RowDeserializationSchema):
    """Rows as lines of values; the constructor of its `Builder` takes their type."""

    _function = "from_csv"
    _between = ";"

    _null: str | None = None

    def _read_kind(self) -> RowTypeInfo:
        names = self._kind.get_field_names()
        return RowTypeInfo([Types.STRING()] * len(names), names)

    def _value(self, field: str, name: str, kind: TypeInformation) -> str:
        reader = CellReader(self._null, "a record of CSV", lenient=self._ignores)
        return f"{reader.value(field, name, kind, self._between)} AS {in_backticks(name)}"

    class Builder:
        """The settings of the format."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._kind = _row_type(type_info, "CsvRowDeserializationSchema")
            self._options: dict[str, str] = {}
            self._between = ";"
            self._null: str | None = None
            self._comments = False
            self._ignores = False

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Leave out records that begin with ``#``."""
            self._comments = allow_comments
            return self

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """Set what is between elements of arrays, ";" by default."""
            self._between = delimiter
            return self

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is between two values, "," by default."""
            return self._set("sep", delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is around values that have delimiters in them."""
            return self._set("quote", c)

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is before quotes within values."""
            return self._set("escape", c)

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that stands for None."""
            self._null = null_literal
            return self

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Give None for values that are not of their types, instead of failing, as in PyFlink.

            A record with too few or too many values is left out.
            """
            self._ignores = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Make the format."""
            options = _doubled_quotes(self._options)
            made = CsvRowDeserializationSchema(self._kind, options, ignores_errors=self._ignores)
            made._comments, made._between, made._null = self._comments, self._between, self._null
            return made

        def _set(self, option: str, value: str) -> CsvRowDeserializationSchema.Builder:
            self._options[option] = quotable(value)
            return self


class _RowSerializationSchema(SerializationSchema):
    """Rows as texts; ``_end`` comes after each."""

    _function = ""
    _end = ""

    def __init__(self, kind: RowTypeInfo, options: dict[str, str]) -> None:
        self._kind = kind
        self._options = options

    def expression(self, columns: Sequence[str]) -> str:
        """The bytes of the columns, under the names that the type has for them."""
        names = self._kind.get_field_names()
        if len(names) != len(columns):
            raise ArgumentTypeError(
                f"the format has the fields {', '.join(names)}, and the elements have "
                f"{', '.join(columns)}: declare the same type for both"
            )
        fields = ", ".join(
            f"{self._cell(in_backticks(column), kind)} AS {in_backticks(name)}"
            for column, name, kind in zip(columns, names, self._kind.field_types, strict=True)
        )
        given = ", ".join(f"'{name}', '{value}'" for name, value in self._options.items())
        text = f"{self._function}(struct({fields}), map({given}))"
        if self._end:
            text = f"concat({text}, '{self._end}')"
        return f"cast({text} AS binary)"

    def _cell(self, column: str, kind: TypeInformation) -> str:
        """A field that Spark's function writes, of a column."""
        return column


class JsonRowSerializationSchema(_RowSerializationSchema):
    """Rows as JSON objects; `builder` makes it."""

    _function = "to_json"

    class Builder:
        """The settings of the format."""

        def __init__(self) -> None:
            self._kind: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows, with names of fields."""
            self._kind = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Make the format."""
            kind = _row_type(self._kind, "JsonRowSerializationSchema")
            return JsonRowSerializationSchema(kind, {"ignoreNullFields": "false"})

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begin with no settings."""
        return JsonRowSerializationSchema.Builder()


class CsvRowSerializationSchema(_RowSerializationSchema):
    """Rows as lines of values; the constructor of its `Builder` takes their type."""

    _function = "to_csv"
    _between = ";"

    def _cell(self, column: str, kind: TypeInformation) -> str:
        return written_list(column, self._between) if is_list(kind) else column

    class Builder:
        """The settings of the format."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._kind = _row_type(type_info, "CsvRowSerializationSchema")
            self._options = {
                "sep": ",",
                "ignoreLeadingWhiteSpace": "false",
                "ignoreTrailingWhiteSpace": "false",
            }
            self._between = ";"
            self._end = ""

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is between two values, "," by default."""
            return self._set("sep", c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the end of each record, nothing by default."""
            self._end = quotable(delimiter)
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what is between elements of arrays, ";" by default."""
            self._between = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Refused: Spark puts quotes around values that have delimiters in them."""
            raise UnsupportedOperationError(
                "Spark's CSV needs quotes around values that have delimiters in them: leave "
                "disable_quote_character() out, or map rows to texts and take SimpleStringSchema"
            )

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is around values that have delimiters in them."""
            return self._set("quote", c)

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is before quotes within values; without it they are doubled."""
            return self._set("escape", c)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None."""
            return self._set("nullValue", s)

        def build(self) -> CsvRowSerializationSchema:
            """Make the format."""
            made = CsvRowSerializationSchema(self._kind, _doubled_quotes(self._options))
            made._between, made._end = self._between, self._end
            return made

        def _set(self, option: str, value: str) -> CsvRowSerializationSchema.Builder:
            self._options[option] = quotable(value)
            return self


def _doubled_quotes(options: dict[str, str]) -> dict[str, str]:
    """Options of CSV in which quotes are doubled unless there is an escape, as in Flink."""
    return {"escape": options.get("quote", '"'), **options}


def _row_type(kind: TypeInformation | None, what: str) -> RowTypeInfo:
    if not isinstance(kind, RowTypeInfo):
        raise ArgumentTypeError(
            f"{what} is of rows, so it needs type information such as "
            f"Types.ROW_NAMED(['id'], [Types.LONG()]), not {kind}"
        )
    return kind
