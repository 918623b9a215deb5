"""Formats of rows in records: JSON and CSV, read and written by Spark's own functions."""

from __future__ import annotations

from collections.abc import Sequence

from flinkish.common.ddl import schema_ddl
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation

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

    def __init__(self, kind: RowTypeInfo, options: dict[str, str], *, ignores_errors: bool) -> None:
        self._kind = kind
        self._options = options
        self._ignores = ignores_errors

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._kind

    def selections(self, column: str) -> Sequence[Sequence[str]]:
        """The fields; a record that cannot be read fails the job, or is left out if so asked."""
        fields = schema_ddl(self._kind)
        options = {**self._options, "mode": "FAILFAST"}
        if self._ignores:
            fields += f", {_BAD} string"
            options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BAD}
        given = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
        text = f"cast({column} AS string)"
        read = f"{self._function}({text}, '{fields}', map({given}))"
        if self._ignores:
            read = f"filter(array({read}), r -> r.{_BAD} IS NULL)"
        else:
            read = f"array({read})"
        names = [f"r.`{name}`" for name in self._kind.get_field_names()]
        return [[f"inline(transform({read}, x -> struct(x AS r)))"], names]


class JsonRowDeserializationSchema(_RowDeserializationSchema):
    """Rows as JSON objects; `builder` makes it."""

    _function = "from_json"

    class Builder:
        """The settings of the format."""

        def __init__(self) -> None:
            self._kind: TypeInformation | None = None
            self._ignores = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows, with names of fields."""
            self._kind = type_info
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Leave out records that are no JSON of this type, instead of failing."""
            self._ignores = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Make the format."""
            kind = _row_type(self._kind, "JsonRowDeserializationSchema")
            return JsonRowDeserializationSchema(kind, {}, ignores_errors=self._ignores)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begin with no settings."""
        return JsonRowDeserializationSchema.Builder()


class CsvRowDeserializationSchema(_RowDeserializationSchema):
    """Rows as lines of values; the constructor of its `Builder` takes their type."""

    _function = "from_csv"

    class Builder:
        """The settings of the format."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._kind = _row_type(type_info, "CsvRowDeserializationSchema")
            self._options: dict[str, str] = {}
            self._ignores = False

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
            return self._set("nullValue", null_literal)

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Leave out records that are no values of these types, instead of failing."""
            self._ignores = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Make the format."""
            return CsvRowDeserializationSchema(
                self._kind, self._options, ignores_errors=self._ignores
            )

        def _set(self, option: str, value: str) -> CsvRowDeserializationSchema.Builder:
            self._options[option] = quotable(value)
            return self


class _RowSerializationSchema(SerializationSchema):
    """Rows as texts."""

    _function = ""

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
            f"`{column}` AS `{name}`" for column, name in zip(columns, names, strict=True)
        )
        given = ", ".join(f"'{name}', '{value}'" for name, value in self._options.items())
        return f"cast({self._function}(struct({fields}), map({given})) AS binary)"


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

    class Builder:
        """The settings of the format."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._kind = _row_type(type_info, "CsvRowSerializationSchema")
            self._options = {"sep": ","}

        def set_field_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what is between two values, "," by default."""
            self._options["sep"] = quotable(delimiter)
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None."""
            self._options["nullValue"] = quotable(null_literal)
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Make the format."""
            return CsvRowSerializationSchema(self._kind, self._options)


def _row_type(kind: TypeInformation | None, what: str) -> RowTypeInfo:
    if not isinstance(kind, RowTypeInfo):
        raise ArgumentTypeError(
            f"{what} is of rows, so it needs type information such as "
            f"Types.ROW_NAMED(['id'], [Types.LONG()]), not {kind}"
        )
    return kind


def quotable(value: str) -> str:
    """A text for a literal of SQL."""
    return value.replace("\\", "\\\\").replace("'", "\\'")
