"""The messages between workers and the driver.

Workers say everything; the driver only asks them to hurry.  A `Beat` is the whole state of a
worker, so that one that was lost, or sent twice, does no harm, and its answer all that the worker
has to know.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from flinkish.rpc import RpcGateway
from flinkish.spark.control_plane.attempts import Attempt

__all__ = [
    "CANCEL",
    "DRAIN",
    "GO",
    "PLANE",
    "REFUSED",
    "WATCH_MS",
    "WORKER",
    "Beat",
    "BeatReply",
    "PlaneGateway",
    "TaskReport",
    "Verdict",
    "WorkerGateway",
    "WorkerIdentity",
]

PLANE = "control-plane"  # the driver's endpoint
WORKER = "worker"  # that of each worker
WATCH_MS = 86_400_000  # how long a watch is; then another one begins

# What a task may do.
GO, DRAIN, CANCEL, REFUSED = "go", "drain", "cancel", "refused"


@dataclass(frozen=True)
class WorkerIdentity:
    """A process; ``worker`` is a name that no other has, nor a fork of it."""

    worker: str
    host: str
    pid: int


@dataclass(frozen=True)
class TaskReport:
    """The counts of an attempt so far; ``ended`` says if it went well, None while it runs."""

    attempt: Attempt
    counters: dict[str, int]
    ended: bool | None = None


@dataclass(frozen=True)
class Beat:
    """A worker, its tasks, and the settings that it has."""

    identity: WorkerIdentity
    tasks: list[TaskReport]
    version: int


@dataclass(frozen=True)
class Verdict:
    """The verdict on an attempt; ``reason`` for people, ``expected`` the token if refused."""

    kind: str = GO
    reason: str = ""
    expected: tuple[str, int] | None = None


@dataclass(frozen=True)
class BeatReply:
    """A verdict for each task of a beat; all ``settings`` if the worker's are older."""

    verdicts: list[Verdict]
    version: int
    settings: dict[str, Any] | None = None


class WatchGateway(RpcGateway):
    """The call by which each side hears at once that the connection has ended."""

    def watch(self) -> Future[None]:  # type: ignore[empty-body]
        """Never answered: it fails when the connection is lost, which is what it is for."""


class PlaneGateway(WatchGateway):
    """The requests of workers to the driver."""

    def beat(self, beat: Beat) -> Future[BeatReply]:  # type: ignore[empty-body]
        """Say all, hear all."""


class WorkerGateway(WatchGateway):
    """The requests of the driver to workers, over the connection that they opened."""

    def hurry(self) -> None:
        """There is news: beat now."""

    def goodbye(self, reason: str) -> None:
        """The plane ends."""
