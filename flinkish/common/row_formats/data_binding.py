"""Values that Flink leaves to Jackson's data binding: arrays of primitives, characters."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import clean_text, node_text
from flinkish.common.row_formats.numbers import BLANKS, double_of, integer_of, nearest_float
from flinkish.common.typeinfo import BasicType, BasicTypeInfo, TypeInformation

__all__ = ["bound_character", "bound_items"]

Read = Callable[[Any], Any]
_BITS = {BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_INFINITE = {"INF": "Infinity", "-INF": "-Infinity"}


def bound_items(element: TypeInformation) -> Read:
    """The function that turns a JSON array into an array of primitives."""
    assert isinstance(element, BasicTypeInfo)
    basic = element.basic_type
    if basic is BasicType.CHAR:
        return _characters
    read, fractions = _primitive(basic), basic in (BasicType.FLOAT, BasicType.DOUBLE)

    def items(node: Any) -> list[Any]:
        if fractions and node == "":
            return []
        if not isinstance(node, list):
            raise RecordError(f"{node_text(node)} is not a JSON array")
        values = []
        for index, value in enumerate(node):
            try:
                values.append(read(value))
            except RecordError as error:
                raise error.within(f"[{index}]") from None
        return values

    return items


def _primitive(basic: BasicType) -> Read:
    if basic is BasicType.BOOLEAN:
        return _truth
    if basic in _BITS:
        return lambda node: _integer(node, _BITS[basic])
    if basic is BasicType.FLOAT:
        return lambda node: nearest_float(_number(node))
    return _number


def _blank(node: Any) -> bool:
    """Whether a node stands for zero in an array of primitives."""
    return node is None or (isinstance(node, str) and node.strip(BLANKS) in ("", "null"))


def _integer(node: Any, bits: int) -> int:
    if _blank(node):
        return 0
    if isinstance(node, str):
        return integer_of(node.strip(BLANKS), bits)
    if isinstance(node, bool) or not isinstance(node, (int, float, Decimal)):
        raise RecordError(f"{node_text(node)} is not an integer")
    limit = 1 << (bits - 1)
    if not -limit <= node < limit:
        raise RecordError(f"{node_text(node)} is not an integer of {bits} bits")
    return int(node)


def _number(node: Any) -> float:
    if _blank(node):
        return 0.0
    if isinstance(node, str):
        text = node.strip(BLANKS)
        return double_of(_INFINITE.get(text, text))
    if isinstance(node, bool) or not isinstance(node, (int, float, Decimal)):
        raise RecordError(f"{node_text(node)} is not a number")
    return node if isinstance(node, float) else double_of(str(node))


_TRUTHS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _truth(node: Any) -> bool:
    if isinstance(node, bool):
        return node
    if _blank(node):
        return False
    if isinstance(node, int):
        return node != 0
    text = node.strip(BLANKS) if isinstance(node, str) else None
    if text not in _TRUTHS:
        raise RecordError(f"{node_text(node)} is not true or false")
    return _TRUTHS[text]


def bound_character(node: Any) -> str | None:
    """A text of one character, or the code of a character."""
    if isinstance(node, int) and not isinstance(node, bool) and 0 <= node <= 0xFFFF:
        return clean_text(chr(node))
    if not isinstance(node, str) or len(node) > 1 or node > "\uffff":
        raise RecordError(f"{node_text(node)} is not one character")
    return clean_text(node) or None


def _characters(node: Any) -> list[str]:
    if isinstance(node, str):
        return list(map(clean_text, node))
    if not isinstance(node, list) or not all(map(_character, node)):
        raise RecordError(f"{node_text(node)} is not a text, nor an array of characters")
    return ["\0" if item is None else clean_text(item) for item in node]


def _character(node: Any) -> bool:
    return node is None or (isinstance(node, str) and len(node) == 1)
