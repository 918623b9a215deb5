"""How results lie in files: groups of two frames of ``_core.values.codec``, keys and then results.

    segment   group*  [end]
    group     frame of KIND_KEYS: KEY_BYTES a result
              frame of KIND_RESULTS: a record batch of one column, the list of rows of each result
    end       an empty frame: nobody will write here any more

Frames carry the number of their group where others carry a key group, so that none can stand in
for another.  A file that ends within a group was cut by a kill: what is before counts.  A frame
whose checksum is wrong was damaged: its group does not count, nor does anything after a header
that cannot be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from flinkish._core.values.codec import CorruptFrame, frame_header, seal, unseal
from flinkish.spark.results.keys import KEY_BYTES

__all__ = [
    "HEADER",
    "Damage",
    "Group",
    "group_bytes",
    "neighbours",
    "read_groups",
    "scan",
    "sealed_end",
]

FORMAT_VERSION = 1
KIND_KEYS = 7
KIND_RESULTS = 8
KIND_END = 9
HEADER = 32  # bytes of a frame before its body


class Group(NamedTuple):
    """Where a group lies in its segment (bytes), and how many results it has."""

    number: int
    keys_at: int
    results_at: int
    end: int
    length: int


@dataclass(frozen=True)
class Damage:
    """A part of a segment that could not be read, and was left out.

    ``end`` is where what counts goes on, None where nothing after can be found.
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
    """The frame after the last group."""
    return seal(KIND_END, FORMAT_VERSION, number, b"", compress=False)


def scan(
    file: pa.NativeFile, segment: str, at: int, number: int, at_once: int
) -> Iterator[tuple[Group, bytes] | Damage | bool]:
    """Groups from a byte on, the next with this number, and their keys, joined; True at the end.

    Stops where the file was cut.  Reads so many bytes at once; results are not checked, and those
    that do not fit in, not read.
    """
    size = file.size()
    window = _Window(file, at_once)
    while at + HEADER <= size:
        try:
            first = frame_header(window.read(at, HEADER))
            if first.kind == KIND_END:
                yield True
                return
            results_at = at + HEADER + first.size
            if results_at + HEADER > size:
                return
            second = frame_header(window.read(results_at, HEADER))
        except CorruptFrame as error:
            yield Damage(segment, at, None, error.reason)
            return
        end = results_at + HEADER + second.size
        if end > size:
            return
        try:
            keys = _keys(window.read(at, HEADER + first.size), number)
            yield Group(number, at, results_at, end, len(keys) // KEY_BYTES), bytes(keys)
        except CorruptFrame as error:
            yield Damage(segment, at, end, error.reason)
        at, number = end, number + 1


def neighbours(groups: Iterable[Group], most: int) -> Iterator[list[Group]]:
    """Groups of one segment as runs that lie side by side, of ``most`` bytes or of one group."""
    run: list[Group] = []
    for group in groups:
        if run and (group.keys_at != run[-1].end or group.end - run[0].keys_at > most):
            yield run
            run = []
        run.append(group)
    if run:
        yield run


def read_groups(
    file: pa.NativeFile, run: Sequence[Group], kind: pa.DataType
) -> list[tuple[memoryview, pa.Array] | CorruptFrame]:
    """The keys, joined, and the results of groups that lie side by side, by one read.

    In place of a group that is not what was written there is the reason.
    """
    begin = run[0].keys_at
    blob = memoryview(file.read_at(run[-1].end - begin, begin))
    schema = pa.schema([("results", kind)])
    found: list[tuple[memoryview, pa.Array] | CorruptFrame] = []
    for number, keys_at, results_at, end, count in run:
        try:
            keys = _keys(blob[keys_at - begin : results_at - begin], number)
            frame = blob[results_at - begin : end - begin]
            body = unseal(frame, KIND_RESULTS, number, version=FORMAT_VERSION)
            batch = pa.ipc.read_record_batch(pa.py_buffer(body), schema)
            if not batch.num_rows == count == len(keys) // KEY_BYTES:
                there = f"{batch.num_rows} results for {len(keys)} bytes of keys"
                raise CorruptFrame("count", there, f"{count}", "the group")
            found.append((keys, batch.column(0)))
        except CorruptFrame as error:
            found.append(error)
    return found


class _Window:
    """A file, read in few large pieces by who goes through it from its begin to its end."""

    def __init__(self, file: pa.NativeFile, at_once: int) -> None:
        self._file = file
        self._at_once = at_once
        self._at = 0
        self._held = memoryview(b"")

    def read(self, at: int, size: int) -> memoryview:
        """Bytes of the file, fewer where it ends."""
        begin = at - self._at
        if not 0 <= begin <= len(self._held) - size:
            self._held = memoryview(self._file.read_at(max(size, self._at_once), at))
            self._at, begin = at, 0
        return self._held[begin : begin + size]


def _keys(blob: memoryview, number: int) -> memoryview:
    return unseal(blob, KIND_KEYS, number, version=FORMAT_VERSION)
