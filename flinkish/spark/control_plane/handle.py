"""A control plane as it travels to workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from flinkish.rpc import TlsConfig
from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.task import TaskPlane
from flinkish.spark.control_plane.worker import Settings, WorkerPlane

__all__ = ["PlaneHandle"]


@dataclass(frozen=True)
class PlaneHandle:
    """All that a worker needs to reach a plane.  It carries keys: it is for workers alone.

    Nothing is opened before `task` or `worker` is called; each process connects by itself.
    """

    plane: str
    address: str
    interval_ms: int
    timeout_ms: int
    secret: str = field(repr=False)
    tls: TlsConfig | Literal["plaintext"] | None = field(repr=False, default=None)

    def worker(self) -> WorkerPlane:
        """This process as a worker."""
        return WorkerPlane.current(self)

    @property
    def settings(self) -> Settings:
        """The driver's settings, as this process knows them."""
        return WorkerPlane.current(self).settings

    def task(self, operator: str, attempt: Attempt | None = None) -> TaskPlane:
        """For an operator in the task that Spark runs in this process, or in this attempt."""
        return WorkerPlane.current(self).task(operator, attempt)
