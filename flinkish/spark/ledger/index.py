"""What a ledger holds, found by key: 16 bytes of memory a result, whatever the results weigh.

The index has the first 8 bytes of each key and where the result is.  Results stay in their files;
those of the groups used last are kept, up to `CACHE_BYTES`.  As runs read rows in the order in
which an earlier run wrote their results, more or less, a group is mostly read once.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.codec import CorruptFrame
from flinkish.spark.ledger.files import Place, SegmentFile
from flinkish.spark.ledger.keys import KEY_BYTES
from flinkish.spark.ledger.segments import Damage, Group, Keys, read_group, scan

__all__ = ["LedgerIndex"]

_LOG = logging.getLogger(__name__)

CACHE_BYTES = 64 << 20


@dataclass
class _Segment:
    """How far a segment was looked through."""

    file: SegmentFile
    at: int = 0
    number: int = 0
    complete: bool = False


class LedgerIndex:
    """The results of a place, as of the last `refresh`.

    Threading: one thread at a time.
    """

    def __init__(self, place: Place, kind: pa.DataType) -> None:
        self.place = place
        self.saved = 0  # results handed out: calls that need not be made
        self.damaged: list[Damage] = []
        self._kind = kind
        self._segments: dict[str, _Segment] = {}
        self._groups: list[tuple[_Segment, Group]] = []
        self._prefixes = np.empty(0, np.uint64)
        self._places = np.empty(0, np.uint64)  # group << 32 | row
        self._cache: OrderedDict[int, tuple[Keys, pa.Array]] = OrderedDict()
        self._cached = 0

    def __len__(self) -> int:
        """Results, those that are there twice counted twice."""
        return len(self._prefixes)

    def refresh(self) -> None:
        """Look at what was written since."""
        prefixes, places = [self._prefixes], [self._places]
        for file in self.place.segments():
            segment = self._segments.setdefault(file.name, _Segment(file))
            if segment.complete or file.size <= segment.at:
                continue
            try:
                self._read(segment, prefixes, places)
            except FileNotFoundError:  # compacted meanwhile; its heir comes with the next refresh
                continue
        if len(prefixes) > 1:
            joined = np.concatenate(prefixes)
            order = np.argsort(joined, kind="stable")
            self._prefixes = joined[order]
            self._places = np.concatenate(places)[order]

    def get(self, key: bytes) -> list[tuple[Any, ...]] | None:
        """The output rows of the call with this key, or None; of several, what came first."""
        prefix = np.frombuffer(key, np.uint64, 1)[0]
        at = int(np.searchsorted(self._prefixes, prefix))
        while at < len(self._prefixes) and self._prefixes[at] == prefix:
            where = int(self._places[at])
            held = self._group(where >> 32)
            if held is None:  # and left out, so that others have moved to its place
                at = int(np.searchsorted(self._prefixes, prefix))
                continue
            keys, results = held
            row = where & 0xFFFFFFFF
            if keys[row].tobytes() == key:
                self.saved += 1
                return [tuple(one.values()) for one in results[row].as_py()]
            at += 1
        return None

    # --- files

    def _read(
        self,
        segment: _Segment,
        prefixes: list[npt.NDArray[np.uint64]],
        places: list[npt.NDArray[np.uint64]],
    ) -> None:
        with self.place.open(segment.file) as file:
            for found in scan(file, segment.file.name, segment.at, segment.number):
                if isinstance(found, bool):
                    segment.complete = True
                elif isinstance(found, Damage):
                    self._damage(found)
                    segment.complete = found.end is None
                    segment.at, segment.number = found.end or segment.at, segment.number + 1
                else:
                    group, keys = found
                    where = np.arange(group.count, dtype=np.uint64)
                    where |= np.uint64(len(self._groups) << 32)
                    self._groups.append((segment, group))
                    prefixes.append(_prefixes(keys))
                    places.append(where)
                    segment.at, segment.number = group.end, group.number + 1

    def _group(self, number: int) -> tuple[Keys, pa.Array] | None:
        """A group's keys and results; None if they are damaged or gone."""
        held = self._cache.get(number)
        if held is not None:
            self._cache.move_to_end(number)
            return held
        segment, group = self._groups[number]
        try:
            with self.place.open(segment.file) as file:
                held = read_group(file, group, self._kind)
        except CorruptFrame as error:
            self._damage(Damage(segment.file.name, group.results_at, group.end, error.reason))
        except FileNotFoundError:
            self._damage(Damage(segment.file.name, group.keys_at, None, "the file is gone"))
        if held is None:
            self._forget(number)
            return None
        self._cache[number] = held
        self._cached += group.end - group.keys_at
        while self._cached > CACHE_BYTES and len(self._cache) > 1:
            oldest, _ = self._cache.popitem(last=False)
            gone = self._groups[oldest][1]
            self._cached -= gone.end - gone.keys_at
        return held

    def _forget(self, number: int) -> None:
        """Leave a group out, so that other copies of its results are found, if there are any."""
        kept = (self._places >> np.uint64(32)) != number
        self._prefixes, self._places = self._prefixes[kept], self._places[kept]

    def _damage(self, damage: Damage) -> None:
        _LOG.warning(
            "ledger %s: segment %s is damaged at byte %d (%s); calls whose results it held are "
            "made again",
            *(self.place.path, damage.segment, damage.at, damage.reason),
        )
        self.damaged.append(damage)


def _prefixes(keys: Keys) -> npt.NDArray[np.uint64]:
    whole = np.ascontiguousarray(keys).reshape(-1, KEY_BYTES)
    return whole.view(np.uint64).reshape(-1, KEY_BYTES // 8)[:, 0]
