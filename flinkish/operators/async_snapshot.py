"""Snapshots of asynchronous operators: the elements that were not emitted, in their order.

A snapshot is one frame of ``_core.values.codec`` (versioned, checksummed) around a pickled list.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from flinkish._core.values.codec import CorruptFrame, NewerFrame, seal, unseal
from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError, CorruptStateError, SerializationError
from flinkish.common.formats import newer_format
from flinkish.common.notes import shortened
from flinkish.operators.async_calls import AsyncCall

__all__ = ["dump_elements", "elements_of", "load_elements"]

FORMAT_VERSION = 1
KIND_ELEMENTS = 10

Element = StreamRecord | Watermark


def elements_of(queued: Iterable[Any]) -> Iterator[Element]:
    """The elements that calls were made of, and the watermarks between them."""
    for one in queued:
        if not isinstance(one, AsyncCall):
            yield one
        elif isinstance(one.records, tuple):
            yield from one.records
        else:
            yield one.records


def dump_elements(elements: Iterable[Element]) -> bytes:
    """The elements as bytes; SerializationError naming one that cannot be pickled."""
    rows = [
        (True, one.timestamp, one.value)
        if isinstance(one, StreamRecord)
        else (False, one.timestamp, None)
        for one in elements
    ]
    try:
        body = pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)
    except Exception:
        for row in rows:
            try:
                pickle.dumps(row)
            except Exception as error:
                raise SerializationError(
                    f"an element that waits for its result cannot be part of a snapshot: "
                    f"{shortened(row[-1])} cannot be pickled: {error}",
                    path=type(row[-1]).__name__,
                ) from error
        raise
    return seal(KIND_ELEMENTS, FORMAT_VERSION, 0, body)


def load_elements(blob: bytes) -> list[Element]:
    """The elements in such bytes; CorruptStateError for any others.

    IncompatibleStateError for those of a later flinkish.
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(
            f"a snapshot is of type bytes, not {type(blob).__name__}: give what snapshot() gave"
        )
    try:
        body = unseal(bytes(blob), KIND_ELEMENTS, 0, version=FORMAT_VERSION)
    except NewerFrame as error:
        raise newer_format(error, "the snapshot of an asynchronous operator") from error
    except CorruptFrame as error:
        raise CorruptStateError(
            f"snapshot of an asynchronous operator refused: {error}", version=FORMAT_VERSION
        ) from error
    return [
        StreamRecord(row[2], row[1]) if row[0] else Watermark(row[1]) for row in pickle.loads(body)
    ]
