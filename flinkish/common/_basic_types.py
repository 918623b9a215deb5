"""Type information of single values: numbers, strings, dates, pickled objects.

Spark's names of these types come from its DDL; the Python values are those that PySpark
takes and gives for a column of that type, unless a class says otherwise.
"""

from __future__ import annotations

import datetime
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

from flinkish.common import pickles
from flinkish.common.durations import Instant
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.type_variables import Subscriptable, T_co

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)


class TypeInformation(ABC, Subscriptable[T_co]):
    """The type of a value.  Frozen, comparable, hashable, picklable.

    To type checkers ``TypeInformation[int]`` is the type of values that are ``int`` in Python.

    None stands for null and passes every check: what forbids nulls says so itself.
    """

    __slots__ = ()

    @abstractmethod
    def check(self, value: Any) -> str | None:
        """Why ``value`` is not of this type, as a text for an error; None if it is."""

    @abstractmethod
    def to_ddl(self) -> str:
        """The name of this type in Spark's DDL, for instance ``array<bigint>``."""

    def need_conversion(self) -> bool:
        """Whether plain Python values of this type differ from what Spark's column holds.

        If not, :meth:`to_internal_type` only turns loose values, such as NumPy's scalars, into
        plain ones.
        """
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The column value of a Python value that passed :meth:`check`."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The Python value of a column value."""
        return obj


def wrong(value: Any, needed: str) -> str:
    """The usual text of a failed check."""
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return f"{shown} of type {type(value).__name__} is not {needed}"


class BasicType(Enum):
    """The basic types, with PyFlink's names."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


_DDL = {
    BasicType.STRING: "string",
    BasicType.BYTE: "tinyint",
    BasicType.BOOLEAN: "boolean",
    BasicType.SHORT: "smallint",
    BasicType.INT: "int",
    BasicType.LONG: "bigint",
    BasicType.FLOAT: "float",
    BasicType.DOUBLE: "double",
    BasicType.CHAR: "string",
    # Java's numbers have any number of digits, Spark's decimals at most 38.
    BasicType.BIG_INT: "string",
    BasicType.BIG_DEC: "string",
    BasicType.INSTANT: "timestamp",
}

# What columns hold: NumPy's scalars, and ints where floats are asked for, become this.
_EXACT: dict[BasicType, Callable[[Any], Any]] = {
    BasicType.BYTE: int,
    BasicType.SHORT: int,
    BasicType.INT: int,
    BasicType.LONG: int,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.BOOLEAN: bool,
}

# Numbers that columns hold as texts, to keep all digits.
_TEXTS: dict[BasicType, Callable[[str], Any]] = {
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: Decimal,
}

_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


@dataclass(frozen=True, slots=True, repr=False)
class BasicTypeInfo(TypeInformation[T_co]):
    """A number, a truth value or a string.

    Integers are checked against the bits of their type; floating-point types take integers
    too; NumPy's scalars count as the numbers that they are; truth values are not numbers.
    A CHAR is a string of one character.  BIG_INT and BIG_DEC keep all their digits: columns hold
    their texts.
    """

    basic_type: BasicType

    def check(self, value: Any) -> str | None:
        kind = self.basic_type
        if value is None:
            return None
        if kind in _BITS:
            bits = _BITS[kind]
            if _is_bool(value) or not isinstance(value, Integral):
                return wrong(value, f"an int of {bits} bits")
            if not -(1 << (bits - 1)) <= int(value) < 1 << (bits - 1):
                return f"{value} does not fit the {bits} bits of {kind.value}"
        elif kind is BasicType.STRING:
            if not isinstance(value, str):
                return wrong(value, "a str")
        elif kind is BasicType.BOOLEAN:
            if not _is_bool(value):
                return wrong(value, "a bool")
        elif kind is BasicType.CHAR:
            if not isinstance(value, str) or len(value) != 1:
                return wrong(value, "a str of one character")
        elif kind is BasicType.BIG_INT:
            if _is_bool(value) or not isinstance(value, Integral):
                return wrong(value, "an int")
        elif kind is BasicType.BIG_DEC:
            if not isinstance(value, Decimal):
                return wrong(value, "a decimal.Decimal")
            if not value.is_finite():
                return f"{value} is not a finite decimal"
        elif _is_bool(value) or not isinstance(value, Real):
            return wrong(value, "a float")
        return None

    def to_ddl(self) -> str:
        return _DDL[self.basic_type]

    def need_conversion(self) -> bool:
        return self.basic_type in _TEXTS

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        if self.basic_type in _TEXTS:
            return _digits(obj, self)
        exact = _EXACT.get(self.basic_type, str)
        return obj if type(obj) is exact or isinstance(obj, Decimal) else exact(obj)

    def from_internal_type(self, obj: Any) -> Any:
        read = _TEXTS.get(self.basic_type)
        return obj if obj is None or read is None else read(obj)

    def __repr__(self) -> str:
        return self.basic_type.value


def _digits(value: Any, type_: BasicTypeInfo) -> str:
    """The text of a BIG_INT or BIG_DEC; a float becomes the decimal that it prints as."""
    if type_.basic_type is BasicType.BIG_DEC and isinstance(value, Real) and not _is_bool(value):
        value = (
            Decimal(repr(float(value))) if not isinstance(value, Integral) else Decimal(int(value))
        )
    error = type_.check(value)
    if error is not None:
        raise IllegalArgumentError(error)
    return str(value)


def _check_decimal(value: Any, precision: int, scale: int) -> str | None:
    if not isinstance(value, Decimal):
        return wrong(value, "a decimal.Decimal")
    if not value.is_finite():
        return f"{value} is not a finite decimal"
    _, digits, exponent = value.as_tuple()
    whole = len(digits) + int(exponent)
    if digits != (0,) and (whole > precision - scale or -int(exponent) > scale):
        return f"{value} does not fit decimal({precision},{scale}) without rounding"
    return None


@dataclass(frozen=True, slots=True, repr=False)
class DecimalTypeInfo(TypeInformation[Decimal]):
    """Decimals with ``precision`` digits (1 to 38), ``scale`` of them after the point.

    PyFlink has no such type: this is what Spark's ``decimal(p,s)`` becomes.
    """

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not 0 <= self.scale <= self.precision or not 1 <= self.precision <= 38:
            raise IllegalArgumentError(
                f"decimal({self.precision},{self.scale}): precision must be 1 to 38, and the "
                "scale 0 to the precision"
            )

    def check(self, value: Any) -> str | None:
        return None if value is None else _check_decimal(value, self.precision, self.scale)

    def to_ddl(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    def __repr__(self) -> str:
        return f"Decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True, repr=False)
class InstantTypeInfo(TypeInformation[Instant]):
    """:class:`Instant`; a column holds it as a timestamp, exact to the microsecond."""

    def check(self, value: Any) -> str | None:
        return None if value is None or isinstance(value, Instant) else wrong(value, "an Instant")

    def to_ddl(self) -> str:
        return _DDL[BasicType.INSTANT]

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Instant | None) -> datetime.datetime | None:
        if obj is None:
            return None
        return _EPOCH + datetime.timedelta(seconds=obj.seconds, microseconds=obj.nanos // 1_000)

    def from_internal_type(self, obj: datetime.datetime | None) -> Instant | None:
        if obj is None:
            return None
        # A naive datetime is local time, as PySpark gives it.
        since = obj.astimezone(_UTC) - _EPOCH
        seconds, micros = divmod(since // datetime.timedelta(microseconds=1), 1_000_000)
        return Instant(seconds, micros * 1_000)

    def __repr__(self) -> str:
        return BasicType.INSTANT.value


@dataclass(frozen=True, slots=True, repr=False)
class DateTypeInfo(TypeInformation[datetime.date]):
    """``datetime.date``; a ``datetime`` is refused, since its time of day would be lost."""

    def check(self, value: Any) -> str | None:
        if value is None or (
            isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
        ):
            return None
        return wrong(value, "a datetime.date")

    def to_ddl(self) -> str:
        return "date"

    def __repr__(self) -> str:
        return "DateTypeInfo"


@dataclass(frozen=True, slots=True, repr=False)
class TimeTypeInfo(TypeInformation[datetime.time]):
    """``datetime.time`` without a zone.  Spark has such columns from 4.1 on."""

    def check(self, value: Any) -> str | None:
        if value is None or (isinstance(value, datetime.time) and value.tzinfo is None):
            return None
        return wrong(value, "a datetime.time without a zone")

    def to_ddl(self) -> str:
        return "time(6)"

    def __repr__(self) -> str:
        return "TimeTypeInfo"


@dataclass(frozen=True, slots=True, repr=False)
class TimestampTypeInfo(TypeInformation[datetime.datetime]):
    """``datetime.datetime``.

    As in PySpark, a naive one is local time; ``wall_clock`` is for Spark's ``timestamp_ntz``,
    which has no zone and takes naive ones only.  ``zoned`` is for Spark's ``timestamp`` in DDL:
    elements of a stream are then aware, in UTC, and naive without it, as PyFlink's are.
    """

    wall_clock: bool = False
    zoned: bool = field(default=False, compare=False)

    def check(self, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, datetime.datetime):
            return wrong(value, "a datetime.datetime")
        if self.wall_clock and value.tzinfo is not None:
            return wrong(value, "a datetime.datetime without a zone")
        return None

    def to_ddl(self) -> str:
        return "timestamp_ntz" if self.wall_clock else "timestamp"

    def __repr__(self) -> str:
        return "TimestampTypeInfo<wall clock>" if self.wall_clock else "TimestampTypeInfo"


@dataclass(frozen=True, slots=True, repr=False)
class PickledBytesTypeInfo(TypeInformation[Any]):
    """Any object that can be pickled; a column holds the pickle as bytes.

    Lambdas and classes of ``__main__`` or of functions are pickled by value, as in PyFlink.
    """

    def check(self, value: Any) -> str | None:
        return None

    def to_ddl(self) -> str:
        return "binary"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> bytes | None:
        return None if obj is None else pickles.dumps(obj)

    def from_internal_type(self, obj: bytes | None) -> Any:
        return None if obj is None else pickle.loads(obj)

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"
