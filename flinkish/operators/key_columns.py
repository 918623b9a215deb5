"""Rows of keys that come as a column, and columns of the keys of rows: no Python call a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flinkish._core.columns.records import RecordReader
from flinkish._core.state.key_rows import gather_keys
from flinkish._core.state.table import StateTable

__all__ = ["KeyReader", "columns_of_keys", "normalized_column", "text_buffers"]


class KeyReader:
    """A column of keys without nulls, of encoded ones if ``packed``, and the rows they have.

    Ownership: keeps the column's memory.  Threading: that of the table.
    """

    def __init__(self, column: pa.Array, *, packed: bool = False) -> None:
        self._numbers: npt.NDArray[np.int64] | None = None
        self._texts: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]] | None = None
        self._packed = packed
        self._count = len(column)
        if pa.types.is_integer(column.type) and column.type != pa.uint64():
            self._numbers = column.cast(pa.int64()).to_numpy()
        elif packed or pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            self._texts = text_buffers(column, pa.binary() if packed else pa.string())
        else:
            self._keys = RecordReader([normalized_column(column)], ("key",)).values(0)

    def rows(
        self,
        table: StateTable,
        start: int = 0,
        stop: int | None = None,
        *,
        groups: npt.NDArray[np.int32] | None = None,
    ) -> npt.NDArray[np.uint32]:
        """The table's rows of keys ``start`` to ``stop``, of all by default; new keys get rows.

        ``groups`` are their key groups, for a table of several.
        """
        stop = self._count if stop is None else stop
        rows = np.empty(stop - start, np.uint32)
        if self._numbers is not None:
            table.intern_ints(self._numbers[start:stop], groups, rows)
        elif self._texts is not None:
            offsets, data = self._texts
            intern = table.intern_packed if self._packed else table.intern_strings
            intern(offsets[start : stop + 1], data, groups, rows)
        else:
            table.intern_objects(self._keys[start:stop], groups, rows)
        return rows


def columns_of_keys(
    table: StateTable, rows: npt.NDArray[np.uint32], kinds: Sequence[pa.DataType]
) -> list[pa.Array]:
    """The keys of rows as columns of these types: a key of several is a tuple."""
    if len(kinds) == 1 and pa.types.is_integer(kinds[0]):
        data = gather_keys(table, rows)[2]
        return [pa.array(data.view(np.int64)).cast(kinds[0])]
    if len(kinds) == 1 and pa.types.is_string(kinds[0]):
        _, offsets, data = gather_keys(table, rows)
        return [pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(data))]
    # Each key once: a batch fires many windows of few.
    different, places = np.unique(rows, return_inverse=True)
    keys: list[Any] = [table.key_of(row) for row in different.tolist()]
    parts = [keys] if len(kinds) == 1 else list(zip(*keys, strict=True))
    return [
        pa.array(part, kind).take(pa.array(places)) for part, kind in zip(parts, kinds, strict=True)
    ]


def normalized_column(column: pa.Array) -> pa.Array:
    """A column of keys with 0.0 for -0.0; see `flinkish.common.keys`."""
    if not pa.types.is_floating(column.type):
        return column
    # -0.0 + 0.0 is 0.0, and nothing else changes.
    return pc.add(column, pa.scalar(0.0, column.type))


def text_buffers(
    column: pa.Array, kind: pa.DataType
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Offsets and bytes of an array of text or binary without nulls."""
    if column.type != kind:
        column = column.cast(kind)
    _, offsets, data = column.buffers()
    view = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return view, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
