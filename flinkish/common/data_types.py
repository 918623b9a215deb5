"""The Table API's names of column types, as the formats of files take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flinkish.common._basic_types import DecimalTypeInfo
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.refusals import refuses
from flinkish.common.typeinfo import RowTypeInfo, TimestampTypeInfo, TypeInformation, Types

__all__ = ["DataType", "DataTypes", "NumericType", "RowField", "RowType"]

_MOST_DIGITS = 38


@dataclass(frozen=True)
class DataType:
    """The type of a column: its text in Flink's SQL, and the type of its values in streams.

    Whether it may be null is kept for its text; Spark looks at the values.
    """

    text: str
    kind: TypeInformation
    nullable: bool = True

    def __str__(self) -> str:
        return self.text if self.nullable else f"{self.text} NOT NULL"

    def not_null(self) -> DataType:
        """The same, for values that are never null."""
        return type(self)(self.text, self.kind, False)


@dataclass(frozen=True)
class NumericType(DataType):
    """The type of a column of numbers."""


@dataclass(frozen=True)
class RowField:
    """A column of a table or a field of a row."""

    name: str
    data_type: DataType
    description: str | None = None


class RowType(DataType):
    """The type of rows, with names of fields."""

    def __init__(self, fields: Sequence[RowField], nullable: bool = True) -> None:
        inside = ", ".join(f"`{one.name}` {one.data_type}" for one in fields)
        kind = RowTypeInfo([one.data_type.kind for one in fields], [one.name for one in fields])
        super().__init__(f"ROW<{inside}>", kind, nullable)
        object.__setattr__(self, "fields", tuple(fields))
        object.__setattr__(self, "names", [one.name for one in fields])

    fields: tuple[RowField, ...]
    names: list[str]

    def not_null(self) -> RowType:
        """The same, for rows that are never null."""
        return RowType(self.fields, False)

    def field_names(self) -> list[str]:
        """The names in their order."""
        return list(self.names)

    def field_types(self) -> list[DataType]:
        """The types in their order."""
        return [one.data_type for one in self.fields]

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


@refuses(
    {
        "NULL": "a column has the type of its values: cast null to it, null_of(DataTypes.INT())",
        "MULTISET": "Spark has no multisets: take MAP(element, BIGINT())",
        "LIST_VIEW MAP_VIEW": "accumulators are any objects, and need no type",
        "SECOND MINUTE HOUR DAY MONTH YEAR INTERVAL": "columns have no intervals: keep a number of "
        "milliseconds or months",
    }
)
class DataTypes:
    """Types of columns by PyFlink's names: call them, ``DataTypes.BIGINT()``."""

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        """Texts; their length is not checked."""
        return DataType(f"CHAR({_positive('length', length)})", Types.STRING(), nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        """Texts; their length is not checked."""
        return DataType(f"VARCHAR({_positive('length', length)})", Types.STRING(), nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        """The type of texts."""
        return DataType("STRING", Types.STRING(), nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        """The type of truth values."""
        return DataType("BOOLEAN", Types.BOOLEAN(), nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> DataType:
        """Bytes; their length is not checked."""
        return DataType(f"BINARY({_positive('length', length)})", _BYTES, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> DataType:
        """Bytes; their length is not checked."""
        return DataType(f"VARBINARY({_positive('length', length)})", _BYTES, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        """Bytes of any length."""
        return DataType("BYTES", _BYTES, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> NumericType:
        """Decimals of ``precision`` digits, ``scale`` of them after the point."""
        if not 1 <= precision <= _MOST_DIGITS or not 0 <= scale <= precision:
            raise IllegalArgumentError(
                f"a decimal has 1 to {_MOST_DIGITS} digits and at most all of them after the "
                f"point, not ({precision}, {scale})"
            )
        info = DecimalTypeInfo(precision, scale)
        return NumericType(f"DECIMAL({precision}, {scale})", info, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> NumericType:
        """Ints of 8 bits."""
        return NumericType("TINYINT", Types.BYTE(), nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> NumericType:
        """Ints of 16 bits."""
        return NumericType("SMALLINT", Types.SHORT(), nullable)

    @staticmethod
    def INT(nullable: bool = True) -> NumericType:
        """Ints of 32 bits."""
        return NumericType("INT", Types.INT(), nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> NumericType:
        """Ints of 64 bits."""
        return NumericType("BIGINT", Types.LONG(), nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> NumericType:
        """Floats of 32 bits."""
        return NumericType("FLOAT", Types.FLOAT(), nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> NumericType:
        """Floats of 64 bits."""
        return NumericType("DOUBLE", Types.DOUBLE(), nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        """The type of dates."""
        return DataType("DATE", Types.SQL_DATE(), nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        """Times of a day; Spark has them since 4.1, and none in files."""
        return DataType(f"TIME({precision})", Types.SQL_TIME(), nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        """Times on a calendar and a clock, without a zone: Spark's TIMESTAMP_NTZ."""
        return DataType(f"TIMESTAMP({precision})", TimestampTypeInfo(wall_clock=True), nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> DataType:
        """Points in time, shown in the session's zone: Spark's TIMESTAMP."""
        return DataType(f"TIMESTAMP_LTZ({precision})", Types.SQL_TIMESTAMP(), nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        """The same under its short name."""
        return DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        """Lists of elements of one type."""
        kind = Types.LIST(_type("element_type", element_type).kind)
        return DataType(f"ARRAY<{element_type}>", kind, nullable)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        """Dicts with keys of one type and values of another."""
        key, value = _type("key_type", key_type), _type("value_type", value_type)
        kind = Types.MAP(key.kind, value.kind)
        return DataType(f"MAP<{key_type}, {value_type}>", kind, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of a row."""
        return RowField(name, _type("data_type", data_type), description)

    @staticmethod
    def ROW(row_fields: Iterable[RowField | DataType] = (), nullable: bool = True) -> RowType:
        """Rows of fields, which `FIELD` makes; bare types are named f0, f1 and so on."""
        fields = [
            RowField(f"f{at}", one) if isinstance(one, DataType) else one
            for at, one in enumerate(row_fields)
        ]
        for one in fields:
            if not isinstance(one, RowField):
                raise ArgumentTypeError(
                    f"a row has fields such as DataTypes.FIELD('id', DataTypes.INT()), not {one!r}"
                )
        return RowType(fields, nullable)


_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def _positive(what: str, value: int) -> int:
    if value < 1:
        raise IllegalArgumentError(f"{what} must be 1 or more, not {value}")
    return value


def _type(what: str, given: object) -> DataType:
    if not isinstance(given, DataType):
        slip = " (call it)" if callable(given) else ""
        raise ArgumentTypeError(f"{what} is a type such as DataTypes.BIGINT(), not {given!r}{slip}")
    return given
