"""How results lie in files: groups of two frames of ``_core.codec``, keys and then results.

    segment   group*  [end]
    group     frame of KIND_KEYS: KEY_BYTES a result
              frame of KIND_RESULTS: a record batch of one column, the list of rows of each result
    end       an empty frame: nobody will write here any more

Frames carry the number of their group where others carry a key group, so that none can stand in
for another.  A file that ends within a group was cut by a kill: what is before counts.  A frame
whose checksum is wrong was damaged: its group does not count, nor does anything behind a header
that cannot be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.codec import CorruptFrame, frame_header, seal, unseal
from flinkish.spark.ledger.keys import KEY_BYTES

__all__ = ["Damage", "Group", "Keys", "group_bytes", "read_group", "scan", "sealed_end"]

FORMAT_VERSION = 1
KIND_KEYS = 7
KIND_RESULTS = 8
KIND_END = 9
HEADER = 32  # bytes of a frame before its body

Keys = npt.NDArray[np.uint8]
"""Keys of results, of the shape (results, KEY_BYTES)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Where a group lies in its segment (bytes), and how many results it has."""

    number: int
    keys_at: int
    results_at: int
    end: int
    count: int


@dataclass(frozen=True)
class Damage:
    """A part of a segment that could not be read, and was left out.

    ``end`` is where what counts goes on, None where nothing behind can be found.
    """

    segment: str
    at: int  # the byte where it begins
    end: int | None
    reason: str


def group_bytes(number: int, keys: bytes, results: pa.Array) -> bytes:
    """A group as it is written, with one write; ``keys`` are those of the results, joined."""
    body = pa.record_batch([results], names=["results"]).serialize()
    return seal(KIND_KEYS, FORMAT_VERSION, number, keys, compress=False) + seal(
        KIND_RESULTS, FORMAT_VERSION, number, body, compress=False
    )


def sealed_end(number: int) -> bytes:
    """The frame behind the last group."""
    return seal(KIND_END, FORMAT_VERSION, number, b"", compress=False)


def scan(
    file: pa.NativeFile, segment: str, at: int, number: int
) -> Iterator[tuple[Group, Keys] | Damage | bool]:
    """Groups from a byte on, the next of which has this number, with their keys; True at the end.

    Stops where the file was cut.  Results are not read, and so not checked.
    """
    size = file.size()
    while at + HEADER <= size:
        try:
            first = frame_header(file.read_at(HEADER, at))
            if first.kind == KIND_END:
                yield True
                return
            results_at = at + HEADER + first.size
            if results_at + HEADER > size:
                return
            second = frame_header(file.read_at(HEADER, results_at))
        except CorruptFrame as error:
            yield Damage(segment, at, None, error.reason)
            return
        end = results_at + HEADER + second.size
        if end > size:
            return
        try:
            keys = _keys(file.read_at(HEADER + first.size, at), number)
            yield Group(number, at, results_at, end, len(keys)), keys
        except CorruptFrame as error:
            yield Damage(segment, at, end, error.reason)
        at, number = end, number + 1


def read_group(file: pa.NativeFile, group: Group, kind: pa.DataType) -> tuple[Keys, pa.Array]:
    """The keys and the results of a group; CorruptFrame if they are not what was written."""
    keys = _keys(file.read_at(group.results_at - group.keys_at, group.keys_at), group.number)
    blob = file.read_at(group.end - group.results_at, group.results_at)
    body = unseal(blob, KIND_RESULTS, group.number, version=FORMAT_VERSION)
    batch = pa.ipc.read_record_batch(pa.py_buffer(body), pa.schema([("results", kind)]))
    if batch.num_rows != len(keys):
        raise CorruptFrame("count", f"{batch.num_rows} results", f"{len(keys)}", "the group")
    return keys, batch.column(0)


def _keys(blob: bytes, number: int) -> Keys:
    body = unseal(blob, KIND_KEYS, number, version=FORMAT_VERSION)
    return np.frombuffer(body, np.uint8).reshape(-1, KEY_BYTES)
