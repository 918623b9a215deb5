"""Keyed functions over micro-batches give what a plain model of Flink gives."""

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.functions import LATE, ODD, EveryState, Expiring, Silence
from tests.spark.support import GROUPS, Source, by_key, run, start, timed
from tests.spark.traffic import OUT, SCHEMA, check, expected, feed, random_batches
from tests.waiting import until


@pytest.mark.parametrize("order", ["arrival", "timestamp"])
def test_counts_timers_late_rows_and_side_outputs(
    spark: SparkSession, tmp_path: Path, order: str
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(7, batches=4, rows=120, keys=25)
    feed(source, batches)
    stream = (
        timed(source.stream(), 1000)
        .key_by("key")
        .process(Silence(), schema=OUT, max_parallelism=GROUPS, order=order)
    )
    outcome = run(stream, tmp_path / "checkpoint", LATE, ODD)
    model, given = expected(Silence(), batches, 1000, sort=order == "timestamp")
    check(outcome, given, "late", "odd")
    # The last batch has no data; only the watermark moves in it.
    assert {row[1] for row in outcome.batches[len(batches)][""]} == {"timer"}
    assert outcome.rows("late")
    counted = outcome.statistics
    for name in ("rows", "late_rows", "timers_registered", "timers_deleted", "timers_fired"):
        assert counted[name] == model.counts[name], name
    assert counted["null_keys"] == counted["table_misses"] == counted["compactions"] == 0
    assert counted["checkpoint_bytes"] > 0


def test_side_output_as_a_query_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(8, batches=2, rows=60, keys=9)
    feed(source, batches)
    stream = (
        timed(source.stream(), 500)
        .key_by("key")
        .process(Silence(), schema=OUT, max_parallelism=GROUPS)
    )
    late = stream.get_side_output(LATE).to_df()
    assert late.columns == ["key", "at"]
    found: dict[int, list[Any]] = {}

    def write(rows: DataFrame, batch: int) -> None:
        found[batch] = [tuple(row) for row in rows.collect()]

    writer = late.writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    start(writer.trigger(availableNow=True)).awaitTermination()
    _, given = expected(Silence(), batches, 500)
    wanted = [value for outputs in given for tag, value, _ in outputs if tag == "late"]
    assert by_key(row for _, rows in sorted(found.items()) for row in rows) == by_key(wanted)


def test_every_kind_of_state_with_values_that_grow_and_shrink(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(9, batches=5, rows=90, keys=12)
    feed(source, batches)
    stream = (
        timed(source.stream())
        .key_by("key")
        .process(
            EveryState(),
            schema="key string, a string, b string, c string, d string",
            max_parallelism=GROUPS,
        )
    )
    outcome = run(stream, tmp_path / "checkpoint")
    _, given = expected(EveryState(), batches)
    check(outcome, given)


def test_state_expires_by_the_time_of_the_batches(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, [[{"key": key, "n": 0, "at": 1000}] * 2 for key in "aaba"])
    stream = (
        timed(source.stream())
        .key_by("key")
        .process(Expiring(), schema="key string, now bigint, held bigint", max_parallelism=GROUPS)
    )

    def wait(batch: int) -> None:
        if batch == 1:  # whose time is before now; the next one's is not before all this is over
            over = time.time() + Expiring.LIFE_MS / 1000
            until(lambda: time.time() > over)

    outcome = run(stream, tmp_path / "checkpoint", after_batch=wait)
    last, count = None, 0
    for key, now, held in outcome.rows():
        if key == "a":
            alive = last is not None and now < last + Expiring.LIFE_MS
            assert held == (count if alive else None)
            count = count + 1 if alive else 1
            last = now
    assert [row[2] for row in outcome.rows() if row[0] == "b"] == [None, 1]
    assert outcome.batches[3][""][0][2] is None, "it must have expired"
