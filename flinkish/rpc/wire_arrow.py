"""Arrow batches off the wire: looked at before they are decoded, and checked before they are used.

A batch is memory that Arrow's code follows without looking: a wrong offset in it reads what is not
its own, or ends the process.  So nothing of a peer is used before all its offsets, indices and
texts were found to be right.  What would grow when it is decoded is refused before: we send neither
compressed buffers nor dictionaries in pieces, and rows that take no bytes are limited.
"""

from __future__ import annotations

import struct
from typing import Any

from flinkish.common.errors import SerializationError

__all__ = ["read_batch", "read_table"]

FREE_ROWS = 1 << 24  # rows of a batch, however few bytes it has: columns of nulls take none
ROWS_PER_BYTE = 8  # of a column of bits

# Slots of the tables of Arrow's Message.fbs.
HEADER_TYPE, HEADER = 1, 2  # of a Message
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # types of a header
DATA, IS_DELTA = 1, 2  # of a DictionaryBatch
COMPRESSION = 3  # of a RecordBatch


def read_batch(data: memoryview) -> Any:
    """The record batch in an IPC stream; SerializationError for what is none."""
    return _read(data, lambda reader: reader.read_next_batch())


def read_table(data: memoryview) -> Any:
    """The table in an IPC stream; SerializationError for what is none."""
    return _read(data, lambda reader: reader.read_all())


def _read(data: memoryview, take: Any) -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise SerializationError(
            "an Arrow batch arrived, and the package pyarrow, which reads it, cannot be imported: "
            "pip install 'flinkish[arrow]'"
        ) from error

    try:
        _look(data)
        with pyarrow.ipc.open_stream(data) as reader:
            value = take(reader)
        most = max(FREE_ROWS, ROWS_PER_BYTE * len(data))
        if value.num_rows > most:
            raise ValueError(f"{value.num_rows} rows in {len(data)} bytes, where {most} may be")
        value.validate(full=True)
    except (
        *(pyarrow.ArrowException, ValueError, KeyError, OSError),
        *(EOFError, StopIteration, struct.error, IndexError),
    ) as error:
        raise SerializationError(
            f"an Arrow batch came in that is damaged, or not as this library sends it: {error}"
        ) from error
    return value


def _look(data: memoryview) -> None:
    """Refuse what would grow; decodes nothing."""
    import pyarrow

    reader = pyarrow.ipc.MessageReader.open_stream(data)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        # Arrow has verified the metadata: all offsets in it are inside.
        head = memoryview(message.metadata)
        table = _table(head, 0)
        kind = _field(head, table, HEADER_TYPE)
        place = _field(head, table, HEADER)
        if kind is None or place is None:
            raise ValueError("a message without a header")
        header = _table(head, place)
        if head[kind] == DICTIONARY_BATCH:
            delta, place = _field(head, header, IS_DELTA), _field(head, header, DATA)
            if delta is not None and head[delta]:
                raise ValueError("a dictionary in pieces")
            if place is None:
                raise ValueError("a dictionary without values")
            header = _table(head, place)
        elif head[kind] != RECORD_BATCH:
            continue
        if _field(head, header, COMPRESSION) is not None:
            raise ValueError("compressed buffers, and batches travel as they are")


# A table of a flatbuffer starts with the distance back to its vtable, which has its own size, that
# of the table, and for each slot the distance from the table to the field, 0 for none.


def _table(data: memoryview, place: int) -> int:
    """Where the table is that this place refers to."""
    found: int = place + struct.unpack_from("<I", data, place)[0]
    return found


def _field(data: memoryview, table: int, slot: int) -> int | None:
    """Where a field of a table is."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise ValueError("a table without a shape")
    (size,) = struct.unpack_from("<H", data, vtable)
    at = 4 + 2 * slot
    if at + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", data, vtable + at)
    return table + offset if offset else None
