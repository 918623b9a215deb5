"""The JSON of a record as Python's values, read as Jackson reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.numbers import double_text

__all__ = ["NodeReader", "clean_text", "node_text", "stripped", "text_of"]

_BLANKS = " \t\n\r"
_LONGEST_NUMBER = 1000  # Jackson's StreamReadConstraints


class NodeReader:
    """Reads the first JSON value of a record and ignores what follows it, as in Flink.

    ``number`` converts the texts of numbers with a fraction or an exponent, to floats by default.
    """

    def __init__(self, number: Callable[[str], Any] | None = None) -> None:
        self._quick = msgspec.json.Decoder(float_hook=number)
        self._exact = json.JSONDecoder(
            parse_float=_limited(number or float),
            parse_int=_limited(int),
            parse_constant=_refuse_constant,
        )

    def read(self, record: bytes) -> Any:
        """The value; RecordError for a record that is not JSON.

        The fast parser accepts a subset of what Jackson accepts, and reads it in the same way.  A
        slower parser reads what it refuses: trailing text, a byte order mark, UTF-16, numbers that
        overflow to infinity, unpaired surrogates.
        """
        if len(record) < _LONGEST_NUMBER:
            try:
                return self._quick.decode(record)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, RecordError):
                pass
        return self._read_exactly(record)

    def _read_exactly(self, record: bytes) -> Any:
        text, wrong = _decoded(record)
        start = len(text) - len(text.lstrip(_BLANKS))
        if wrong is None and start == len(text):
            raise RecordError("the record is empty")
        try:
            value, _ = self._exact.raw_decode(text, start)
        except RecordError:
            raise
        except (ValueError, RecursionError) as error:
            if wrong is not None:
                raise RecordError(wrong) from error
            raise RecordError(f"not JSON: {error}") from error
        return value


def _decoded(record: bytes) -> tuple[str, str | None]:
    """The text up to the first wrong byte, and what is wrong with that byte."""
    charset = json.detect_encoding(record)
    try:
        return record.decode(charset), None
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is not {charset.removesuffix('-sig').upper()}: {error.reason}"
        return record[: error.start].decode(charset), wrong


def _limited(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        if len(text) > _LONGEST_NUMBER:
            raise RecordError(f"a number of {len(text)} digits; Jackson reads {_LONGEST_NUMBER}")
        return read(text)

    return number


def _refuse_constant(name: str) -> Any:
    raise RecordError(f"not JSON: {name} is not a value")


def stripped(text: str) -> Decimal:
    """A number without trailing zeros, as Jackson keeps decimals."""
    value = Decimal(text)
    if not value:
        return Decimal(0)
    sign, digits, exponent = value.as_tuple()
    kept = "".join(map(str, digits)).rstrip("0")
    return Decimal((sign, tuple(map(int, kept)), int(exponent) + len(digits) - len(kept)))


def clean_text(text: str) -> str:
    """A text with ``?`` for unpaired surrogates, as Java encodes it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def text_of(node: Any) -> str:
    """A single value as JsonNode.asText returns it; an empty text for lists and objects."""
    if isinstance(node, str):
        return node
    if node is True or node is False:
        return "true" if node else "false"
    if node is None:
        return "null"
    if isinstance(node, float):
        return double_text(node)
    return "" if isinstance(node, (list, dict)) else str(node)


def node_text(node: Any) -> str:
    """A value as JsonNode.toString writes it: JSON without blanks."""
    if isinstance(node, str):
        return _quoted(node)
    if isinstance(node, dict):
        return (
            f"{{{','.join(f'{_quoted(name)}:{node_text(value)}' for name, value in node.items())}}}"
        )
    if isinstance(node, list):
        return f"[{','.join(map(node_text, node))}]"
    if isinstance(node, float) and not math.isfinite(node):
        return f'"{double_text(node)}"'
    return text_of(node)


_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPES = {ord(char): text for char, text in _SHORT.items()}
_ESCAPES |= {code: f"\\u{code:04X}" for code in range(0x20) if code not in _ESCAPES}


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
