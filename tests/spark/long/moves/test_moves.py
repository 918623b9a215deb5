"""A job moves from Spark's store to version files, and back, and goes on as if nothing had been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.functions import KeyedProcessFunction
from flinkish.spark import DataStream, ProcessedStream, StateSettings, move_state
from flinkish.spark.moves import into_store
from flinkish.spark.moves.logs import Place
from tests.processes import LONGEST_S
from tests.spark.functions import EveryState, Silence
from tests.spark.support import ATTEMPTS, GROUPS, TOO_BUSY, Source, by_key, run, start, timed
from tests.spark.test_restart import OUT as EVERY_OUT
from tests.spark.test_versioned import chain, kept, silence, sliding, spans
from tests.spark.traffic import OUT, SCHEMA, feed, random_batches
from tests.spark.two_streams import PAIRS, Match, add_orders, joined, sources
from tests.spark.two_streams import random_batches as orders_and_payments
from tests.waiting import until

Make = Callable[[DataFrame, StateSettings], ProcessedStream]


def every_state(frame: DataFrame, state: StateSettings) -> ProcessedStream:
    keyed = timed(frame, 1000).key_by("key")
    return keyed.process(EveryState(), schema=EVERY_OUT, max_parallelism=GROUPS, state=state)


def moved(tmp_path: Path, make: Callable[[str], ProcessedStream], *backends: str) -> list[Any]:
    """The rows of a program that runs, moves its state to another backend, and runs again."""
    rows: list[Any] = []
    place = tmp_path / "-".join(backends)
    for number, backend in enumerate(backends):
        stream = make(backend)
        checkpoint = place / f"checkpoint-{number}"
        if number:
            before = place / f"checkpoint-{number - 1}"
            left = contents(before)
            move(stream, before, checkpoint)
            assert contents(before) == left, "the old checkpoint is as it was"
        found = run(stream, checkpoint)
        assert not number or min(found.batches) > 0, "batches go on counting"
        rows += found.rows()
    return rows


def move(stream: ProcessedStream, old: Path, new: Path) -> None:
    """`move_state`, again if the machine is too busy for Spark."""
    for attempt in range(ATTEMPTS):
        try:
            move_state(stream, str(old), str(new))
            return
        except StreamingQueryException as error:
            if TOO_BUSY not in str(error) or attempt == ATTEMPTS - 1:
                raise


def contents(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (silence, "store"),
        (chain, "store"),
        (chain, "versioned"),
        (spans, "store"),
        (sliding, "versioned"),
        (every_state, "store"),
    ],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_one_stream(spark: SparkSession, tmp_path: Path, make: Make, first: str) -> None:
    """There and back again, with two batches before, between and after."""
    batches = random_batches(17, batches=6, rows=40, keys=14)
    whole = Source(spark, tmp_path / "whole", SCHEMA)
    feed(whole, batches)
    wanted = run(make(whole.stream(), kept(tmp_path, "store")), tmp_path / "wanted").rows()
    source = Source(spark, tmp_path / "in", SCHEMA)
    second = "versioned" if first == "store" else "store"

    def grown(backend: str) -> ProcessedStream:
        done = len(source.batches)
        feed(source, batches[done : done + 2])
        return make(source.stream(), kept(tmp_path, backend))

    found = moved(tmp_path, grown, first, second, first)
    assert Counter(map(repr, found)) == Counter(map(repr, wanted))
    assert make is chain or by_key(found) == by_key(wanted)


def test_two_streams(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is late, so whatever the watermarks of two sources, all pairs are there."""
    orders, payments = (orders_and_payments(seed, batches=6, rows=20) for seed in (3, 4))
    left, right = sources(spark, tmp_path, [], [])

    def grown(backend: str) -> ProcessedStream:
        done = len(left.batches)
        add_orders(left, right, orders[done : done + 2], payments[done : done + 2])
        state = kept(tmp_path, backend)
        ordered = timed(left.stream(), 10_000).key_by("customer")
        paid = timed(right.stream(), 10_000, "at").key_by("payer")
        joined = ordered.interval_join(paid).between(-2000, 2000)
        return joined.process(Match(), schema=PAIRS, max_parallelism=GROUPS, state=state)

    found = moved(tmp_path, grown, "store", "versioned", "store")
    pairs, _, _ = joined(orders, payments, -2000, 2000, 10_000)
    assert sorted(found) == pairs
    assert len(pairs) > 50


class Waiting(KeyedProcessFunction):
    """A timer some time after each row, on the time of the machine."""

    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + value.wait)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        yield ctx.get_current_key(), timestamp <= now


@pytest.mark.parametrize("first", ["store", "versioned"])
def test_timers_on_processing_time(spark: SparkSession, tmp_path: Path, first: str) -> None:
    """Those that became due in between, and those that had not."""
    source = Source(spark, tmp_path / "in", "key string, wait bigint")

    def define(backend: str) -> ProcessedStream:
        return (
            DataStream(source.stream())
            .key_by("key")
            .process(
                Waiting(),
                schema="key string, due boolean",
                max_parallelism=GROUPS,
                processing_time_timers=True,
                state=kept(tmp_path, backend),
            )
        )

    found: dict[int, list[Any]] = {}  # a batch that was not committed runs again

    def rows() -> list[Any]:
        return [row for batch in list(found.values()) for row in batch]

    def ran(backend: str, checkpoint: Path, least: int) -> None:
        def write(batch: int, main: DataFrame) -> None:
            found[batch] = list(map(tuple, main.collect()))

        writer = define(backend).foreach_batch(write).trigger(processingTime="0.2 seconds")
        query = start(writer.option("checkpointLocation", str(checkpoint)))
        try:
            until(lambda: query.awaitTermination(0.2) or len(rows()) >= least, seconds=LONGEST_S)
        finally:
            query.stop()

    second = "versioned" if first == "store" else "store"
    source.add({"key": f"k{n}", "wait": 1 if n < 3 else 20_000} for n in range(12))
    ran(first, tmp_path / "first", 3)
    move(define(second), tmp_path / "first", tmp_path / "second")
    source.add([{"key": "new", "wait": 1}])
    ran(second, tmp_path / "second", 13)
    assert Counter(rows()) == Counter([("new", True), *((f"k{n}", True) for n in range(12))])


@pytest.mark.parametrize("first", ["store", "versioned"])
def test_a_batch_that_was_planned_and_not_done(
    spark: SparkSession, tmp_path: Path, first: str
) -> None:
    batches = random_batches(23, batches=4, rows=30, keys=8)
    whole = Source(spark, tmp_path / "whole", SCHEMA)
    feed(whole, batches)
    wanted = run(silence(whole.stream(), kept(tmp_path, "store")), tmp_path / "wanted").rows()
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, batches[:2])
    old, new = tmp_path / "old", tmp_path / "new"
    rows = run(silence(source.stream(), kept(tmp_path, first)), old).rows()
    feed(source, batches[2:])

    def fail(batch: int) -> None:
        raise RuntimeError(f"no batch {batch}")

    with pytest.raises(StreamingQueryException, match="no batch"):
        run(silence(source.stream(), kept(tmp_path, first)), old, after_batch=fail)
    second = "versioned" if first == "store" else "store"
    stream = silence(source.stream(), kept(tmp_path, second))
    move(stream, old, new)
    planned = max(int(one.name) for one in (old / "offsets").glob("[0-9]*"))
    assert not (old / "commits" / str(planned)).exists()
    found = run(stream, new)
    assert min(found.batches) == planned
    assert by_key(rows + found.rows()) == by_key(wanted)


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(29, batches=2, rows=20, keys=8))
    old = tmp_path / "old"
    run(silence(source.stream(), kept(tmp_path, "store")), old)
    files = kept(tmp_path, "versioned")

    def refused(stream: Any, error: type[Exception], why: str, place: Path = old) -> None:
        new = tmp_path / "new"
        with pytest.raises(error, match=why):
            move_state(stream, str(place), str(new))
        assert not new.exists()

    keyed = timed(source.stream(), 1000).key_by("n")
    other = keyed.process(Silence(), schema=OUT, max_parallelism=GROUPS, state=files)
    refused(
        other, IncompatibleStateError, r"with keys=\(key string\), this program has \(n bigint\)"
    )
    refused(chain(source.stream(), files), IllegalArgumentError, r"'Totals-2', 'Silence-1': state")
    same = silence(source.stream(), kept(tmp_path, "store"))
    refused(same, IllegalArgumentError, "there is nothing to move")
    right = silence(source.stream(), files)
    refused(right, IllegalArgumentError, "no checkpoint of a query", tmp_path / "nowhere")
    refused(DataStream(source.stream()), IllegalArgumentError, "a stream with keyed operators")
    refused(source.stream(), ArgumentTypeError, "takes the stream that the query is started on")
    with pytest.raises(IllegalArgumentError, match="is not empty"):
        move_state(right, str(old), str(tmp_path / "in"))

    run(right, tmp_path / "files")
    refused(right, IllegalArgumentError, "has no state in Spark's store", tmp_path / "files")
    named = timed(source.stream(), 1000).key_by("key")
    unknown = named.process(Silence(), schema=OUT, max_parallelism=GROUPS, uid="other")
    refused(unknown, IllegalArgumentError, "no state of operator 'other'", tmp_path / "files")

    # A move that was killed left what no query starts with.
    half = tmp_path / "half"
    Place(str(half)).begin(Place(str(old)))
    with pytest.raises(Exception, match="Unrecognized token"):
        run(right, half)
    assert not (half / "offsets").exists()


def test_timers_have_to_fire_first(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(29, batches=2, rows=20, keys=8))
    old, new = tmp_path / "old", tmp_path / "new"
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(name, "false")
    try:
        run(silence(source.stream(), kept(tmp_path, "store")), old)
    finally:
        spark.conf.unset(name)
    stream = silence(source.stream(), kept(tmp_path, "versioned"))
    with pytest.raises(IllegalArgumentError, match="start the program that wrote it with trigger"):
        move_state(stream, str(old), str(new))
    # Spark plans a batch without rows only after one with rows.
    feed(source, random_batches(30, batches=1, rows=20, keys=8))
    run(silence(source.stream(), kept(tmp_path, "store")), old)
    move(stream, old, new)


def test_what_spark_reads_is_compared(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release whose store has other names would give another state, or none."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(29, batches=2, rows=20, keys=8))
    old, new = tmp_path / "old", tmp_path / "new"
    run(silence(source.stream(), kept(tmp_path, "versioned")), old)
    stream = silence(source.stream(), kept(tmp_path, "store"))
    real = into_store.Origin.rows

    def less(self: Any, partitions: int) -> Iterator[Any]:
        return (row for row in list(real(self, partitions))[:-1])

    monkeypatch.setattr(into_store.Origin, "rows", less)
    with pytest.raises(IllegalStateError, match=r"values of its version files, 0 others, and 1"):
        move_state(stream, str(old), str(new))
    assert not new.exists()
