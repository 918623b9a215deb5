"""A driver whose executor freezes: ``python -m tests.spark.long.clusters.plane_zombie WORK``.

The first attempt of partition 1 stops its executor's JVM, and its Python worker goes on when
another one has done the micro-batch.  Writes WORK/found.json.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from pyspark import TaskContext

import flinkish.spark as fs
from flinkish.common.typeinfo import Types
from flinkish.functions import KeyedProcessFunction
from flinkish.state import ValueStateDescriptor
from tests.spark.patience import HEARTBEATS, until
from tests.spark.sessions import session
from tests.spark.support import GROUPS, Source, iso, run, timed

KEYS = [f"k{n}" for n in range(20)]
BATCHES = 2
SETTINGS = {
    "cores.max": "2",
    "executor.cores": "1",
    "executor.memory": "512m",
    "executor.heartbeatInterval": "500ms",
    # After which an executor that is silent is given up; all else may take its time.
    "storage.blockManagerHeartbeatTimeoutMs": "8s",
    "network.timeoutInterval": "500ms",
}


def executor() -> Any:
    """The JVM that this Python worker works for."""
    above = psutil.Process().parents()
    return next(process for process in above if process.name() == "java")


class Haunted(KeyedProcessFunction):
    """Counts the rows of each key; one attempt outlives its executor."""

    def __init__(self, plane: fs.ControlPlane, work: str) -> None:
        self.plane, self.work = plane, Path(work)

    def open(self, runtime_context: Any) -> None:
        self.is_zombie = False
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self.becomes_one():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # by which it would go with its executor
            frozen = executor()
            (self.work / "executor").write_text(str(frozen.pid))
            frozen.suspend()
            while not self.plane.settings.get("go"):
                time.sleep(0.01)
        self.seen.update((self.seen.value() or 0) + 1)
        yield value.key, self.seen.value()

    def becomes_one(self) -> bool:
        context: Any = TaskContext.get()
        if context.partitionId() == 1:
            with suppress(FileExistsError):
                (self.work / "frozen").touch(exist_ok=False)
                self.is_zombie = True
                return True
        return False

    def close(self) -> None:
        if self.is_zombie:
            error = sys.exc_info()[1]
            (self.work / "told").write_text(f"{type(error).__name__}: {error}")


def main(work: Path) -> None:
    settings = " ".join(f"--conf spark.{name}={value}" for name, value in SETTINGS.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{settings} pyspark-shell"
    spark = session("local-cluster[2,1,1024]", work)
    source = Source(spark, work / "in", "key string, ts timestamp")
    for batch in range(BATCHES):
        source.add({"key": key, "ts": iso(1_000 * batch + n)} for n in range(3) for key in KEYS)
    with fs.ControlPlane(spark, **HEARTBEATS) as plane:

        def wake_the_zombie(_: int) -> None:
            plane.set("go", True)
            until((work / "told").exists, "the zombie is told that it is one")

        keyed = timed(source.stream()).key_by("key")
        stream = keyed.process(
            Haunted(plane, str(work)),
            schema="key string, n bigint",
            uid="haunted",
            max_parallelism=GROUPS,
            control_plane=plane,
        )
        outcome = run(stream, work / "checkpoint", after_batch=wake_the_zombie)
        counters = plane.counters()["haunted"]
    found = {
        "rows": outcome.rows(),
        "told": (work / "told").read_text(),
        "counted": sum(names.get("rows", 0) for names in counters.values()),
    }
    (work / "found.json").write_text(json.dumps(found))
    spark.stop()
    # Spark asks its executors to end, and a frozen one does not hear it.
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int((work / "executor").read_text())).kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
