"""Many segments of runs that are over become one, without what is there twice or damaged.

The heir is written under a name that nobody looks for, then renamed, and only then are the others
deleted.  A kill between leaves results that are there twice, which harms nobody; so do two
compactions at once.  A reader that had looked at the others misses their results, and calls again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa

from flinkish._core.values.codec import CorruptFrame
from flinkish.spark.results.files import SUFFIX, Place, SegmentFile
from flinkish.spark.results.keys import KEY_BYTES
from flinkish.spark.results.segments import (
    Damage,
    Group,
    group_bytes,
    neighbours,
    read_groups,
    scan,
    sealed_end,
)

__all__ = ["Compaction", "compact"]

_GROUP_BYTES = 256 << 10
_READ_BYTES = 4 << 20  # at once
_DAMAGED = ".damaged"  # instead of SUFFIX: kept to be looked at, and not read


@dataclass(frozen=True)
class Compaction:
    """The outcome of a compaction."""

    segments_before: int
    segments_after: int
    results: int  # in the heir
    duplicates: int  # the same result of the same key: left out
    damaged: tuple[Damage, ...]


def compact(place: Place, kind: pa.DataType, idle_ms: int) -> Compaction:
    """Merge the segments of ``place`` that nobody writes to: sealed, or unchanged for so long."""
    every = place.segments()
    damaged: list[Damage] = []
    ended = [one for one in every if _is_over(place, one, idle_ms)]
    if len(ended) < 2:
        return Compaction(len(every), len(every), 0, 0, ())
    hidden = f".compacting-{secrets.token_hex(8)}"
    merged = _Merged(place.create(hidden))
    for segment in ended:
        for keys, results in _groups(place, segment, kind, damaged):
            merged.add(keys, results)
    merged.close()
    heir = f"{ended[0].name.split('-')[0]}-compacted-{secrets.token_hex(6)}{SUFFIX}"
    place.rename(hidden, heir)
    torn = {damage.segment for damage in damaged}
    for segment in ended:
        if segment.name in torn:
            place.rename(segment.name, segment.name.removesuffix(SUFFIX) + _DAMAGED)
        else:
            place.remove(segment)
    after = len(every) - len(ended) + 1
    return Compaction(len(every), after, merged.written, merged.duplicates, tuple(damaged))


class _Merged:
    """Collects small groups into large ones, each result of a key once.

    Results of a key that differ are all kept, in their order: a `retry` of today may not take the
    first of them, and the reader then goes on to the next, which was paid for, too.
    """

    def __init__(self, file: pa.NativeFile) -> None:
        self.written = 0
        self.duplicates = 0
        self._file = file
        self._number = 0
        self._seen: set[bytes] = set()
        self._parts: list[tuple[bytes, pa.Array]] = []
        self._bytes = 0

    def add(self, keys: memoryview, results: pa.Array) -> None:
        """Take in a group."""
        fresh = []
        names = []
        for row, result in enumerate(results.to_pylist()):
            name = bytes(keys[row * KEY_BYTES : (row + 1) * KEY_BYTES])
            seen = blake2b(name + repr(result).encode(), digest_size=16).digest()
            if seen not in self._seen:
                self._seen.add(seen)
                fresh.append(row)
                names.append(name)
        self.duplicates += len(results) - len(fresh)
        if fresh:
            kept = results.take(pa.array(fresh, pa.int64()))
            self._parts.append((b"".join(names), kept))
            self._bytes += results.nbytes
        if self._bytes >= _GROUP_BYTES:
            self._write()

    def close(self) -> None:
        """Write the rest, and the end."""
        self._write()
        self._file.write(sealed_end(self._number))
        self._file.close()

    def _write(self) -> None:
        if self._parts:
            keys = b"".join(keys for keys, _ in self._parts)
            results = pa.concat_arrays([results for _, results in self._parts])
            self._file.write(group_bytes(self._number, keys, results))
            self._number += 1
            self.written += len(results)
            self._parts, self._bytes = [], 0


def _is_over(place: Place, segment: SegmentFile, idle_ms: int) -> bool:
    if time.time() - segment.changed >= idle_ms / 1000:
        return True
    with place.open(segment) as file:
        return any(found is True for found in scan(file, segment.name, 0, 0, place.at_once))


def _groups(
    place: Place, segment: SegmentFile, kind: pa.DataType, damaged: list[Damage]
) -> Iterator[tuple[memoryview, pa.Array]]:
    """The groups of a segment that can be read."""
    with place.open(segment) as file:
        found = _sound(place, file, segment, damaged)
        for run in neighbours(found, _READ_BYTES):
            for group, one in zip(run, read_groups(file, run, kind), strict=True):
                if isinstance(one, CorruptFrame):
                    damage = Damage(segment.name, group.results_at, group.end, one.reason)
                    damaged.append(damage)
                else:
                    yield one


def _sound(
    place: Place, file: pa.NativeFile, segment: SegmentFile, damaged: list[Damage]
) -> Iterator[Group]:
    """Groups whose keys can be read."""
    for found in scan(file, segment.name, 0, 0, place.at_once):
        if isinstance(found, Damage):
            damaged.append(found)
        elif not isinstance(found, bool):
            yield found[0]
