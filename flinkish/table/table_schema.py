"""PyFlink's schemas of tables that there are: names and types of columns."""

from __future__ import annotations

from collections.abc import Sequence

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.table.types import DataType, DataTypes, data_type_of

__all__ = ["TableSchema"]


class TableSchema:
    """The names and types of the columns of a table."""

    def __init__(self, field_names: Sequence[str], data_types: Sequence[DataType]) -> None:
        if len(field_names) != len(data_types):
            raise IllegalArgumentError(
                f"a schema has a type for each column, and these are {len(field_names)} names and "
                f"{len(data_types)} types"
            )
        self._names = tuple(field_names)
        self._types = tuple(data_types)

    @staticmethod
    def of(kind: RowTypeInfo) -> TableSchema:
        """The schema of the table of such rows."""
        return TableSchema(kind.get_field_names(), [data_type_of(one) for one in kind.field_types])

    class Builder:
        """The columns that are collected."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """Make the schema."""
            return TableSchema(self._names, self._types)

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Begin with no columns."""
        return cls.Builder()

    def copy(self) -> TableSchema:
        """An equal schema."""
        return TableSchema(self._names, self._types)

    def get_field_data_types(self) -> list[DataType]:
        """The types, in order."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of the column of a name, or at a place; None if there is none."""
        at = field
        if isinstance(at, str):
            if at not in self._names:
                return None
            at = self._names.index(at)
        return self._types[at] if 0 <= at < len(self._types) else None

    def get_field_count(self) -> int:
        """How many columns there are."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """The names, in order."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name of the column at a place; None if there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> DataType:
        """The type of the rows."""
        pairs = zip(self._names, self._types, strict=True)
        return DataTypes.ROW([DataTypes.FIELD(name, one) for name, one in pairs])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableSchema):
            return NotImplemented
        return (self._names, self._types) == (other._names, other._types)

    def __hash__(self) -> int:
        return hash((self._names, self._types))

    def __repr__(self) -> str:
        pairs = zip(self._names, self._types, strict=True)
        return "".join(["root\n", *(f" |-- {name}: {one}\n" for name, one in pairs)])
