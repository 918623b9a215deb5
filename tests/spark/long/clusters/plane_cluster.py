"""A driver on a cluster.

Run as ``python -m tests.spark.long.clusters.plane_cluster MASTER WORK``; writes WORK/found.json.

Its workers are not used again: each ends with its task.
"""

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flinkish.spark as fs
from tests.spark.patience import HEARTBEATS, until
from tests.spark.plane_functions import waiting
from tests.spark.sessions import session
from tests.spark.test_control_plane import through


def main(master: str, work: Path) -> None:
    conf = ("python.worker.reuse=false", "executor.cores=1", "executor.memory=512m")
    settings = " ".join(f"--conf spark.{setting}" for setting in conf)
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{settings} pyspark-shell"
    spark = session(master, work)
    with fs.ControlPlane(spark, **HEARTBEATS) as plane, ThreadPoolExecutor(1) as pool:
        lost: list[str] = []
        plane.on_worker_lost(lost.append)
        job = pool.submit(through(spark.range(0, 20, 1, 2), waiting(plane)).count)
        until(lambda: sum(len(worker.tasks) for worker in plane.workers()) == 2)
        workers = plane.workers()
        running = [(worker.pid, task.partition) for worker in workers for task in worker.tasks]
        os.kill(workers[0].pid, signal.SIGKILL)
        until(lambda: lost)
        plane.set("go", True)
        count = job.result()
        until(lambda: not plane.workers())  # which Spark ends with their tasks
        found = {
            "running": running,
            "killed": workers[0].worker,
            "lost": lost,
            "count": count,
            "counters": plane.counters()["waiting"],
        }
    (work / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
