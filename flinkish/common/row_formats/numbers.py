"""Numbers in texts, read and written as Java reads and writes them."""

from __future__ import annotations

import math
import re
import struct
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal

from flinkish.common.row_formats.errors import RecordError

__all__ = [
    "BLANKS",
    "decimal_of",
    "double_of",
    "double_text",
    "fitted",
    "float_of",
    "float_text",
    "integer_of",
    "nearest_float",
    "truth_of",
]

# The characters that String.trim() removes.
BLANKS = "".join(map(chr, range(0x21)))
_WIDE = Context(prec=10_000, Emax=MAX_EMAX, Emin=MIN_EMIN)

# Integer.parseInt and BigDecimal take the digits of all scripts that lie in Unicode's first plane.
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_DOUBLE = re.compile(
    r"([+-]?)(?:(NaN)|(Infinity)|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?)", re.A
)
_HEXADECIMAL = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.A
)
_LAST_OF_FIRST_PLANE = "\uffff"


def integer_of(text: str, bits: int | None) -> int:
    """The integer of a text, within a number of bits, or of any size if that is None.

    RecordError for any other text: Java's parsers take no fraction, no exponent and no blanks.
    """
    if _INTEGER.fullmatch(text) and (text.isascii() or max(text) <= _LAST_OF_FIRST_PLANE):
        try:
            value = int(text)
        except ValueError as error:  # more digits than Python's int accepts
            raise RecordError(str(error)) from error
        if bits is None or -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            return value
    raise RecordError(f"{text!r} is not an integer{'' if bits is None else f' of {bits} bits'}")


def double_of(text: str) -> float:
    """The double of a text; infinite where it is too large."""
    text = text.strip(BLANKS)
    parts = _DOUBLE.fullmatch(text)
    if parts is not None:
        sign, nan, infinity, digits = parts.groups()
        if nan:
            return math.nan
        return float(f"{sign}{infinity or digits}")
    parts = _HEXADECIMAL.fullmatch(text)
    if parts is None:
        raise RecordError(f"{text!r} is not a number")
    try:
        return float.fromhex(parts[1])
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def float_of(text: str) -> float:
    """The float of 32 bits that is nearest to the number of a text."""
    value = double_of(text)
    single = nearest_float(value)
    if math.isnan(value) or math.isinf(value) or value == single:
        return single
    # The double may lie half-way between two floats where the text does not.
    neighbour = _neighbour(single, value)
    if math.isfinite(neighbour) and abs(Decimal(value) - Decimal(single)) == abs(
        Decimal(neighbour) - Decimal(value)
    ):
        parts = _DOUBLE.fullmatch(text.strip(BLANKS))
        exact = Decimal(f"{parts[1]}{parts[4]}") if parts is not None else Decimal(value)
        if exact != Decimal(value):
            return max(single, neighbour) if exact > Decimal(value) else min(single, neighbour)
    return single


def nearest_float(value: float) -> float:
    """A double rounded to a float of 32 bits; infinite where it is too large."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _neighbour(single: float, value: float) -> float:
    """The float next to ``single`` in the direction of ``value``."""
    bits: int = struct.unpack("<i", struct.pack("<f", single))[0]
    if single == 0:
        return math.copysign(2.0**-149, value)
    bits += 1 if (value > single) == (single > 0) else -1
    neighbour: float = struct.unpack("<f", struct.pack("<i", bits))[0]
    return neighbour


def decimal_of(text: str) -> Decimal:
    """The decimal of a text, with all its digits."""
    if not _DECIMAL.fullmatch(text) or not (text.isascii() or max(text) <= _LAST_OF_FIRST_PLANE):
        raise RecordError(f"{text!r} is not a decimal number")
    value = Decimal(text)
    return value if value else value.copy_abs()  # Java has no negative zero


def fitted(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """A decimal rounded half up to a number of places; None if it then has too many digits."""
    value = value or Decimal(0)  # without an exponent
    if value.adjusted() >= precision - scale and value:
        return None
    rounded = value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, _WIDE)
    return rounded if rounded.adjusted() < precision - scale or not rounded else None


def truth_of(text: str) -> bool:
    """Whether a text is ``true``, in upper or lower case; any other text is false, as in Java."""
    return text.strip(BLANKS).lower() == "true"


def double_text(value: float) -> str:
    """A double as Double.toString writes it: ``1.0E7``, ``0.001``, ``Infinity``."""
    return _java_text(value, repr(value))


def float_text(value: float) -> str:
    """A float of 32 bits as Float.toString writes it: with the digits that identify it."""
    if not math.isfinite(value) or value == 0:
        return _java_text(value, repr(value))
    shortest = next(
        text
        for text in (f"{value:.{digits}e}" for digits in range(9))
        if nearest_float(float(text)) == value
    )
    return _java_text(value, shortest)


def _java_text(value: float, shortest: str) -> str:
    """A number in Java's notation, with the digits of ``shortest``."""
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    _, numbers, exponent = Decimal(shortest).as_tuple()
    digits = "".join(map(str, numbers)).rstrip("0") or "0"
    point = len(numbers) + int(exponent)  # digits before the point
    if 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        whole = digits[:point].ljust(point, "0")
        return f"{sign}{whole}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
