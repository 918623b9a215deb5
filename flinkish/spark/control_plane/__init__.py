"""The control plane: driver and workers of a Spark application talk while it runs.

Owns: which worker runs which partition, live counters, orders to cancel or drain, settings that
change.  Uses: ``rpc``, ``common``.
Must not: be needed for a result to be right; pickle what comes off the wire.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.spark.control_plane.attempts import Attempt
    from flinkish.spark.control_plane.handle import PlaneHandle
    from flinkish.spark.control_plane.ledger import TaskInfo, WorkerInfo
    from flinkish.spark.control_plane.plane import ControlPlane
    from flinkish.spark.control_plane.task import TaskPlane
    from flinkish.spark.control_plane.worker import WorkerPlane
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.spark.control_plane.attempts": ("Attempt",),
            "flinkish.spark.control_plane.handle": ("PlaneHandle",),
            "flinkish.spark.control_plane.ledger": ("TaskInfo", "WorkerInfo"),
            "flinkish.spark.control_plane.plane": ("ControlPlane",),
            "flinkish.spark.control_plane.task": ("TaskPlane",),
            "flinkish.spark.control_plane.worker": ("WorkerPlane",),
        },
    )

__all__ = [
    "Attempt",
    "ControlPlane",
    "PlaneHandle",
    "TaskInfo",
    "TaskPlane",
    "WorkerInfo",
    "WorkerPlane",
]
