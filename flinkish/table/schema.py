"""PyFlink's schemas that are declared: for tables of streams, and of connectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.table.type_texts import type_of
from flinkish.table.types import DataType, data_type_of

__all__ = ["NO_METADATA", "Schema"]

_TRAILS = re.compile(
    r"`?(\w+)`?(?:\s*-\s*INTERVAL\s*'(\d+(?:\.\d+)?)'\s*(MILLISECOND|SECOND|MINUTE|HOUR|DAY)S?)?",
    re.I,
)
_UNITS_MS = {
    "MILLISECOND": 1,
    "SECOND": 1000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
}
NO_METADATA = (
    "connectors give no columns of metadata here: read them with flinkish.environment's sources or "
    "with Spark"
)


@dataclass(frozen=True)
class Schema:
    """The columns of a table that is to be; `new_builder` begins one.

    ``columns`` are those that rows have, ``computed`` those that are expressions of Spark's SQL of
    them, by name; ``order`` has the names of both as they were declared.  ``times`` are the columns
    of event time, each with how far its watermark trails
    the highest value (ms).
    """

    columns: tuple[tuple[str, DataType], ...] = ()
    computed: tuple[tuple[str, str], ...] = ()
    times: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] = ()

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Begin with no columns."""
        return Schema.Builder()

    @property
    def kind(self) -> RowTypeInfo:
        """The type of the rows; IllegalArgumentError if no column was declared."""
        if not self.columns:
            raise IllegalArgumentError(
                "the schema has no columns: add some, with column('id', DataTypes.BIGINT())"
            )
        return RowTypeInfo(
            [one.kind for _, one in self.columns], [name for name, _ in self.columns]
        )

    def __str__(self) -> str:
        lines = [f"  `{name}` {one}" for name, one in self.columns]
        lines += [f"  `{name}` AS {expression}" for name, expression in self.computed]
        return "(\n" + ",\n".join(lines) + "\n)"

    @dataclass
    class Builder:
        """The columns that are collected."""

        _columns: list[tuple[str, DataType]] = field(default_factory=list)
        _computed: list[tuple[str, str]] = field(default_factory=list)
        _times: list[tuple[str, int]] = field(default_factory=list)
        _order: list[str] = field(default_factory=list)

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Add the columns of another schema."""
            self._columns += unresolved_schema.columns
            self._computed += unresolved_schema.computed
            self._times += unresolved_schema.times
            self._order += unresolved_schema.order
            return self

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Add the fields of a row type."""
            if not isinstance(data_type.kind, RowTypeInfo):
                raise ArgumentTypeError(
                    f"from_row_data_type takes a type DataTypes.ROW([...]), not {data_type}"
                )
            names = data_type.kind.get_field_names()
            kinds = [data_type_of(one) for one in data_type.kind.field_types]
            return self.from_fields(names, kinds)

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType | str]
        ) -> Schema.Builder:
            """Add columns of these names and types."""
            if len(field_names) != len(field_data_types):
                raise IllegalArgumentError(
                    f"from_fields takes a type for each name, not {len(field_names)} names and "
                    f"{len(field_data_types)} types"
                )
            for name, one in zip(field_names, field_data_types, strict=True):
                self.column(name, one)
            return self

        def column(self, column_name: str, data_type: DataType | str) -> Schema.Builder:
            """Add a column of a type, such as DataTypes.INT() or 'INT'."""
            self._new(column_name)
            self._columns.append((column_name, type_of(data_type)))
            return self

        def column_by_expression(self, column_name: str, expr: object) -> Schema.Builder:
            """Add a column that is an expression of others: an Expression, or Spark's SQL."""
            self._new(column_name)
            self._computed.append((column_name, str(expr)))
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Refused: UnsupportedOperationError says where metadata is."""
            raise UnsupportedOperationError(f"the column {column_name!r}: {NO_METADATA}")

        def watermark(self, column_name: str, watermark_expr: object) -> Schema.Builder:
            """Declare a column as event time, with a watermark that trails its highest value.

            ``watermark_expr`` is the column, or the column minus an interval: ``"ts - INTERVAL '5'
            SECOND"`` or ``col('ts') - lit(5).seconds``.

            Raises:
                UnsupportedOperationError: another watermark, such as SOURCE_WATERMARK().
                IllegalArgumentError: the table has event time already.
            """
            if self._times:
                raise IllegalArgumentError(
                    f"the schema has a watermark already, of {self._times[0][0]!r}"
                )
            self._times.append((column_name, _bound(column_name, watermark_expr)))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Take a key, which Flink does not enforce either."""
            return self

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Take a key with a name."""
            return self

        def build(self) -> Schema:
            """Make the schema."""
            return Schema(
                columns=tuple(self._columns),
                computed=tuple(self._computed),
                times=tuple(self._times),
                order=tuple(self._order),
            )

        def _new(self, name: str) -> None:
            taken = {one.lower() for one, _ in (*self._columns, *self._computed)}
            if name.lower() in taken:
                raise IllegalArgumentError(f"the schema has a column {name!r} already")
            self._order.append(name)


def _bound(column: str, watermark: object) -> int:
    """How far a watermark trails the highest value of its column (ms)."""
    trails = getattr(watermark, "trails", None)
    if trails is not None and trails[0] == column:
        return int(trails[1])
    text = str(watermark).strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    match = _TRAILS.fullmatch(text)
    if match is None or match[1] != column:
        raise UnsupportedOperationError(
            f"the watermark of {column!r} is {text!r}: take the column, or the column less an "
            f"interval, as in \"{column} - INTERVAL '5' SECOND\"; for another one call "
            "assign_timestamps_and_watermarks on the stream that to_data_stream(table) gives"
        )
    return 0 if match[2] is None else round(float(match[2]) * _UNITS_MS[match[3].upper()])
