"""Functions for ``mapInArrow`` that use a control plane; importable, as a user's are."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from flinkish.rpc import RpcEndpoint, RpcGateway
from flinkish.spark import ControlPlane
from tests.spark.patience import SOON

Batches = Iterator[pa.RecordBatch]


def counting(plane: ControlPlane) -> Callable[[Batches], Batches]:
    """The rows, counted."""

    def run(batches: Batches) -> Batches:
        with plane.task("counting") as task:
            for batch in batches:
                task.check()
                task.count("rows", batch.num_rows)
                yield batch

    return run


def failing_once(plane: ControlPlane, how: Callable[[], Any]) -> Callable[[Batches], Batches]:
    """Partition 1 counts twice and reports, then does ``how``, in its first attempt."""

    def run(batches: Batches) -> Batches:
        context: Any = TaskContext.get()
        bad = context.partitionId() == 1 and context.attemptNumber() == 0
        with plane.task("failing") as task:
            for batch in batches:
                task.count("rows", batch.num_rows)
                if bad:
                    task.count("rows", batch.num_rows)
                    plane.worker().beat().result(SOON)
                    how()
                yield batch

    return run


def fail() -> None:
    raise ValueError("a failure of the test")


class SiteGateway(RpcGateway):
    def never(self) -> Future[int]: ...

    def die(self) -> None: ...


class Site(RpcEndpoint, SiteGateway):
    def never(self) -> Any:
        return Future()

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def dying(plane: ControlPlane) -> Callable[[Batches], Batches]:
    """The first attempt of partition 0 waits until the driver kills it."""

    def run(batches: Batches) -> Batches:
        context: Any = TaskContext.get()
        victim = context.partitionId() == 0 and context.attemptNumber() == 0
        if victim:
            Site(plane.worker().service, "site").start()
        with plane.task("dying") as task:
            while victim:
                time.sleep(0.01)
            for batch in batches:
                task.count("rows", batch.num_rows)
                yield batch

    return run


def waiting(plane: ControlPlane, setting: str = "go") -> Callable[[Batches], Batches]:
    """The rows, once a setting is there."""

    def run(batches: Batches) -> Batches:
        with plane.task("waiting") as task:
            while not task.settings.get(setting):
                task.check()
                time.sleep(0.005)
            yield from task.batches(batches)

    return run


def haunted(plane: ControlPlane, file: str) -> Callable[[Batches], Batches]:
    """Epoch 0 of partition 0 leaves a thread that goes on as if it were its task."""

    def haunt() -> None:
        task = plane.task("haunted").__enter__()

        def go_on() -> None:
            while not task.stopped:
                task.count("rows", 1_000_000)
                time.sleep(0.005)
            try:
                task.check()
            except Exception as error:
                Path(file).write_text(f"{type(error).__name__}: {error}")

        threading.Thread(target=go_on, daemon=True).start()

    def run(batches: Batches) -> Batches:
        context: Any = TaskContext.get()
        epoch = context.getLocalProperty("streaming.sql.batchId")
        if epoch == "0" and context.partitionId() == 0:
            haunt()
        else:
            with plane.task("haunted") as task:
                task.check()
        yield from batches

    return run
