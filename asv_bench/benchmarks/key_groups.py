"""Key groups: whole columns beside the same keys one by one.

Figures are seconds for ``ROWS`` keys (vectorised) or ``FEW`` keys (scalar).
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from flinkish._core.keys.key_groups import assign_to_key_group, assign_to_key_groups

SEED = 20_240_229
FEW = 1_000


def _longs(rng: np.random.Generator, rows: int) -> pa.Array:
    return pa.array(rng.integers(-(2**62), 2**62, rows))


def _texts(rng: np.random.Generator, rows: int) -> pa.Array:
    """Ten ASCII characters each."""
    return pa.array([f"{n:010d}" for n in rng.integers(0, 10**10, rows)])


COLUMNS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "int": lambda rng, rows: pa.array(rng.integers(-(2**31), 2**31, rows, "i4")),
    "long": _longs,
    "long, 10% null": lambda rng, rows: pa.array(
        rng.integers(-(2**62), 2**62, rows), mask=rng.random(rows) < 0.1
    ),
    "double": lambda rng, rows: pa.array(rng.normal(size=rows)),
    "string": _texts,
    "string, accents": lambda rng, rows: pa.array(
        [f"é{n:09d}" for n in rng.integers(0, 10**9, rows)]
    ),
    "string, dictionary": lambda rng, rows: pa.array(
        rng.integers(0, 10_000, rows).astype(str)
    ).dictionary_encode(),
    "binary": lambda rng, rows: _texts(rng, rows).cast(pa.binary()),
    "date": lambda rng, rows: pa.array(rng.integers(0, 20_000, rows, "i4")).cast(pa.date32()),
    "timestamp": lambda rng, rows: pa.array(
        rng.integers(0, 2 * 10**15, rows), pa.timestamp("us", "UTC")
    ),
    "tuple": lambda rng, rows: pa.table({"a": _texts(rng, rows), "b": _longs(rng, rows)}),
}


class Vectorised:
    """A column of ``rows`` keys; asv divides nothing: seconds a call."""

    params: ClassVar[Any] = (list(COLUMNS), [1_000, 1_000_000])
    param_names: ClassVar[list[str]] = ["keys", "rows"]

    def setup(self, keys: str, rows: int) -> None:
        self.column = COLUMNS[keys](np.random.default_rng(SEED), rows)

    def time_assign(self, keys: str, rows: int) -> None:
        assign_to_key_groups(self.column, 128, nulls="mark")


class Scalar:
    """The twin: ``FEW`` keys of the same columns, one call each."""

    params: ClassVar[Any] = ([name for name in COLUMNS if "," not in name],)
    param_names: ClassVar[list[str]] = ["keys"]

    def setup(self, keys: str) -> None:
        column = COLUMNS[keys](np.random.default_rng(SEED), FEW)
        rows = column.to_pylist()
        self.keys = [tuple(row.values()) for row in rows] if keys == "tuple" else rows

    def time_assign(self, keys: str) -> None:
        for key in self.keys:
            assign_to_key_group(key, 128)
