"""The index of a ledger, by key, in little memory whatever the results weigh.

The index has the first 8 bytes of each key and where the result is, 16 bytes a result, and 28 bytes
for each group.  Results stay in their files.  As runs read rows in the order in which an earlier
run wrote their results, more or less, a group that is asked for is read with those after it, by
one read, and their results become values all at once.

Invariants:
  X1  Of several results for a key that counts which came first, of those that can be read and
      that are wanted.
  X2  More is read, and made values of, than what was asked for only while that was not let go in
      vain: for each result handed out, at most `_WASTE` others.  So keys may come in any order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.values.codec import CorruptFrame
from flinkish.spark.results.files import Place, SegmentFile
from flinkish.spark.results.groups import GroupTable
from flinkish.spark.results.held import Rows, Run, Runs, Values, rows_of
from flinkish.spark.results.keys import KEY_BYTES
from flinkish.spark.results.segments import Damage, read_groups, scan

__all__ = ["LedgerIndex"]

_LOG = logging.getLogger(__name__)

_WASTE = 2  # results that may have gone unasked for, for each that was asked for

_Prefixes = npt.NDArray[np.uint64]


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
        self._segments: list[_Segment] = []
        self._names: dict[str, int] = {}
        self._groups = GroupTable()
        self._prefixes: _Prefixes = np.empty(0, np.uint64)
        self._places: _Prefixes = np.empty(0, np.uint64)  # group << 32 | row
        self._once = True  # no two results are for one key, nor for two that begin alike
        self._runs = Runs()
        self._values = Values()

    def __len__(self) -> int:
        """Results, those that are there twice counted twice."""
        return len(self._prefixes)

    def refresh(self) -> None:
        """Look at what was written since."""
        begin = len(self._groups)
        keys: list[bytes] = []
        try:
            for file in self.place.segments():
                try:
                    self._look_through(file, keys)
                except FileNotFoundError:  # compacted meanwhile; its heir comes with the next time
                    continue
        finally:
            self._take_in(range(begin, len(self._groups)), b"".join(keys))

    def get(
        self, key: bytes, wanted: Callable[[list[Any]], bool] | None = None
    ) -> list[tuple[Any, ...]] | None:
        """The output rows of the call with this key, or None; of several, the first ``wanted``."""
        rows = self._values.at_hand.get(key)
        if rows is None or not (wanted is None or wanted(list(rows))):
            rows = self._find(key, wanted)
            if rows is None:
                return None
        self.saved += 1
        return list(rows)

    def must_read(self, key: bytes) -> bool:
        """Whether `get` has to read a file before it knows."""
        if key in self._values.at_hand:
            return False
        prefix = np.frombuffer(key, np.uint64, 1)[0]
        at = int(np.searchsorted(self._prefixes, prefix))
        if at == len(self._prefixes) or self._prefixes[at] != prefix:
            return False
        return int(self._places[at]) >> 32 not in self._runs

    # --- files

    def _look_through(self, file: SegmentFile, keys: list[bytes]) -> None:
        """List the groups that a segment has by now, and their keys."""
        number = self._names.setdefault(file.name, len(self._segments))
        if number == len(self._segments):
            self._segments.append(_Segment(file))
        segment = self._segments[number]
        if segment.complete or file.size <= segment.at:
            return
        at_once = self.place.at_once
        with self.place.open(file) as opened:
            for found in scan(opened, file.name, segment.at, segment.number, at_once):
                if isinstance(found, bool):
                    segment.complete = True
                elif isinstance(found, Damage):
                    self._damage(found)
                    segment.complete = found.end is None
                    segment.at, segment.number = found.end or segment.at, segment.number + 1
                else:
                    group, its_keys = found
                    self._groups.append(number, group)
                    keys.append(its_keys)
                    segment.at, segment.number = group.end, group.number + 1

    def _take_in(self, numbers: range, keys: bytes) -> None:
        """Have the results of groups found; ``keys`` are theirs."""
        if keys:
            prefixes = np.concatenate([self._prefixes, _prefixes(keys)])
            places = np.concatenate([self._places, self._groups.places(numbers)])
            order = np.argsort(prefixes, kind="stable")
            self._prefixes, self._places = prefixes[order], places[order]
            self._once = bool(np.all(self._prefixes[1:] != self._prefixes[:-1]))

    def _find(self, key: bytes, wanted: Callable[[list[Any]], bool] | None) -> Rows | None:
        """A result that is not at hand, or not wanted as it is there."""
        prefix = np.frombuffer(key, np.uint64, 1)[0]
        at = int(np.searchsorted(self._prefixes, prefix))
        while at < len(self._prefixes) and self._prefixes[at] == prefix:
            where = int(self._places[at])
            number = where >> 32
            run = self._runs.get(number)
            if run is None:
                run = self._load(number)
            if run is None:  # and left out, so that others have moved to its place
                at = int(np.searchsorted(self._prefixes, prefix))
                continue
            row = run.begins[number] + (where & 0xFFFFFFFF)
            if run.keys[row * KEY_BYTES : (row + 1) * KEY_BYTES] == key:
                rows = self._value(run, row)
                if wanted is None or wanted(list(rows)):
                    return rows
            at += 1
        return None

    def _value(self, run: Run, row: int) -> Rows:
        """A result of a run; if that pays, those around it are at hand from now on."""
        if run.values_held or not self._pays(self._values.let_go):
            return tuple(tuple(one.values()) for one in run.results[row].as_py())
        every = rows_of(run.results)
        counting: Sequence[int] = range(len(run))
        if not self._once:
            first = self._places[np.searchsorted(self._prefixes, _prefixes(run.keys))]
            counting = np.flatnonzero(first == self._groups.places(run.begins)).tolist()
        self._values.add(run, every, counting)
        return every[row]

    def _load(self, number: int) -> Run | None:
        """Read a group, and those after it if that pays; None if it is left out from now on."""
        most = 0
        if self._pays(self._runs.let_go):
            most = min(self.place.at_once, self._runs.share(len(self._segments)))
        found = self._read(self._groups.run(number, most, self._runs))
        if not found:
            return None
        numbers = [number for number, _, _ in found]
        ends = accumulate(len(results) for _, _, results in found)
        run = Run(
            dict(zip(numbers, chain((0,), ends), strict=False)),
            b"".join([keys for _, keys, _ in found]),
            pa.concat_arrays([results for _, _, results in found]),
            self._groups.size(numbers),
        )
        self._runs.add(run)
        return run if number in run.begins else None

    def _pays(self, let_go: int) -> bool:
        """Whether it pays to have more at hand than is asked for, as so many had to go again."""
        return let_go <= (1 + _WASTE) * self.saved

    def _read(self, numbers: list[int]) -> list[tuple[int, memoryview, pa.Array]]:
        """Groups that lie side by side, but for those that are damaged or gone."""
        segment = self._segments[self._groups.segment(numbers[0])]
        run = [self._groups[number] for number in numbers]
        try:
            with self.place.open(segment.file) as file:
                every = read_groups(file, run, self._kind)
        except FileNotFoundError:
            self._damage(Damage(segment.file.name, run[0].keys_at, None, "the file is gone"))
            self._forget(self._groups.of_segment(self._groups.segment(numbers[0])))
            return []
        found = []
        for number, group, one in zip(numbers, run, every, strict=True):
            if isinstance(one, CorruptFrame):
                self._damage(Damage(segment.file.name, group.results_at, group.end, one.reason))
                self._forget([number])
            else:
                found.append((number, *one))
        return found

    def _forget(self, numbers: list[int]) -> None:
        """Leave groups out, so that other copies of their results are found, if there are any."""
        self._groups.leave_out(numbers)
        gone = np.array(numbers, np.uint64)
        kept = ~np.isin(self._places >> np.uint64(32), gone)
        self._prefixes, self._places = self._prefixes[kept], self._places[kept]

    def _damage(self, damage: Damage) -> None:
        _LOG.warning(
            "ledger %s: segment %s is damaged at byte %d (%s); calls whose results it held are "
            "made again",
            *(self.place.path, damage.segment, damage.at, damage.reason),
        )
        self.damaged.append(damage)


def _prefixes(keys: bytes) -> _Prefixes:
    """The first 8 bytes of each key."""
    whole = np.frombuffer(keys, np.uint64)
    return whole.reshape(-1, KEY_BYTES // 8)[:, 0]
