"""Groups that were read, held until others need the room: as columns, and some of them as values.

Invariants:
  H1  Runs are counted with what their groups weigh in their file, and with `GROUP_BYTES` a group;
      all but the last with at most `RUN_BYTES`.
  H2  Values are counted with what they weigh in their file, and with `RESULT_BYTES` a result; all
      but those of the last run with at most `VALUE_BYTES`.
  H3  A key is at hand with no other result than the one that counts for it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from flinkish.spark.results.keys import KEY_BYTES

__all__ = ["Rows", "Run", "Runs", "Values", "rows_of"]

RUN_BYTES = 48 << 20
VALUE_BYTES = 16 << 20
GROUP_BYTES = 200  # of Python's objects around a group that is held
RESULT_BYTES = 400  # and around the values of a small result: its key, tuples, places in a dict

Rows = tuple[tuple[Any, ...], ...]
"""The output rows of a call."""


class Run:
    """Groups that were read at once: their keys and results, joined.

    ``begins`` says at which result each group begins, ``size`` what they weigh (bytes).
    """

    __slots__ = ("begins", "keys", "results", "size", "values_held")

    def __init__(self, begins: dict[int, int], keys: bytes, results: pa.Array, size: int) -> None:
        self.begins = begins
        self.keys = keys
        self.results = results
        self.size = size
        self.values_held = False  # as far as they count, they are in `Values`

    def __len__(self) -> int:
        return len(self.results)


class Runs:
    """Runs by their groups; the one that was asked for longest ago goes first."""

    def __init__(self) -> None:
        self.bytes = 0
        self.let_go = 0  # results that had to go, whether they were asked for or not
        self._of: dict[int, Run] = {}
        self._order: OrderedDict[Run, None] = OrderedDict()

    def __contains__(self, group: object) -> bool:
        return group in self._of

    def get(self, group: int) -> Run | None:
        """The run in which a group is."""
        run = self._of.get(group)
        if run is not None:
            self._order.move_to_end(run)
        return run

    def share(self, parts: int) -> int:
        """How long runs may be (bytes), so that so many of them are held at once."""
        return RUN_BYTES // parts

    def add(self, run: Run) -> None:
        """Hold a run, whose groups are in no other that is held."""
        self._of.update(dict.fromkeys(run.begins, run))
        self._order[run] = None
        self.bytes += _weight(run)
        while self.bytes > RUN_BYTES and len(self._order) > 1:
            oldest, _ = self._order.popitem(last=False)
            for group in oldest.begins:
                del self._of[group]
            self.bytes -= _weight(oldest)
            self.let_go += len(oldest)


class Values:
    """The values of some runs, by key; those that came first go first."""

    def __init__(self) -> None:
        self.at_hand: dict[bytes, Rows] = {}
        self.bytes = 0
        self.let_go = 0  # as with `Runs`
        self._order: deque[tuple[Run, list[bytes]]] = deque()

    def add(self, run: Run, every: Sequence[Rows], counting: Sequence[int]) -> None:
        """Have values of a run at hand, those at the positions that count."""
        blob = run.keys
        keys = [blob[at * KEY_BYTES : (at + 1) * KEY_BYTES] for at in counting]
        self.at_hand.update(zip(keys, map(every.__getitem__, counting), strict=True))
        run.values_held = True
        self._order.append((run, keys))
        self.bytes += run.size + RESULT_BYTES * len(run)
        while self.bytes > VALUE_BYTES and len(self._order) > 1:
            oldest, keys = self._order.popleft()
            for key in keys:
                self.at_hand.pop(key, None)  # not if the run was read twice
            oldest.values_held = False
            self.bytes -= oldest.size + RESULT_BYTES * len(oldest)
            self.let_go += len(oldest)


def rows_of(results: pa.ListArray) -> list[Rows]:
    """The output rows of each result."""
    columns = [column.to_pylist() for column in results.flatten().flatten()]
    rows = tuple(zip(*columns, strict=True))
    ends = results.offsets.to_pylist()
    first = ends[0]
    return [rows[begin - first : end - first] for begin, end in pairwise(ends)]


def _weight(run: Run) -> int:
    return run.size + GROUP_BYTES * len(run.begins)
