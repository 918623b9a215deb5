"""PyFlink's ``Types`` and its classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flinkish.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from flinkish.common._composite_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    require_type,
)
from flinkish.common.ddl import type_from_ddl
from flinkish.common.pyflink_names import pyflink_names
from flinkish.common.type_variables import K, T, V

if TYPE_CHECKING:
    import datetime
    from decimal import Decimal

    from flinkish.common.durations import Instant
else:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "DecimalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "as_type_information",
]


def as_type_information(given: Any, what: str = "type_info") -> TypeInformation:
    """The TypeInformation of anything that users may give for a type.

    A TypeInformation; None, for objects that are pickled; a list of types, for a row of them
    (both as PyFlink's ``OutputTag`` takes them); or Spark DDL such as ``"id bigint, n int"``.
    ArgumentTypeError, naming ``what``, for anything else; IllegalArgumentError for bad DDL.
    """
    if given is None:
        return PickledBytesTypeInfo()
    if isinstance(given, str):
        return type_from_ddl(given)
    if isinstance(given, list):
        return RowTypeInfo(given)
    return require_type(given, what)


class Types:
    """Functions for type information, named as in PyFlink: ``Types.LONG()``.

    Type checkers learn which Python values a type has: ``ValueStateDescriptor("n",
    Types.LONG())`` describes a ``ValueState[int]``.
    """

    @staticmethod
    def STRING() -> TypeInformation[str]:
        """The type of text, Python's ``str``."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BYTE() -> TypeInformation[int]:
        """Ints of 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def BOOLEAN() -> TypeInformation[bool]:
        """The type of ``True`` and ``False``."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def SHORT() -> TypeInformation[int]:
        """Ints of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT() -> TypeInformation[int]:
        """Ints of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG() -> TypeInformation[int]:
        """Ints of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT() -> TypeInformation[float]:
        """Floats that a column holds in 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE() -> TypeInformation[float]:
        """The type of floats of 64 bits, Python's ``float``."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR() -> TypeInformation[str]:
        """Strings of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT() -> TypeInformation[int]:
        """Ints with any number of digits; in tables and files decimals of 38 digits."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC() -> TypeInformation[Decimal]:
        """Decimals with all digits; in tables and files 38 digits, 18 of them after the point."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT() -> TypeInformation[Instant]:
        """Points in time: :class:`flinkish.common.Instant`."""
        return InstantTypeInfo()

    @staticmethod
    def SQL_DATE() -> TypeInformation[datetime.date]:
        """The type of dates, Python's ``datetime.date``."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation[datetime.time]:
        """The type of times of day, Python's ``datetime.time``."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation[datetime.datetime]:
        """The type of points in time, Python's ``datetime.datetime``."""
        return TimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation[Any]:
        """Any object; it is pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Iterable[TypeInformation]) -> RowTypeInfo:
        """Rows of fields without names."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(
        field_names: Iterable[str], field_types: Iterable[TypeInformation]
    ) -> RowTypeInfo:
        """Rows of fields with names, all different, one a type."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Iterable[TypeInformation]) -> TupleTypeInfo:
        """The type of tuples with a type for each field."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation[Any]:
        """Lists or arrays of numbers, truth values or characters, without None."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation[T]) -> TypeInformation[list[T]]:
        """Lists of numbers, truth values, characters or strings."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation[T]) -> TypeInformation[list[T]]:
        """Lists of anything."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(
        key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]
    ) -> MapTypeInfo[K, V]:
        """The type of dicts with keys of one type and values of another."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation[T]) -> ListTypeInfo[T]:
        """The type of lists whose elements have one type."""
        return ListTypeInfo(element_type_info)
