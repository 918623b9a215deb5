"""A program for other places than the tests' own session: Spark Connect, a cluster.

Run as ``python -m tests.spark.long.clusters.places PLACE WORK``; reads WORK/in, writes WORK/out, a
file for each micro-batch, WORK/batch.json (the same rows as a batch DataFrame),
WORK/statistics.json, and WORK/tasks.json (numbers through tasks and calls).
"""

import json
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation

import flinkish.spark as fs
from tests.spark.async_functions import picky
from tests.spark.explained_functions import Divides
from tests.spark.functions import LATE, Silence
from tests.spark.sessions import session
from tests.spark.support import GROUPS, Source, iso, start, timed
from tests.spark.task_operators import ODD, Split
from tests.spark.traffic import OUT, SCHEMA


def failures(source: Source) -> list[str]:
    """What is said of a call, a batch and a stream that failed."""

    def divided(rows: DataFrame) -> fs.ProcessedStream:
        keyed = timed(rows).key_by("key")
        return keyed.process(Divides(), "key string, n bigint", uid="shares")

    folder = source.path.parent
    zero = Source(source.spark, folder / "zero", source.schema)
    zero.add([{"key": "a", "n": 0, "ts": iso(1000)}])
    numbers = source.spark.range(3, 4).withColumnRenamed("id", "n")
    stream = divided(zero.stream())
    writer = stream.to_df().writeStream.format("noop").trigger(availableNow=True)
    located = writer.option("checkpointLocation", str(folder / "failing"))
    found: list[str] = []
    for run in (
        fs.async_map(numbers, picky, "n bigint, m bigint").collect,
        divided(zero.frame()).to_df().collect,
        lambda: start(located).awaitTermination(),
    ):
        try:
            run()
        except PySparkException as error:
            found.append(fs.explain_error(error))
    return found


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
    tasks["failures"] = failures(source)
    (work / "tasks.json").write_text(json.dumps(tasks))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
