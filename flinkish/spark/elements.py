"""Columns that Spark gives, as the elements of a stream.

A stream whose rows came from a DataFrame has Rows as its elements; one of a declared type has what
that type says, as in PyFlink: Rows, tuples, single values, or objects that were pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime, timezone, tzinfo
from typing import Any, TypeAlias

import pyarrow as pa

from flinkish._core.columns.records import RecordReader
from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.row import rows_of
from flinkish.common.typeinfo import (
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = ["ElementReader", "field_names_of"]

Restore: TypeAlias = Callable[[Any], Any]


class ElementReader:
    """The elements of a record batch, by the type of a stream; None is for Rows of its columns.

    A SQL_TIMESTAMP is a naive datetime in ``time_zone``, since PyFlink's has no zone.

    Ownership: keeps the columns until it dies.  Threading: one thread.
    """

    def __init__(
        self,
        batch: pa.RecordBatch,
        kind: TypeInformation | None = None,
        time_zone: tzinfo = timezone.utc,
    ) -> None:
        names = kind.get_field_names() if isinstance(kind, RowTypeInfo) else None
        self._reader = RecordReader(batch, names)
        self._kind = kind
        self._restore = None if kind is None else _restore_of(kind, time_zone)

    def __len__(self) -> int:
        return self._reader.num_rows

    def elements(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """Elements ``start`` to ``stop``."""
        kind, restore, reader = self._kind, self._restore, self._reader
        if kind is None:
            return reader.rows(start, stop)
        if not isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
            values = reader.values(0, start, stop)
            return values if restore is None else [restore(value) for value in values]
        if restore is not None:
            return [restore(values) for values in reader.tuples(start, stop)]
        if isinstance(kind, TupleTypeInfo):
            return reader.tuples(start, stop)
        return reader.rows(start, stop)


def field_names_of(kind: TypeInformation | None, columns: list[str]) -> list[str] | None:
    """The fields of elements that are Rows; None of others."""
    if kind is None:
        return columns
    return kind.get_field_names() if isinstance(kind, RowTypeInfo) else None


def _restore_of(kind: TypeInformation, zone: tzinfo) -> Restore | None:
    """The function that makes a value of what a column gives, or None if they are the same.

    A row or tuple comes as the tuple of its fields, or as a Row of a struct.
    """
    if isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
        return _restore_fields(kind, [_part(one, zone) for one in kind.field_types])
    if isinstance(kind, PickledBytesTypeInfo):
        return _unpickle
    if isinstance(kind, TimestampTypeInfo):
        return None if kind.wall_clock or kind.zoned else lambda value: _naive(value, zone)
    if isinstance(kind, MapTypeInfo):
        return _restore_map(_part(kind.key_type_info, zone), _part(kind.value_type_info, zone))
    if isinstance(kind, _ElementsTypeInfo) and not isinstance(kind, PrimitiveArrayTypeInfo):
        item = _part(kind.elem_type, zone)
        return None if item is None else lambda values: _each(values, item)
    return kind.from_internal_type if kind.need_conversion() else None


def _part(kind: TypeInformation, zone: tzinfo) -> Restore | None:
    """As `_restore_of`, of a value that is part of another: a tuple comes as a Row, None may be."""
    if isinstance(kind, TupleTypeInfo):
        parts = [_part(one, zone) for one in kind.field_types]
        restore = _restore_fields(kind, parts) or tuple
        return lambda value: None if value is None else restore(value)
    restored = _restore_of(kind, zone)
    return None if restored is None else lambda value: None if value is None else restored(value)


def _restore_fields(
    kind: RowTypeInfo | TupleTypeInfo, parts: list[Restore | None]
) -> Restore | None:
    if not any(parts):
        return None
    names = kind.get_field_names() if isinstance(kind, RowTypeInfo) else None

    def restore(values: Any) -> Any:
        fields = tuple(
            [value if part is None else part(value) for part, value in zip(parts, values)]  # noqa: B905
        )
        return fields if names is None else rows_of(names, [fields])[0]

    return restore


def _restore_map(key: Restore | None, item: Restore | None) -> Restore | None:
    if key is None and item is None:
        return None

    def restore(values: dict[Any, Any] | None) -> dict[Any, Any] | None:
        if values is None:
            return None
        return {
            one if key is None else key(one): other if item is None else item(other)
            for one, other in values.items()
        }

    return restore


def _each(values: list[Any] | None, item: Restore) -> list[Any] | None:
    return None if values is None else [item(value) for value in values]


def _naive(value: datetime | None, zone: tzinfo) -> datetime | None:
    return None if value is None else value.astimezone(zone).replace(tzinfo=None)


def _unpickle(value: bytes | None) -> Any:
    return None if value is None else pickle.loads(value)
