"""A task's side of the control plane."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from flinkish.common.errors import CancelTaskError, FencingTokenError, RpcConnectionError
from flinkish.rpc import FencedRpcGateway, RpcGateway
from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.messages import CANCEL, DRAIN, REFUSED, TaskReport, Verdict
from flinkish.spark.control_plane.settings import Settings

__all__ = ["TaskPlane"]

_LOG = logging.getLogger("flinkish.spark.control_plane")

Proxy = TypeVar("Proxy", bound=RpcGateway)


class Worker(Protocol):
    """A worker, as far as its tasks know it: a `WorkerPlane`."""

    settings: Settings

    def connect(self, endpoint_id: str, gateway: type[Proxy], fencing_token: Any = None) -> Proxy:
        """A gateway to an endpoint of the driver."""

    def enter(self, task: TaskPlane) -> None:
        """A task begins."""

    def leave(self, task: TaskPlane, *, well: bool) -> None:
        """A task has ended."""


class TaskPlane:
    """Reports a task to the driver and hears from it; a context manager around the task's work.

    On entering it the driver lets the attempt in: FencingTokenError if the attempt is not wanted,
    CancelTaskError if it is cancelled.  On leaving it the driver has the last counts, and says
    once more whether they are wanted.

    Threading: for the task's thread, but `stop_with`, `hear` and `report`.
    Complexity: `check` and `count` send nothing and cost about 0.1 us.
    """

    def __init__(self, plane: Worker, attempt: Attempt) -> None:
        self.attempt = attempt
        self.draining = False
        self._plane = plane
        self._counts: dict[str, int] = {}
        self._sources: list[tuple[Callable[[], Mapping[str, int]], dict[str, int]]] = []
        self._stop: Callable[[], Exception] | None = None
        self._on_stop: list[Callable[[Exception], object]] = []

    # --- for operators

    @property
    def settings(self) -> Settings:
        """The driver's settings, as this worker knows them."""
        return self._plane.settings

    @property
    def stopped(self) -> bool:
        """Whether `check` would raise."""
        return self._stop is not None

    def check(self) -> None:
        """CancelTaskError, FencingTokenError or RpcConnectionError if the task is to end."""
        if self._stop is not None:
            raise self._stop()

    def count(self, name: str, n: int = 1) -> None:
        """Count up; the driver hears of it with the next heartbeat."""
        self._counts[name] = self._counts.get(name, 0) + n

    def count_by(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Take further counts from a function, which is called on other threads.

        When it raises, because it was called while something changes, its last counts stand.
        """
        self._sources.append((read, {}))

    def on_stop(self, function: Callable[[Exception], object]) -> None:
        """Call it with what `check` raises, as soon as it would; on another thread."""
        self._on_stop.append(function)
        if self._stop is not None:
            function(self._stop())

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches, with a `check` before each; their rows are counted as ``rows_in``."""
        for batch in batches:
            self.check()
            self.count("rows_in", batch.num_rows)
            yield batch

    def connect(self, endpoint_id: str, gateway: type[Proxy]) -> Proxy:
        """A gateway to an endpoint of the driver; a fenced one with this task's (run, epoch)."""
        token = self.attempt.token if issubclass(gateway, FencedRpcGateway) else None
        return self._plane.connect(endpoint_id, gateway, token)

    # --- for the worker

    def report(self, ended: bool | None = None) -> TaskReport:
        """A snapshot of the task."""
        counters = dict(self._counts)
        for read, last in self._sources:
            try:
                last.update(read())
            except Exception:
                _LOG.debug("counters of %s could not be read", self.attempt, exc_info=True)
            counters.update(last)
        return TaskReport(self.attempt, counters, ended)

    def hear(self, verdict: Verdict) -> None:
        """Do as the driver said; what ends a task is final."""
        self.draining = verdict.kind == DRAIN
        if verdict.kind == CANCEL:
            self.stop_with(lambda: CancelTaskError(verdict.reason))
        elif verdict.kind == REFUSED:
            self.stop_with(
                lambda: FencingTokenError(
                    verdict.reason, expected=verdict.expected, found=self.attempt.token
                )
            )

    def lose(self, reason: str) -> None:
        """The driver was silent for too long."""
        self.stop_with(lambda: RpcConnectionError(f"{self.attempt} ends: {reason}"))

    def stop_with(self, error: Callable[[], Exception]) -> None:
        """Have `check` raise this, unless there is an error already."""
        if self._stop is None:
            self._stop = error
            for function in self._on_stop:
                function(error())

    # --- life

    def open(self) -> TaskPlane:
        """Begin, as ``with`` does: for functions that have an ``open`` and a ``close``."""
        self._plane.enter(self)
        return self

    def close(self) -> None:
        """End well, if the driver agrees."""
        self._plane.leave(self, well=True)

    def __enter__(self) -> TaskPlane:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._plane.leave(self, well=error is None)
