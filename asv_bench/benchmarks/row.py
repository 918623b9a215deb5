"""Rows: what a batch of them costs, and each way to a field, beside tuples and dicts.

Figures are seconds for ``ROWS`` rows, or for as many accesses.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from flinkish._core.values.row import rows_of

SEED = 20_240_301
ROWS = 10_000
NAMES = ("tailnum", "carrier", "origin", "dest", "hour", "delay", "distance", "ts")


def _fields(count: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(SEED)
    return [tuple(values) for values in rng.integers(0, 10**6, (count, len(NAMES))).tolist()]


class Build:
    """Objects for one batch, its tuples of values given."""

    def setup(self) -> None:
        self.fields = _fields(ROWS)

    def time_rows(self) -> None:
        rows_of(NAMES, self.fields)

    def time_dicts(self) -> None:
        [dict(zip(NAMES, values, strict=True)) for values in self.fields]


class Read:
    """One field of every row; the loop itself is ``of a tuple``, less some nanoseconds."""

    params: ClassVar = ["first", "last"]
    param_names: ClassVar = ["field"]

    def setup(self, field: str) -> None:
        self.tuples = _fields(ROWS)
        self.rows = rows_of(NAMES, self.tuples)
        self.at = NAMES.index("tailnum" if field == "first" else "ts")
        self.name = NAMES[self.at]
        self.attribute: Callable[[], None] = self._first if field == "first" else self._last

    def _first(self) -> None:
        for row in self.rows:
            _ = row.tailnum

    def _last(self) -> None:
        for row in self.rows:
            _ = row.ts

    def time_attribute(self, field: str) -> None:
        self.attribute()

    def time_name(self, field: str) -> None:
        name = self.name
        for row in self.rows:
            _ = row[name]

    def time_position(self, field: str) -> None:
        at = self.at
        for row in self.rows:
            _ = row[at]

    def time_of_a_tuple(self, field: str) -> None:
        at = self.at
        for row in self.tuples:
            _ = row[at]
