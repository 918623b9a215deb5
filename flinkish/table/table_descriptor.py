"""PyFlink's descriptions of tables of connectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


@dataclass(frozen=True)
class FormatDescriptor:
    """A format and its options; `for_format` begins one."""

    _format: str
    _options: Mapping[str, str]

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Begin a format, such as ``json``."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """The options of the format."""
        return dict(self._options)

    @dataclass
    class Builder:
        """The options that are collected."""

        _format: str
        _options: dict[str, str] = field(default_factory=dict)

        def option(self, key: str, value: Any) -> FormatDescriptor.Builder:
            """Set an option, without the name of the format before it."""
            self._options[key] = _text(value)
            return self

        def build(self) -> FormatDescriptor:
            """Make the format."""
            return FormatDescriptor(self._format, dict(self._options))


@dataclass(frozen=True)
class TableDescriptor:
    """A table of a connector, as ``CREATE TABLE ... WITH`` says it; `for_connector` begins one."""

    _schema: Schema | None
    _options: Mapping[str, str]
    _comment: str | None = None

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Begin a table of a connector, such as ``filesystem``."""
        return TableDescriptor.Builder({"connector": connector})

    def get_schema(self) -> Schema | None:
        """The columns, if they were declared."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """The options, with the connector's name."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """The columns by which files are divided: none."""
        return []

    def get_comment(self) -> str | None:
        """The comment on the table, if there is one."""
        return self._comment

    def __str__(self) -> str:
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in self._options.items())
        return f"{self._schema or '()'}\nWITH (\n{options}\n)"

    @dataclass
    class Builder:
        """The columns and options that are collected."""

        _options: dict[str, str]
        _schema: Schema | None = None
        _comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Set the columns."""
            self._schema = schema
            return self

        def option(self, key: str, value: Any) -> TableDescriptor.Builder:
            """Set an option."""
            self._options[key] = _text(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: Any = None
        ) -> TableDescriptor.Builder:
            """Set the format, by its name or with its options.

            UnsupportedOperationError for the option of another format than the one of values.
            """
            if format_option is not None:
                raise UnsupportedOperationError(
                    f"the format {format_option!r}: a table has one format here, that of its values"
                )
            if isinstance(format, FormatDescriptor):
                self._options["format"] = format.get_format()
                for key, value in format.get_options().items():
                    self._options[f"{format.get_format()}.{key}"] = value
            else:
                self._options["format"] = format
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Refused: UnsupportedOperationError says how files are divided on Spark."""
            raise UnsupportedOperationError(
                f"files by {', '.join(partition_keys)}: write them with Spark, as "
                "frame.write.partitionBy(...) does"
            )

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Set a comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """Make the table; IllegalArgumentError for one without a connector."""
            if not self._options.get("connector"):
                raise IllegalArgumentError("a table needs the name of a connector")
            return TableDescriptor(self._schema, dict(self._options), self._comment)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
