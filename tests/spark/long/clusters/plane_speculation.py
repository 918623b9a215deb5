"""A driver with speculation: ``python -m tests.spark.long.clusters.plane_speculation MASTER WORK``.

The first attempt of partition 1 is slow until a second one has ended, and then ends well, too, if
Spark lets it.  A failure of any task ends the job.  Writes WORK/found.json.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext

import flinkish.spark as fs
from tests.spark.patience import HEARTBEATS, until
from tests.spark.sessions import session

ROWS, PARTITIONS = 40, 4
SETTINGS = {
    "speculation": "true",
    "speculation.interval": "100ms",
    "speculation.minTaskRuntime": "100ms",
    "speculation.quantile": "0.5",
    "task.maxFailures": "1",
    "executor.cores": "1",
    "executor.memory": "512m",
}


def main(master: str, work: Path) -> None:
    settings = " ".join(f"--conf spark.{name}={value}" for name, value in SETTINGS.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{settings} pyspark-shell"
    spark = session(master, work)
    with fs.ControlPlane(spark, **HEARTBEATS) as plane:

        def work_through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            assert context is not None
            slow = context.partitionId() == 1 and context.attemptNumber() == 0
            with plane.task("map") as task:
                for batch in task.batches(batches):
                    task.count("seen", batch.num_rows)
                    yield batch
                if slow:
                    (work / "slow").touch()
                while slow:  # until Spark ends it, as another attempt has done what it should
                    time.sleep(0.01)
                    try:
                        task.check()
                    except Exception as error:
                        (work / "told").write_text(repr(error))
                        raise

        numbers = spark.range(0, ROWS, 1, PARTITIONS).mapInArrow(work_through, "id bigint")
        rows = sorted(row.id for row in numbers.collect())
        # Spark ends the slow one a moment later; the plane has been told nothing of it till then.
        until(lambda: not any(worker.tasks for worker in plane.workers()), "all tasks have ended")
        counters = plane.counters()["map"]
    found = {
        "rows": rows,
        "slow": (work / "slow").exists(),
        "told": (work / "told").read_text() if (work / "told").exists() else "",
        "counters": counters,
    }
    (work / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
