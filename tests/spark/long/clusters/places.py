"""A program for other places than the tests' own session: Spark Connect, a cluster.

Run as ``python -m tests.spark.long.clusters.places PLACE WORK``; reads WORK/in, writes WORK/out, a
file for each micro-batch, WORK/batch.json (the same rows as a batch DataFrame),
WORK/statistics.json, and WORK/tasks.json (numbers through tasks and calls).
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, Observation

import flinkish.spark as fs
from tests.spark.async_functions import picky
from tests.spark.functions import LATE, Silence
from tests.spark.sessions import session
from tests.spark.support import GROUPS, Source, start, timed
from tests.spark.task_operators import ODD, Split
from tests.spark.traffic import OUT, SCHEMA


def main(place: str, work: Path) -> None:
    spark = session(place, work)
    source = Source(spark, work / "in", SCHEMA)
    keyed = timed(source.stream(), 1000).key_by("key")
    stream = keyed.process(Silence(), schema=OUT, max_parallelism=GROUPS)
    out = work / "out"
    out.mkdir()

    def write(batch: int, main: DataFrame, late: DataFrame) -> None:
        rows = {"": [list(row) for row in main.collect()]}
        rows["late"] = [list(row) for row in late.collect()]
        (out / f"{batch:03}.json").write_text(json.dumps(rows))

    writer = stream.foreach_batch(write, LATE).option(
        "checkpointLocation", str(work / "checkpoint")
    )
    query = start(writer.trigger(availableNow=True))
    query.awaitTermination()
    (work / "statistics.json").write_text(json.dumps(stream.statistics(query)))

    keyed = timed(source.frame()).key_by("key")
    batch = keyed.process(Silence(), schema=OUT)
    rows = [list(row) for row in batch.to_df().collect()]
    counted = batch.statistics()
    (work / "batch.json").write_text(json.dumps({"rows": rows, "statistics": counted}))

    numbers = spark.range(0, 40, 1, 2).withColumnRenamed("id", "n")
    calls = Observation("calls")
    called = fs.async_map(
        numbers, picky, "n bigint, m bigint", on_error="drop", timeout=10_000, observation=calls
    )
    split = fs.run_task(numbers, Split(), "n bigint", side_outputs=[ODD])
    tasks = {
        "called": [list(row) for row in called.collect()],
        "counted": calls.get,
        "even": split.to_df().count(),
        "odd": split.get_side_output(ODD).count(),
    }
    (work / "tasks.json").write_text(json.dumps(tasks))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
