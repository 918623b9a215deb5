"""A control plane as it travels to workers."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.spark.control_plane.address import PlaneAddress
from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.settings import Settings
from flinkish.spark.control_plane.task import TaskPlane
from flinkish.spark.control_plane.worker import WorkerPlane

__all__ = ["PlaneHandle"]


@dataclass(frozen=True)
class PlaneHandle(PlaneAddress):
    """The plane for those that work with it.

    Nothing is opened before `task` or `worker` is called; each process connects by itself.
    """

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
