"""flinkish's own operators on a control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import pyarrow as pa

from flinkish.operators import OperatorEnvironment
from flinkish.spark.control_plane.handle import PlaneHandle
from flinkish.spark.control_plane.plane import ControlPlane

__all__ = ["handle_of", "run_attached"]

Batches = Iterator[pa.RecordBatch]


class RunningTask(Protocol):
    """A task as `run_attached` needs it."""

    def run(self) -> Batches:
        """Do the work, and give its output on the way."""
        ...

    def report_throwable(self, error: BaseException) -> None:
        """Fail with this error; from any thread."""
        ...

    @property
    def environment(self) -> OperatorEnvironment:
        """Of the operator, with what it counts by."""
        ...


def handle_of(plane: ControlPlane | PlaneHandle | None) -> PlaneHandle | None:
    """The handle that travels in a plan."""
    return plane.handle() if isinstance(plane, ControlPlane) else plane


def run_attached(
    plane: PlaneHandle, name: str, make: Callable[[Batches], RunningTask], batches: Batches
) -> Batches:
    """The output of ``make(batches).run()``, reported to the driver as the operator ``name``.

    Its counters are the operator's own, and ``rows_in``.  Whatever ends the task on the driver's
    side fails it at once, also while it waits for input.
    """
    with plane.task(name) as task:
        running = make(task.batches(batches))
        task.count_by(running.environment.metrics.counts)
        task.on_stop(running.report_throwable)
        yield from running.run()
        task.check()
