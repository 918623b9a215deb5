"""Objects that a Python worker loaded once, kept out of its garbage collections.

Spark's daemon collects garbage whenever a worker has ended a task, and Python then looks at all
objects of the process.  With pandas, pyarrow and flinkish loaded that takes 30 to 45 ms of CPU,
several times what a task of a small micro-batch takes, and the next stage waits for the cores.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

__all__ = ["Batches", "MapBatches", "settle", "settling"]

Batches: TypeAlias = Iterator[pa.RecordBatch]
MapBatches: TypeAlias = Callable[[Batches], Batches]

_settled = 0  # how many modules were loaded then


def settle() -> None:
    """Leave what has been loaded so far out of the collections that follow.

    It works if modules were loaded since the last call, so a worker does it a few times at most:
    what is left out is never collected if it becomes part of a cycle.
    """
    global _settled
    loaded = len(sys.modules)
    if loaded > _settled:
        _settled = loaded
        gc.collect()
        gc.freeze()


def settling(function: MapBatches) -> MapBatches:
    """A function for `mapInArrow` after whose task its worker settles."""

    def run(batches: Batches) -> Batches:
        try:
            yield from function(batches)
        finally:
            settle()

    run.__name__ = function.__name__  # in Spark's plans
    return run
