"""Flink's connector of generated rows: expressions of Spark's SQL."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.typeinfo import DecimalTypeInfo, RowTypeInfo, TypeInformation, Types

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["generated"]

_BITS = {Types.BYTE(): 8, Types.SHORT(): 16, Types.INT(): 32, Types.LONG(): 64}
_LARGEST = {Types.FLOAT(): 3.4028234663852886e38, Types.DOUBLE(): 1.7976931348623157e308}
_NOW = ("date", "timestamp", "timestamp_ntz")
_HASH = 128  # hexadecimal digits of SHA-512


class _Options(Protocol):
    table: str

    def take(self, key: str, default: str | None = None) -> str | None: ...


def generated(kind: RowTypeInfo, options: _Options) -> Callable[[], Input]:
    """The source of a table of generated rows.

    A sequence, or ``number-of-rows``, makes it bounded; else ``rows-per-second`` come for ever.
    Bounded rows come at once.  UnsupportedOperationError for columns of types that have no random
    values here.
    """
    rows = _number(options, "number-of-rows")
    speed = _number(options, "rows-per-second") or 10_000
    counts = [] if rows is None else [rows]
    sequences: dict[str, int] = {}
    names = kind.get_field_names()
    for name, one in zip(names, kind.field_types, strict=True):
        if options.take(f"fields.{name}.kind", "random") == "sequence":
            start, end = (_number(options, f"fields.{name}.{at}") for at in ("start", "end"))
            if start is None or end is None or one not in _BITS or end < start:
                raise IllegalArgumentError(
                    f"the sequence {name!r} of the table {options.table} needs a column of "
                    f"integers and 'fields.{name}.start' and 'fields.{name}.end', in this order"
                )
            sequences[name] = start
            counts.append(end - start + 1)

    def expressions(row: str) -> list[str]:
        return [
            f"CAST({row} + {sequences[name]}L AS {one.to_ddl()}) AS `{name}`"
            if name in sequences
            else f"CAST({randoms[name]} AS {one.to_ddl()}) AS `{name}`"
            for name, one in zip(names, kind.field_types, strict=True)
        ]

    randoms = {
        name: _random(options, name, one)
        for name, one in zip(names, kind.field_types, strict=True)
        if name not in sequences
    }

    def source() -> Input:
        from flinkish.spark.jobs.inputs import FormatInput, RangeInput

        if counts:
            return RangeInput(min(counts), expressions("id"), kind)
        return FormatInput("rate", {"rowsPerSecond": str(speed)}, [expressions("value")], kind)

    return source


def _random(options: _Options, name: str, kind: TypeInformation) -> str:
    """The expression of a column's random values, between both bounds."""
    if kind in _BITS:
        largest = (1 << (_BITS[kind] - 1)) - 1
        least = _number(options, f"fields.{name}.min", -largest - 1)
        most = _number(options, f"fields.{name}.max", largest)
        assert least is not None
        assert most is not None
        count = most - least + 1
        if not 0 < count < 1 << 63:
            if count == 1 << 64:
                return "xxhash64(uuid())"
            raise IllegalArgumentError(
                f"the random values of {name!r} are from {least} to {most}: give bounds in order, "
                "less than 2^63 apart, or none"
            )
        return f"CAST({least} AS BIGINT) + pmod(xxhash64(uuid()), {count}L)"
    if kind in _LARGEST:
        largest_float = _LARGEST[kind]
        low = float(options.take(f"fields.{name}.min") or -largest_float)
        high = float(options.take(f"fields.{name}.max") or largest_float)
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        return f"CAST('{middle!r}' AS DOUBLE) + (rand() * 2 - 1) * CAST('{half!r}' AS DOUBLE)"
    if isinstance(kind, DecimalTypeInfo):
        return _random_decimal(options, name, kind)
    if kind == Types.BOOLEAN():
        return "rand() < 0.5"
    if kind == Types.STRING():
        length = _number(options, f"fields.{name}.length", 100)
        assert length is not None
        texts = ", ".join(["sha2(uuid(), 512)"] * (length // _HASH + 1))
        return f"left(concat({texts}), {length})"
    if kind.to_ddl() in _NOW:
        return "current_timestamp()"
    raise UnsupportedOperationError(
        f"the column {name!r} of the table {options.table} has the type {kind.to_ddl()}, for which "
        "there are no random values: make it in a view, from others"
    )


def _random_decimal(options: _Options, name: str, kind: DecimalTypeInfo) -> str:
    """The same for decimals, with the digits that a double has; none is wider than its column."""
    widest = float(Decimal(10**kind.precision - 1).scaleb(-kind.scale))
    if widest >= 10.0 ** (kind.precision - kind.scale):
        widest = math.nextafter(widest, 0)
    low = max(float(options.take(f"fields.{name}.min") or -widest), -widest)
    high = min(float(options.take(f"fields.{name}.max") or widest), widest)
    return f"CAST({low!r} AS DOUBLE) + rand() * CAST({high - low!r} AS DOUBLE)"


def _number(options: _Options, key: str, default: int | None = None) -> int | None:
    value = options.take(key)
    if value is None:
        return default
    try:
        return int(value)
    except ValueError:
        raise IllegalArgumentError(
            f"the option '{key}' of the table {options.table} is an integer, not {value!r}"
        ) from None
