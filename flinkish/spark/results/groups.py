"""Where the groups of all segments lie, in 28 bytes each; they are known by their position."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from flinkish.spark.results.keys import KEY_BYTES
from flinkish.spark.results.segments import HEADER, Group

__all__ = ["GroupTable"]

_NONE = -1  # the segment of groups that were left out


class GroupTable:
    """Groups as they were found: those of a segment in their order there, mostly side by side."""

    def __init__(self) -> None:
        self._segments = array("i")
        self._numbers = array("i")
        self._lengths = array("i")
        self._begins = array("q")
        self._ends = array("q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, position: int) -> Group:
        begin, length = self._begins[position], self._lengths[position]
        results_at = begin + HEADER + KEY_BYTES * length
        return Group(self._numbers[position], begin, results_at, self._ends[position], length)

    def append(self, segment: int, group: Group) -> None:
        """Take in a group of a segment, of which the caller keeps the number."""
        self._segments.append(segment)
        self._numbers.append(group.number)
        self._lengths.append(group.length)
        self._begins.append(group.keys_at)
        self._ends.append(group.end)

    def segment(self, position: int) -> int:
        """In which segment a group lies."""
        return self._segments[position]

    def leave_out(self, positions: Iterable[int]) -> None:
        """Have groups be in no segment, and so in no run."""
        for position in positions:
            self._segments[position] = _NONE

    def of_segment(self, segment: int) -> list[int]:
        """The groups of a segment."""
        return np.flatnonzero(np.frombuffer(self._segments, np.int32) == segment).tolist()

    def size(self, positions: Sequence[int]) -> int:
        """The sizes of groups in their files (bytes)."""
        return sum(self._ends[position] - self._begins[position] for position in positions)

    def run(self, first: int, most: int, without: Container[int]) -> list[int]:
        """A group and those after it, side by side, of ``most`` bytes at most if it is not alone.

        It ends before a group that is in ``without``.
        """
        segments, begins, ends = self._segments, self._begins, self._ends
        until = first + 1
        while (
            until < len(ends)
            and begins[until] == ends[until - 1]
            and segments[until] == segments[first]
            and ends[until] - begins[first] <= most
            and until not in without
        ):
            until += 1
        return list(range(first, until))

    def places(self, positions: Collection[int]) -> npt.NDArray[np.uint64]:
        """``position << 32 | row`` for each result of some groups."""
        lengths = np.fromiter((self._lengths[position] for position in positions), np.int64)
        begins = np.cumsum(lengths) - lengths
        rows = np.arange(lengths.sum()) - np.repeat(begins, lengths)
        groups = np.repeat(np.fromiter(positions, np.int64), lengths)
        return np.asarray(groups << 32 | rows, np.uint64)
