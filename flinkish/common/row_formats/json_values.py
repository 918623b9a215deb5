"""JSON values as values of declared types, by the rules of Flink's JsonRowDeserializationSchema."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.durations import Instant
from flinkish.common.row_formats.data_binding import bound_character, bound_items
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import clean_text, node_text, text_of
from flinkish.common.row_formats.numbers import (
    BLANKS,
    decimal_of,
    double_of,
    fitted,
    float_of,
    integer_of,
    truth_of,
)
from flinkish.common.row_formats.times import TimeForms, epoch_instant_of, instant_of, iso_date
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["RFC_3339", "JsonValues", "Read", "field_types_of", "has_decimals", "unreadable"]

Read = Callable[[Any], Any]
RFC_3339 = TimeForms("T", zone="Z", local_zone="Z")
BYTES = PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE))


def field_types_of(type_: TypeInformation) -> list[TypeInformation]:
    """The types within a composite type; none for the type of a single value."""
    if isinstance(type_, (RowTypeInfo, TupleTypeInfo)):
        return type_.get_field_types()
    if isinstance(type_, MapTypeInfo):
        return [type_.key_type_info, type_.value_type_info]
    return [type_.elem_type] if isinstance(type_, _ElementsTypeInfo) else []


def has_decimals(type_: TypeInformation) -> bool:
    """Whether some field makes Flink tell Jackson to keep all digits of fractions."""
    return (
        isinstance(type_, DecimalTypeInfo)
        or type_ == Types.BIG_DEC()
        or any(map(has_decimals, field_types_of(type_)))
    )


@dataclass(frozen=True)
class JsonValues:
    """The functions that convert JSON nodes to values.

    With ``ignores``, values that cannot be read are None; with ``complete`` a row must have all
    fields.  ``special`` has the functions for types that another dialect reads differently.
    """

    ignores: bool = False
    complete: bool = False
    special: Mapping[TypeInformation, Read] = field(default_factory=dict)

    def reader(self, type_: TypeInformation) -> Read:
        """The function for a type, which takes None for null.

        RecordError for a type that JSON cannot hold.
        """
        read = self._reader(type_)
        if not self.ignores:
            return lambda node: None if node is None else read(node)

        def lenient(node: Any) -> Any:
            try:
                return None if node is None else read(node)
            except RecordError:
                return None

        return lenient

    def _reader(self, type_: TypeInformation) -> Read:
        if type_ in self.special:
            return self.special[type_]
        if isinstance(type_, DecimalTypeInfo):
            return lambda node: fitted(_decimal(node), type_.precision, type_.scale)
        if isinstance(type_, BasicTypeInfo):
            return _BASIC[type_.basic_type]
        if isinstance(type_, (RowTypeInfo, TupleTypeInfo)):
            return self.row(type_)
        if isinstance(type_, MapTypeInfo):
            return self._map(type_)
        if type_ == BYTES:
            return _bytes
        if isinstance(type_, PrimitiveArrayTypeInfo):
            return bound_items(type_.elem_type)
        if isinstance(type_, _ElementsTypeInfo):
            return _items(self.reader(type_.elem_type))
        for class_, read in _TIMES.items():
            if isinstance(type_, class_):
                return read
        raise unreadable(type_, "JSON")

    def row(self, type_: RowTypeInfo | TupleTypeInfo) -> Read:
        """The function that turns an object into the tuple of a row's fields."""
        if isinstance(type_, RowTypeInfo):
            names = type_.get_field_names()
        else:
            names = [f"f{index}" for index in range(len(type_.field_types))]
        readers = [self.reader(field) for field in type_.get_field_types()]
        fields = list(zip(names, readers, strict=True))
        complete = self.complete

        def row(node: Any) -> tuple[Any, ...]:
            if not isinstance(node, dict):
                raise RecordError(f"{_shown(node)} is not a JSON object")
            values = []
            for name, read in fields:
                if complete and name not in node:
                    raise RecordError(f"the field {name} is missing")
                try:
                    values.append(read(node.get(name)))
                except RecordError as error:
                    raise error.within(name) from None
            return tuple(values)

        return row

    def _map(self, type_: MapTypeInfo) -> Read:
        key, value = self.reader(type_.key_type_info), self.reader(type_.value_type_info)

        def entries(node: Any) -> dict[Any, Any]:
            # JsonNode.fields() has no entries if the node is not an object.
            read: dict[Any, Any] = {}
            for name, item in node.items() if isinstance(node, dict) else ():
                try:
                    read_key = key(name)
                    if read_key is None:
                        raise RecordError("the key cannot be read, and Spark's maps need one")
                    read[read_key] = value(item)
                except RecordError as error:
                    raise error.within(name) from None
            return read

        return entries


def unreadable(type_: TypeInformation, format_: str) -> RecordError:
    """The error for a type that a format cannot represent."""
    return RecordError(
        f"{format_} has no form for {type_}: declare Types.STRING() and make the value in a map"
    )


def _items(item: Read) -> Read:
    def items(node: Any) -> list[Any]:
        if not isinstance(node, list):
            raise RecordError(f"{_shown(node)} is not a JSON array")
        values = []
        for index, element in enumerate(node):
            try:
                values.append(item(element))
            except RecordError as error:
                raise error.within(f"[{index}]") from None
        return values

    return items


def _shown(node: Any) -> str:
    text = node_text(node)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _text(node: Any) -> str:
    if type(node) is str:
        return clean_text(node)
    return clean_text(node_text(node) if isinstance(node, (list, dict)) else text_of(node))


def _trimmed(node: Any) -> str:
    if isinstance(node, (list, dict)):
        raise RecordError(f"{_shown(node)} is not a single value")
    return text_of(node).strip(BLANKS)


def _whole(bits: int) -> Read:
    """Integers of 32 and 64 bits: a fraction is cut off if the number is within the range."""
    low, high = -(1 << (bits - 1)), 1 << (bits - 1)
    float_low, float_high = float(low), float(high)

    def whole(node: Any) -> int:
        if type(node) is int and low <= node < high:
            return node
        # Jackson compares a double with the limit as a double, and Java's cast stays within it.
        if isinstance(node, float) and float_low <= node <= (
            float_high if bits == 64 else high - 1
        ):
            return min(int(node), high - 1)
        if isinstance(node, Decimal) and low <= node <= high - 1:
            return int(node)
        return integer_of(_trimmed(node), bits)

    return whole


def _small(bits: int) -> Read:
    low, high = -(1 << (bits - 1)), 1 << (bits - 1)

    def small(node: Any) -> int:
        if type(node) is int and low <= node < high:
            return node
        return integer_of(_trimmed(node), bits)

    return small


def _double(node: Any) -> float:
    return node if type(node) is float else double_of(_trimmed(node))


def _float(node: Any) -> float:
    return float_of(_trimmed(node))


def _decimal(node: Any) -> Decimal:
    return node if isinstance(node, Decimal) else decimal_of(_trimmed(node))


def _unlimited(node: Any) -> int:
    return node if type(node) is int else integer_of(_trimmed(node), None)


def _truth(node: Any) -> bool:
    return node if type(node) is bool else truth_of(text_of(node))


def _bytes(node: Any) -> bytes | None:
    """Bytes from Base64; null for a node that is not a text, as in JsonNode.binaryValue."""
    if not isinstance(node, str):
        return None
    try:
        lines = [line.strip(BLANKS) for line in node.splitlines()]
        if any(" " in line or "\t" in line for line in lines):
            raise RecordError("a blank in Base64")
        return base64.b64decode("".join(lines), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError(f"{_shown(node)} is not Base64: {error}") from error


def _time(node: Any) -> Any:
    value, nanos = RFC_3339.time(text_of(node))
    if nanos:
        raise RecordError(f"{text_of(node)!r} has parts of a second, which SQL_TIME has not")
    return value


def _instant(node: Any) -> Instant:
    if isinstance(node, (bool, list, dict)):
        raise RecordError(f"{_shown(node)} is not a point in time")
    text = format(node, "f") if isinstance(node, Decimal) else str(node)
    return epoch_instant_of(text) or instant_of(text)


_BASIC: dict[BasicType, Read] = {
    BasicType.STRING: _text,
    BasicType.BOOLEAN: _truth,
    BasicType.BYTE: _small(8),
    BasicType.SHORT: _small(16),
    BasicType.INT: _whole(32),
    BasicType.LONG: _whole(64),
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _double,
    BasicType.BIG_INT: _unlimited,
    BasicType.BIG_DEC: _decimal,
    BasicType.CHAR: bound_character,
    BasicType.INSTANT: _instant,
}
_TIMES: dict[type[TypeInformation], Read] = {
    DateTypeInfo: lambda node: iso_date(text_of(node)),
    TimeTypeInfo: _time,
    TimestampTypeInfo: lambda node: RFC_3339.timestamp(text_of(node)),
    InstantTypeInfo: _instant,
}
