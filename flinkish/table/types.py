"""Types of columns under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.row import Row, RowKind
from flinkish.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["DataType", "DataTypes", "Row", "RowField", "RowKind", "data_type_of"]


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
        return DataType(self.text, self.kind, False)


@dataclass(frozen=True)
class RowField:
    """A field of a row type."""

    name: str
    data_type: DataType
    description: str | None = None


def _wall_clock() -> TypeInformation:
    return TimestampTypeInfo(wall_clock=True)


class DataTypes:
    """The types of columns; a call of a name makes one, as in ``DataTypes.DECIMAL(10, 2)``.

    Intervals, MULTISET and RAW have no columns here.  Spark's timestamps have microseconds.
    """

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        """Text of any length."""
        return DataType("STRING", Types.STRING(), nullable)

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        """Text; the length is not looked at."""
        return DataType(f"CHAR({length})", Types.STRING(), nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        """Text; the length is not looked at."""
        return DataType(f"VARCHAR({length})", Types.STRING(), nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        """True or false."""
        return DataType("BOOLEAN", Types.BOOLEAN(), nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> DataType:
        """Bytes; the length is not looked at."""
        return DataType(f"BINARY({length})", _bytes(), nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> DataType:
        """Bytes; the length is not looked at."""
        return DataType(f"VARBINARY({length})", _bytes(), nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        """Bytes, of any number."""
        return DataType("BYTES", _bytes(), nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        """Numbers of so many digits, ``scale`` of them after the point."""
        kind = (
            Types.BIG_DEC() if (precision, scale) == (38, 18) else DecimalTypeInfo(precision, scale)
        )
        return DataType(f"DECIMAL({precision}, {scale})", kind, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        """Integers of 8 bits."""
        return DataType("TINYINT", Types.BYTE(), nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        """Integers of 16 bits."""
        return DataType("SMALLINT", Types.SHORT(), nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        """Integers of 32 bits."""
        return DataType("INT", Types.INT(), nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        """Integers of 64 bits."""
        return DataType("BIGINT", Types.LONG(), nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        """Floating-point numbers of 32 bits."""
        return DataType("FLOAT", Types.FLOAT(), nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        """Floating-point numbers of 64 bits."""
        return DataType("DOUBLE", Types.DOUBLE(), nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        """Days of a calendar."""
        return DataType("DATE", Types.SQL_DATE(), nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        """Times of a day; Spark has them since 4.1."""
        return DataType(f"TIME({precision})", Types.SQL_TIME(), nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        """Times on a calendar and a clock, without a zone: Spark's TIMESTAMP_NTZ."""
        return DataType(f"TIMESTAMP({precision})", _wall_clock(), nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> DataType:
        """Points in time, shown in the session's zone: Spark's TIMESTAMP."""
        return DataTypes.TIMESTAMP_LTZ(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        """Points in time, shown in the session's zone: Spark's TIMESTAMP."""
        return DataType(f"TIMESTAMP_LTZ({precision})", Types.SQL_TIMESTAMP(), nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        """Lists of elements."""
        return DataType(f"ARRAY<{element_type}>", ListTypeInfo(element_type.kind), nullable)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        """Maps of keys to values."""
        kind = MapTypeInfo(key_type.kind, value_type.kind)
        return DataType(f"MAP<{key_type}, {value_type}>", kind, nullable)

    @staticmethod
    def ROW(row_fields: Sequence[RowField | DataType] = (), nullable: bool = True) -> DataType:
        """Rows of fields, which `FIELD` makes; bare types are named f0, f1 and so on."""
        fields = [
            one if isinstance(one, RowField) else RowField(f"f{at}", one)
            for at, one in enumerate(row_fields)
        ]
        text = ", ".join(f"`{one.name}` {one.data_type}" for one in fields)
        kind = RowTypeInfo([one.data_type.kind for one in fields], [one.name for one in fields])
        return DataType(f"ROW<{text}>", kind, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of a row; ArgumentTypeError for what is no type."""
        if not isinstance(data_type, DataType):
            raise ArgumentTypeError(
                f"the type of the field {name!r} is one such as DataTypes.INT(), not {data_type!r}"
            )
        return RowField(name, data_type, description)


def _bytes() -> TypeInformation:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


_BASIC: dict[BasicType, Callable[[], DataType]] = {
    BasicType.STRING: DataTypes.STRING,
    BasicType.CHAR: DataTypes.STRING,
    BasicType.BOOLEAN: DataTypes.BOOLEAN,
    BasicType.BYTE: DataTypes.TINYINT,
    BasicType.SHORT: DataTypes.SMALLINT,
    BasicType.INT: DataTypes.INT,
    BasicType.LONG: DataTypes.BIGINT,
    BasicType.FLOAT: DataTypes.FLOAT,
    BasicType.DOUBLE: DataTypes.DOUBLE,
    BasicType.INSTANT: DataTypes.TIMESTAMP_LTZ,
}


def data_type_of(kind: TypeInformation) -> DataType:
    """The type of the column that holds such values.

    IllegalArgumentError for values that have no column, such as pickled ones.
    """
    if isinstance(kind, BasicTypeInfo):
        if kind.basic_type in (BasicType.BIG_INT, BasicType.BIG_DEC):
            scale = 18 if kind.basic_type is BasicType.BIG_DEC else 0
            return DataType(f"DECIMAL(38, {scale})", kind)
        return DataType(_BASIC[kind.basic_type]().text, kind)
    if isinstance(kind, DecimalTypeInfo):
        return DataTypes.DECIMAL(kind.precision, kind.scale)
    if isinstance(kind, RowTypeInfo):
        names = kind.get_field_names()
    elif isinstance(kind, TupleTypeInfo):
        names = [f"f{at}" for at in range(len(kind.field_types))]
    else:
        return _column_type_of(kind)
    fields = zip(names, kind.field_types, strict=True)
    text = ", ".join(f"`{name}` {data_type_of(one)}" for name, one in fields)
    return DataType(f"ROW<{text}>", kind)


def _column_type_of(kind: TypeInformation) -> DataType:
    if isinstance(kind, TimestampTypeInfo):
        return DataType("TIMESTAMP(6)" if kind.wall_clock else "TIMESTAMP_LTZ(6)", kind)
    if isinstance(kind, InstantTypeInfo):
        return DataType("TIMESTAMP_LTZ(6)", kind)
    if isinstance(kind, DateTypeInfo):
        return DataTypes.DATE()
    if isinstance(kind, TimeTypeInfo):
        return DataTypes.TIME()
    if isinstance(kind, MapTypeInfo):
        key, value = data_type_of(kind.key_type_info), data_type_of(kind.value_type_info)
        return DataType(f"MAP<{key}, {value}>", kind)
    if kind == _bytes():
        return DataTypes.BYTES()
    if isinstance(
        kind, (ListTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo, ObjectArrayTypeInfo)
    ):
        return DataType(f"ARRAY<{data_type_of(kind.elem_type)}>", kind)
    raise IllegalArgumentError(
        f"elements of the type {kind} have no columns: declare another where they are made, with "
        "output_type=Types.ROW_NAMED([...], [...])"
    )
