"""Windows by columns on Spark: the same batch by batch as the model, late rows and restarts too."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.functions import BuiltInAggregates, Count, First, Max, Sum
from flinkish.windowing import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    WindowAssigner,
)
from tests.models.vector_windows import ModelWindows
from tests.spark.support import Source, run, timed, watermarks
from tests.spark.traffic import SCHEMA, feed, random_batches
from tests.spark.windowed import LATE_ROWS, modelled

AGGREGATES = [Count(), Sum("n"), Max("n"), First("n")]
BOUND = 1000


def millis(at: Any) -> int:
    return round(at.timestamp() * 1000)


@pytest.mark.parametrize(
    ("assigner", "lateness"),
    [
        (SlidingEventTimeWindows.of(3000, 700), 0),
        (SlidingEventTimeWindows.of(3000, 1000), 900),
        (CumulativeEventTimeWindows.of(4000, 1000), 0),
        (EventTimeSessionWindows.with_gap(800), 500),
    ],
    ids=["panes", "lateness", "cumulative", "sessions"],
)
def test_streams(
    spark: SparkSession, tmp_path: Path, assigner: WindowAssigner, lateness: int
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(71, batches=4, rows=150, keys=12)
    feed(source, batches)
    windowed = (
        timed(source.stream(), BOUND).key_by("key").window(assigner).allowed_lateness(lateness)
    )
    tags = []
    if lateness:
        windowed.side_output_late_data(LATE_ROWS)
        tags.append(LATE_ROWS)
    stream = windowed.aggregate(AGGREGATES)
    assert "by columns" in stream.explain()
    outcome = run(stream, tmp_path / "checkpoint", *tags)
    marks = watermarks([[row["at"] for row in rows] for rows in batches], BOUND)
    aggregates = Count(), Sum("n"), Max("n")
    given, late = modelled(assigner, lateness, [*batches, []], marks, *aggregates)
    for batch, wanted in enumerate(given):
        found = outcome.batches.get(batch, {"": []})[""]
        assert (
            sorted((key, millis(b), millis(e), *rest[:3]) for key, b, e, *rest in found) == wanted
        )
        assert all(row[-1] is not None for row in found)
    if lateness:
        assert sorted((key, millis(at)) for key, _, at in outcome.rows("late")) == late
    assert outcome.statistics["late_rows"] == len(late)


def test_batch_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(f"k{at % 7}", at % 5, at / 10) for at in range(0, 600, 3)]
    frame = spark.createDataFrame(rows, "key string, n int, at double").selectExpr(
        "key", "n", "timestamp_millis(cast(at * 1000 as bigint)) as ts"
    )
    for assigner in (
        SlidingEventTimeWindows.of(5000, 2000),
        EventTimeSessionWindows.with_gap(1500),
    ):
        stream = timed(frame, BOUND).key_by("key").window(assigner).aggregate(AGGREGATES)
        found = sorted(
            (key, millis(b), millis(e), *rest[:3]) for key, b, e, *rest in stream.to_df().collect()
        )
        model = ModelWindows(assigner, BuiltInAggregates([Count(), Sum("n"), Max("n")]), 0)
        for key, n, at in rows:
            model.process(key, {"n": n}, int(at * 1000))
        model.advance(2**62)
        assert found == sorted((k, b, e, *results) for k, b, e, results in model.output)
