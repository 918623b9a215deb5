"""State versioned by batch beside state in Spark's store: the same job, batch by batch.

    bash ci/bench.sh spark_versions

10k keys, each row counts and moves a timer.  The jobs take turns, a query of each for a while, so
that a noisy minute meets both; the first turn of each warms the JVM up and does not count.  A batch
is measured as Spark does (``triggerExecution``, and ``addBatch``: the part that runs the tasks):
the median, and the least, which other work on the machine spoils less.
"""

from __future__ import annotations

from typing import Literal

from _common import BATCH_MS, START_MS, Workspace, median, operator, session
from pyspark.sql import SparkSession

BACKENDS: tuple[Literal["store", "versioned"], ...] = ("store", "versioned")
KEYS = 10_000
SIZES = (200, 100_000, 1_000_000)
BATCHES = 12  # a turn
TURNS = 3


def turn(
    spark: SparkSession, space: Workspace, backend: Literal["store", "versioned"], batches: int
) -> list[dict[str, int]]:
    """Durations (ms) of so many batches, from where the query was."""
    query = (
        operator(spark, space, backend)
        .to_df()
        .writeStream.format("noop")
        .option("checkpointLocation", str(space.path / backend))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = [one["durationMs"] for one in query.recentProgress if one["numInputRows"]]
    assert len(found) == batches, (backend, len(found))
    return found


def main() -> None:
    spark = session()
    for rows in SIZES:
        batches = BATCHES if rows < 1_000_000 else BATCHES // 3
        taken: dict[str, list[dict[str, int]]] = {backend: [] for backend in BACKENDS}
        with Workspace() as space:
            for number in range(TURNS * batches):
                space.put_touching(KEYS, min(KEYS, rows), rows, START_MS + number * BATCH_MS)
                if number % batches == batches - 1:
                    for backend in BACKENDS:
                        durations = turn(spark, space, backend, batches)
                        if number >= batches:
                            taken[backend] += durations
        for backend in BACKENDS:
            wholes = [one["triggerExecution"] for one in taken[backend]]
            whole, least = median(wholes), min(wholes)
            tasks = median([one["addBatch"] for one in taken[backend]])
            print(
                f"{rows:>9,} rows a batch, {backend:<9} {whole:>7,.0f} ms, "
                f"least {least:>7,.0f} ms, tasks {tasks:>7,.0f} ms, "
                f"{rows / whole * 1000:>9,.0f} rows/s",
                flush=True,
            )


if __name__ == "__main__":
    main()
