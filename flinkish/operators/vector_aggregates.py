"""Built-in aggregates as columns: Arrow in, accumulators' records, Arrow out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.windows.panes.engine import AccumulatorLayout, WordColumns
from flinkish.common.errors import SchemaMismatchError, UnknownColumnError
from flinkish.functions.aggregates import (
    Avg,
    BuiltInAggregate,
    Count,
    First,
    Last,
    Max,
    Min,
    Sum,
)

__all__ = ["VectorAggregates", "result_type", "why_not_vectorised"]

Step = tuple[str, int, bool, bool]

_PICKED: tuple[type[BuiltInAggregate], ...] = (First, Last)
_LOWEST: tuple[type[BuiltInAggregate], ...] = (Min, First)
_SIGN = np.uint64(1 << 63)


def why_not_vectorised(aggregate: BuiltInAggregate, kind: pa.DataType | None) -> str | None:
    """Why an aggregate of a column of this type has no records of a fixed size; None: it has."""
    if type(aggregate) not in (Count, Sum, Avg, Min, Max, First, Last):
        return f"{type(aggregate).__name__} is not kept in a fixed number of bytes"
    if isinstance(aggregate, Count) or kind is None:
        return None
    if isinstance(aggregate, (Sum, Avg)):
        return None if _is_int(kind) or _is_float(kind) else f"{aggregate!r} is of {kind} values"
    return None if _word_type(kind) is not None else f"{aggregate!r} is of {kind} values"


def result_type(aggregate: BuiltInAggregate, kind: pa.DataType | None) -> pa.DataType:
    """The type of an aggregate's result over a column of this type."""
    if isinstance(aggregate, Count):
        return pa.int64()
    assert kind is not None
    if isinstance(aggregate, Sum):
        return pa.int64() if _is_int(kind) else pa.float64()
    return pa.float64() if isinstance(aggregate, Avg) else kind


class VectorAggregates:
    """The accumulators of several aggregates, as one layout of records.

    Aggregates of one column share what they have in common: its count, its sum.
    """

    def __init__(self, aggregates: Sequence[BuiltInAggregate], schema: pa.Schema) -> None:
        self.aggregates = tuple(aggregates)
        self.columns: list[str] = []
        self._steps: list[Step] = []
        self._places = [self._place(aggregate, schema) for aggregate in self.aggregates]
        self._types = [schema.field(name).type for name in self.columns]
        self.layout = AccumulatorLayout(self._steps)
        self._offsets = [offset // 8 for offset in self.layout.offsets]
        self.fields = [
            pa.field(a.name, result_type(a, self._type_of(a)), nullable=not isinstance(a, Count))
            for a in self.aggregates
        ]

    def _type_of(self, aggregate: BuiltInAggregate) -> pa.DataType | None:
        if aggregate.column is None:
            return None
        return self._types[self.columns.index(str(aggregate.column))]

    def _place(
        self, aggregate: BuiltInAggregate, schema: pa.Schema
    ) -> tuple[int | None, int | None]:
        """The steps of an aggregate: of its column's count, and of its own."""
        if aggregate.column is None:
            return None, None
        name = str(aggregate.column)
        if name not in schema.names:
            raise UnknownColumnError(
                f"{aggregate!r} is of the column {name!r}, and the columns are "
                + ", ".join(schema.names)
            )
        kind = schema.field(name).type
        reason = why_not_vectorised(aggregate, kind)
        if reason is not None:
            raise SchemaMismatchError(f"{reason}, which only a window with rows can take")
        if name not in self.columns:
            self.columns.append(name)
        column = self.columns.index(name)
        count = self._step(("count", column, False, False))
        if isinstance(aggregate, Count):
            return count, None
        is_float = _is_float(kind)
        if isinstance(aggregate, (Sum, Avg)):
            return count, self._step(("float" if is_float else "int", column, is_float, False))
        kept = "pick" if isinstance(aggregate, _PICKED) else "extreme"
        lowest = isinstance(aggregate, _LOWEST)
        return count, self._step((kept, column, is_float and kept == "extreme", lowest))

    def _step(self, step: Step) -> int:
        if step not in self._steps:
            self._steps.append(step)
        return self._steps.index(step)

    # --- in

    def words_of(self, batch: pa.RecordBatch) -> WordColumns:
        """The columns that the aggregates read."""
        return WordColumns(batch.num_rows, [_words(batch.column(name)) for name in self.columns])

    # --- out

    def results(self, records: npt.NDArray[np.uint8]) -> list[pa.Array]:
        """The aggregates' results: one array each, a row for each record."""
        words = records.view(np.uint64)
        return [
            self._result(aggregate, field.type, words, *places)
            for aggregate, field, places in zip(
                self.aggregates, self.fields, self._places, strict=True
            )
        ]

    def _result(
        self,
        aggregate: BuiltInAggregate,
        kind: pa.DataType,
        words: npt.NDArray[np.uint64],
        counted: int | None,
        step: int | None,
    ) -> pa.Array:
        counts = words[:, 0 if counted is None else self._offsets[counted]].view(np.int64)
        if step is None:
            return pa.array(counts)
        place = self._offsets[step]
        nothing = counts == 0
        mask = nothing if nothing.any() else None
        if isinstance(aggregate, (Sum, Avg)):
            total: npt.NDArray[Any]
            if self._steps[step][0] == "float":
                parts = words[:, place : place + 2].copy().view(np.float64)
                total = parts[:, 0] + parts[:, 1]
            else:
                total = _int_totals(words, place, aggregate)
            if isinstance(aggregate, Avg):
                with np.errstate(invalid="ignore", divide="ignore"):
                    total = total.astype(np.float64) / counts
            return pa.array(total, kind, mask=mask)
        if isinstance(aggregate, _PICKED):
            found = words[:, place + 1].copy()
        else:
            found = _values(words[:, place], *self._steps[step][2:])
        return _of_words(found, kind, mask)


def _int_totals(
    words: npt.NDArray[np.uint64], place: int, aggregate: BuiltInAggregate
) -> npt.NDArray[Any]:
    """Sums of 128 bits as int64 where they fit; a mean may be of larger ones."""
    low = words[:, place].view(np.int64)
    high = words[:, place + 1].view(np.int64)
    large = high != low >> 63
    if not large.any():
        return low
    at = int(np.flatnonzero(large)[0])
    if isinstance(aggregate, Sum):
        total = (int(high[at]) << 64) + int(words[at, place])
        raise SchemaMismatchError(
            f"{aggregate!r} is {total} in some window, which does not fit a bigint; cast the "
            "column to double",
            value=total,
        )
    wide = (high.astype(object) << 64) + words[:, place].astype(object)
    return np.array([float(value) for value in wide])


def _values(codes: npt.NDArray[np.uint64], is_float: bool, lowest: bool) -> npt.NDArray[np.uint64]:
    """The words that the codes stand for; see `code_of` of the floor."""
    rising = ~codes if lowest else codes
    if not is_float:
        return rising ^ _SIGN
    return np.where(rising & _SIGN, rising ^ _SIGN, ~rising)


# --- words --------------------------------------------------------------------------------------


def _is_int(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) and kind != pa.uint64()


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _word_type(kind: pa.DataType) -> pa.DataType | None:
    """int64 or float64, which can hold values of this type; None when neither can."""
    if _is_float(kind):
        return pa.float64()
    if _is_int(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return None if pa.types.is_interval(kind) else pa.int64()
    return None


def _storage(kind: pa.DataType) -> pa.DataType:
    """The integers that a temporal type is made of."""
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _words(column: pa.Array) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8] | None, int]:
    """A column as words, and the bitmap of those that are not null."""
    kind = column.type
    target = _word_type(kind)
    if target is None or len(column) == 0:
        # Only counted: no value is looked at.
        words = np.zeros(len(column), np.uint64)
    else:
        if pa.types.is_temporal(kind):
            column = column.view(_storage(kind))
        column = column.cast(target)
        data = column.buffers()[1]
        start = column.offset
        words = np.frombuffer(data, np.uint64)[start : start + len(column)]
    if column.null_count == 0:
        return words, None, 0
    return words, np.frombuffer(column.buffers()[0], np.uint8), column.offset


def _of_words(
    words: npt.NDArray[np.uint64], kind: pa.DataType, mask: npt.NDArray[np.bool_] | None
) -> pa.Array:
    """Words as values of a type."""
    if mask is not None:
        words[mask] = 0
    if _is_float(kind):
        return pa.array(words.view(np.float64), mask=mask).cast(kind)
    values = pa.array(words.view(np.int64), mask=mask)
    if pa.types.is_temporal(kind):
        return values.cast(_storage(kind)).view(kind)
    return values.cast(kind)
