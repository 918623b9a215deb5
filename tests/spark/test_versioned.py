"""State versioned by batch gives what Spark's store gives, one batch earlier where time passes."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.datastream import AsyncDataStream
from flinkish.functions.aggregates import Count, Sum
from flinkish.spark import ProcessedStream, StateSettings
from flinkish.spark.internals import PlanNode, optimized_plan
from flinkish.windowing import SlidingEventTimeWindows
from tests.spark.functions import Silence
from tests.spark.support import GROUPS, Outcome, Source, by_key, run, timed
from tests.spark.test_async_data_stream import Echo
from tests.spark.test_chained import TOTALS, Totals
from tests.spark.traffic import OUT, SCHEMA, expected, feed, random_batches
from tests.spark.two_streams import LATE_ORDERS, PAIRS, SIDE, Match, sources
from tests.spark.two_streams import TOTALS as SUMS
from tests.spark.two_streams import Totals as Sums
from tests.spark.two_streams import random_batches as orders_and_payments
from tests.spark.windowed import LATE_ROWS, SESSIONS, SPANS, Spans

BACKENDS = ("store", "versioned")


def kept(tmp_path: Path, backend: Any, **more: Any) -> StateSettings:
    return StateSettings(table_dir=str(tmp_path / f"tables-{backend}"), backend=backend, **more)


def silence(frame: DataFrame, state: StateSettings) -> ProcessedStream:
    keyed = timed(frame, 1000).key_by("key")
    return keyed.process(Silence(), schema=OUT, max_parallelism=GROUPS, state=state)


def chain(frame: DataFrame, state: StateSettings) -> ProcessedStream:
    first = silence(frame, state)
    return first.key_by("n").process(Totals(), schema=TOTALS, max_parallelism=GROUPS, state=state)


def calls(frame: DataFrame, state: StateSettings) -> ProcessedStream:
    first = silence(frame, state)
    echo = Echo("key", "what", "n", "at")
    between = AsyncDataStream.ordered_wait(first, echo, 60_000, 50, OUT)
    return between.key_by("n").process(Totals(), schema=TOTALS, max_parallelism=GROUPS, state=state)


def spans(frame: DataFrame, state: StateSettings) -> ProcessedStream:
    windows = (
        timed(frame, 1000)
        .key_by("key")
        .window(SESSIONS, max_parallelism=GROUPS, state=state)
        .side_output_late_data(LATE_ROWS)
    )
    return windows.process(Spans(), schema=SPANS)


def sliding(frame: DataFrame, state: StateSettings) -> ProcessedStream:
    windows = (
        timed(frame, 1000)
        .key_by("key")
        .window(SlidingEventTimeWindows.of(2000, 500), max_parallelism=GROUPS, state=state)
    )
    return windows.aggregate([Count(), Sum("n")])


def compare(outcomes: dict[str, Outcome], tag: str = "", *, ordered: bool = True) -> None:
    """All rows, and those of each key in their order, if that is any."""
    store, versioned = (outcomes[backend].rows(tag) for backend in BACKENDS)
    assert store
    assert Counter(map(repr, versioned)) == Counter(map(repr, store))
    assert not ordered or by_key(versioned) == by_key(store)


@pytest.mark.parametrize(
    "make", [silence, chain, calls, spans, sliding], ids=lambda make: make.__name__
)
def test_one_stream(
    spark: SparkSession, tmp_path: Path, make: Callable[[DataFrame, StateSettings], Any]
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(7, batches=3, rows=60, keys=14))
    outcomes = {
        backend: run(make(source.stream(), kept(tmp_path, backend)), tmp_path / backend)
        for backend in BACKENDS
    }
    # Rows of several tasks come to a second operator in no order.
    compare(outcomes, ordered=make not in (chain, calls))
    store, versioned = (outcomes[backend].statistics for backend in BACKENDS)
    for name in ("rows", "late_rows", "timers_registered", "timers_fired"):
        assert versioned[name] == store[name], name
    # Without a batch that is there for time alone, and with nothing left for it.
    assert len(outcomes["versioned"].batches) == len(source.batches)
    assert outcomes["versioned"].batches[0][""] != outcomes["store"].batches[0][""]


def test_one_output(spark: SparkSession, tmp_path: Path) -> None:
    """A query on an output gives its rows and counts as one on all outputs does."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(7, batches=3, rows=60, keys=14))
    wanted = run(spans(source.stream(), kept(tmp_path, "store")), tmp_path / "all", LATE_ROWS)
    for tag in ("", LATE_ROWS.tag_id):
        stream = spans(source.stream(), kept(tmp_path, "versioned"))
        rows: list[Any] = []

        def write(frame: DataFrame, _: int, rows: list[Any] = rows) -> None:
            rows.extend(map(tuple, frame.collect()))

        query = (
            (stream.get_side_output(LATE_ROWS) if tag else stream)
            .to_df()
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", str(tmp_path / f"checkpoint{tag}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert rows
        assert Counter(map(repr, rows)) == Counter(map(repr, wanted.rows(tag)))
        counted = stream.statistics(query)
        for name in ("rows", "late_rows", "timers_registered", "timers_fired"):
            assert counted[name] == wanted.statistics[name], name
        assert counted["key_groups"] <= GROUPS
        assert counted["keys"] > 0


def test_two_streams(spark: SparkSession, tmp_path: Path) -> None:
    orders, payments = (orders_and_payments(seed, batches=3, rows=20) for seed in (3, 4))
    left, right = sources(spark, tmp_path, orders, payments)
    joins, sums = {}, {}
    for backend in BACKENDS:
        state = kept(tmp_path, backend)
        ordered = timed(left.stream(), 1000).key_by("customer")
        paid = timed(right.stream(), 1000, "at").key_by("payer")
        joined = (
            ordered.interval_join(paid)
            .between(-2000, 2000)
            .side_output_left_late_data(LATE_ORDERS)
            .process(Match(), schema=PAIRS, max_parallelism=GROUPS, state=state)
        )
        joins[backend] = run(joined, tmp_path / f"join-{backend}", LATE_ORDERS)
        both = ordered.connect(paid).process(
            Sums(), schema=SUMS, max_parallelism=GROUPS, order="timestamp", state=state
        )
        sums[backend] = run(both, tmp_path / f"sums-{backend}", SIDE)
    compare(joins)
    compare(sums)
    store, versioned = (Counter(sums[backend].rows(SIDE.tag_id)) for backend in BACKENDS)
    assert store == versioned


def test_a_restart_with_another_number_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Key groups are dealt anew; a batch that failed after its state was written runs again."""
    batches = random_batches(8, batches=6, rows=40, keys=14)
    whole = Source(spark, tmp_path / "whole", SCHEMA)
    feed(whole, batches)
    wanted = run(silence(whole.stream(), kept(tmp_path, "store")), tmp_path / "wanted").rows()
    source = Source(spark, tmp_path / "in", SCHEMA)
    rows: dict[int, list[Any]] = {}
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        for number, count in enumerate(["2", "3", "1"]):
            spark.conf.set("spark.sql.shuffle.partitions", count)
            feed(source, batches[2 * number : 2 * number + 2])
            for _ in range(2):
                stopped = tmp_path / f"stopped-{number}"

                def stop_once(batch: int, stopped: Path = stopped) -> None:
                    if not stopped.exists():
                        stopped.touch()
                        raise RuntimeError("the sink fails once")

                stream = silence(source.stream(), kept(tmp_path, "versioned"))
                if not stopped.exists():
                    with pytest.raises(Exception, match="the sink fails once"):
                        run(stream, tmp_path / "checkpoint", after_batch=stop_once)
                    continue
                found = run(stream, tmp_path / "checkpoint")
                rows |= {batch: outputs[""] for batch, outputs in found.batches.items()}
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    assert sorted(rows) == list(range(6))
    assert by_key(row for batch in sorted(rows) for row in rows[batch]) == by_key(wanted)


def test_an_operator_without_input_in_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Of two in a query only one may have rows: its source has come to its end, say."""
    long, short = (Source(spark, tmp_path / name, SCHEMA) for name in ("long", "short"))
    batches = random_batches(9, batches=4, rows=30, keys=5)
    feed(long, batches)
    feed(short, batches[:1])
    first, second = (
        timed(source.stream(), 1000)
        .key_by("key")
        .process(
            Silence(),
            schema=OUT,
            uid=f"silence-{number}",
            max_parallelism=GROUPS,
            state=kept(tmp_path, "versioned"),
        )
        for number, source in enumerate((long, short))
    )
    rows: list[Any] = []
    query = (
        first.union(second)
        .to_df()
        .writeStream.foreachBatch(lambda frame, _: rows.extend(frame.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    wanted: Counter[Any] = Counter()
    for own in (batches, batches[:1]):
        _, given = expected(Silence(), own, 1000)
        wanted.update(value for outputs in given for name, value, _ in outputs if name == "")
    assert Counter(map(tuple, rows)) == wanted


def test_explained(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    stream = chain(source.stream(), kept(tmp_path, "versioned"))
    found = stream.explain(extended=True)
    assert found.count("state: versioned by batch, in the checkpoint's files of 'Silence-1'") == 1
    assert found.count("watermark: trails the latest row by 1000 ms") == 2
    assert stream.to_df().columns == ["n", "what", "at", "rows", "total"], "marks are no rows"


def test_python_workers(spark: SparkSession, tmp_path: Path) -> None:
    """One worker after each shuffle runs an operator, gives its rows and packs them again."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    stream = chain(source.stream(), kept(tmp_path, "versioned"))

    def functions(node: PlanNode) -> list[str]:
        below = [name for child in node.children for name in functions(child)]
        return [*below, node.function] if node.function else below

    assert functions(optimized_plan(stream.to_df())) == [
        "pack Silence-1",
        "run Silence-1, output of Silence-1, pack Totals-2",
        "run Totals-2, output of Totals-2",
    ]


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    source.add([{"key": "a", "n": 1, "ts": "1970-01-01T00:00:01Z"}])
    state = kept(tmp_path, "versioned")
    keyed = timed(source.stream(), 1000).key_by("key")
    first = keyed.process(Silence(), schema=OUT, state=state)
    with pytest.raises(UnsupportedOperationError, match="in different ways"):
        first.key_by("n").process(Totals(), schema=TOTALS)
    both = first.union(keyed.process(Silence(), schema=OUT, state=state, uid="other"))
    with pytest.raises(UnsupportedOperationError, match="make the calls before union"):
        AsyncDataStream.ordered_wait(both, Echo("n"), 60_000, output_type="n bigint")
    with pytest.raises(IllegalArgumentError, match="backend must be 'store' or 'versioned'"):
        kept(tmp_path, "files")
    elsewhere = kept(tmp_path, "versioned", checkpoint=str(tmp_path / "elsewhere"))
    with pytest.raises(Exception, match=r"has no offsets of batch 0, which runs now"):
        run(silence(source.stream(), elsewhere), tmp_path / "checkpoint")
