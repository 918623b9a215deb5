"""Rows of keys that come as a column, and columns of the keys of rows: no Python call a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flinkish._core.columns.records import RecordReader
from flinkish._core.state.key_reader import KeyReader
from flinkish._core.state.key_rows import gather_keys
from flinkish._core.state.table import StateTable

__all__ = ["columns_of_keys", "key_reader", "normalized_column", "text_buffers"]


def key_reader(column: pa.Array, *, packed: bool = False) -> KeyReader:
    """The keys of a column without nulls, encoded ones if ``packed``."""
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        return KeyReader(numbers=column.cast(pa.int64()).to_numpy())
    if packed or pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        offsets, text = text_buffers(column, pa.binary() if packed else pa.string())
        return KeyReader(offsets=offsets, text=text, packed=packed)
    values = RecordReader([normalized_column(column)], ("key",)).values(0)
    return KeyReader(objects=values)


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
