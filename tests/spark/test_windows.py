"""Windows over micro-batches and over whole DataFrames."""

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.common.errors import (
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.functions import (
    AggregateFunction,
    AllWindowFunction,
    KeyedProcessFunction,
)
from flinkish.functions.aggregates import Count, DistinctCount, Sum
from flinkish.spark import DataStream
from flinkish.windowing import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.models.window_operator import WindowModel
from tests.processes import LONGEST_S
from tests.spark.support import GROUPS, Source, run, settings, start, timed
from tests.spark.traffic import SCHEMA, feed, random_batches
from tests.spark.windowed import LATE_ROWS, SPANS, Spans, expected
from tests.waiting import until


@pytest.mark.parametrize("counts", [None, 3])
def test_sessions_with_late_rows(spark: SparkSession, tmp_path: Path, counts: int | None) -> None:
    """With a count trigger, windows fire in the micro-batch that fills them."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(61, batches=4, rows=120, keys=25)
    feed(source, batches)
    windowed = (
        timed(source.stream(), 1000)
        .key_by("key")
        .window(EventTimeSessionWindows.with_gap("1 second"), max_parallelism=GROUPS, uid="visits")
        .allowed_lateness(500)
        .side_output_late_data(LATE_ROWS)
    )
    if counts is not None:
        windowed.trigger(CountTrigger.of(counts))
    stream = windowed.process(Spans(), schema=SPANS)
    assert stream.explain() == "visits: row by row: Spans is given the elements of each window"
    outcome = run(stream, tmp_path / "checkpoint", LATE_ROWS)
    model = WindowModel(EventTimeSessionWindows.with_gap(1000), 500, counts)
    given, late = expected(model, batches, 1000)
    for batch, wanted in enumerate(given):
        assert sorted(outcome.batches[batch][""]) == wanted, f"batch {batch}"
    assert sorted((key, n) for key, n, _ in outcome.rows("late")) == late
    assert outcome.statistics["late_rows"] == len(late) > 0
    assert outcome.statistics["rows"] == 480


class Dying(Spans):
    """Kills its own process, once at each of two places."""

    def __init__(self, markers: str) -> None:
        self.markers = markers

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for place in (21_000, 27_000):
            if context.window().start > place:
                self.die(str(place))
        return super().process(key, context, elements)

    def die(self, where: str) -> None:
        try:
            os.close(os.open(os.path.join(self.markers, where), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def test_killed_workers(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "markers").mkdir()
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(62, batches=5, rows=60, keys=24)
    feed(source, batches)
    assigner = SlidingEventTimeWindows.of(3000, 1000)
    stream = (
        timed(source.stream(), 1000)
        .key_by("key")
        .window(assigner, max_parallelism=GROUPS, state=settings(tmp_path / "tables"))
        .process(Dying(str(tmp_path / "markers")), schema=SPANS)
    )
    outcome = run(stream, tmp_path / "checkpoint")
    assert len(list((tmp_path / "markers").iterdir())) == 2
    given, _ = expected(WindowModel(assigner), batches, 1000)
    for batch, wanted in enumerate(given):
        assert sorted(outcome.batches[batch][""]) == wanted, f"batch {batch}"


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.n, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> tuple[float]:
        return (accumulator[0] / accumulator[1],)

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Everybody(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield window.start, len(list(inputs))


def test_batch_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(63, batches=2, rows=150, keys=12)
    feed(source, batches)
    rows = sorted((row for batch in batches for row in batch), key=lambda row: row["at"])
    stream = timed(source.frame())

    def model(assigner: Any) -> list[Any]:
        found = WindowModel(assigner)
        for row in rows:
            found.process(row["key"], row["n"], row["at"])
        found.advance((1 << 63) - 1)
        return found.take()

    sessions = EventTimeSessionWindows.with_gap(1000)
    tumbling = TumblingEventTimeWindows.of(4000)
    for key in ("key", lambda row: row.key):
        spans = stream.key_by(key).window(sessions).process(Spans(), schema=SPANS).to_df()
        assert sorted(map(tuple, spans.collect())) == model(sessions)
    means = stream.key_by("key").window(tumbling).aggregate(Mean(), schema="mean double").to_df()
    wanted = [sum(values) / len(values) for _, _, _, values in model(tumbling)]
    assert sorted(row.mean for row in means.collect()) == sorted(wanted)
    largest = stream.key_by("key").window(tumbling).reduce(lambda a, b: max(a, b, key=len_of))
    assert largest.to_df().columns == ["key", "n", "ts"]
    assert sorted(row.n for row in largest.to_df().collect()) == sorted(
        max(values) for *_, values in model(tumbling)
    )
    everybody = stream.window_all(tumbling).apply(Everybody(), schema="begin bigint, n bigint")
    assert sum(row.n for row in everybody.to_df().collect()) == 300
    in_threes = stream.key_by("key").count_window(3).reduce(lambda a, b: a)
    assert in_threes.to_df().count() == sum(
        sum(row["key"] == key for row in rows) // 3 for key in {row["key"] for row in rows}
    )


def len_of(row: Any) -> int:
    return int(row.n)


def test_aggregates_by_columns_and_row_by_row_are_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(64, batches=3, rows=80, keys=10)
    feed(source, batches)
    keyed = timed(source.stream(), 500).key_by("key")
    assigner = TumblingEventTimeWindows.of(2000)
    quick = keyed.window(assigner, max_parallelism=GROUPS).aggregate([Count(), Sum("n")])
    slow = (
        keyed.window(assigner, max_parallelism=GROUPS).trigger(Own()).aggregate((Count(), Sum("n")))
    )
    names = ["key", "window_start", "window_end", "count", "sum_n"]
    assert quick.to_df().columns == slow.to_df().columns == names
    assert quick.explain().startswith("windows-1: by columns: built-in aggregates on Tumbling")
    assert slow.explain() == "WindowRows-1: row by row: Own is asked for each element"
    one, other = run(quick, tmp_path / "a"), run(slow, tmp_path / "b")
    assert sorted(one.rows()) == sorted(other.rows())
    assert len(one.rows()) > 20
    distinct = keyed.window(assigner).aggregate(DistinctCount("n"))
    assert "row by row" in distinct.explain()
    sorted_first = keyed.window(assigner, order="timestamp").aggregate(Count())
    assert sorted_first.explain().endswith("order='timestamp' hands rows over one by one")


class Own(CountTrigger):
    """Waits for the end like the default, but is the user's own."""

    def __init__(self) -> None:
        super().__init__(1)

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> Any:
        from flinkish.windowing import EventTimeTrigger

        return EventTimeTrigger().on_element(element, timestamp, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
        from flinkish.windowing import EventTimeTrigger

        return EventTimeTrigger().on_event_time(time, window, ctx)


class Pass(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value.key, value.n


def test_windows_behind_another_operator(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(65, batches=3, rows=60, keys=8)
    feed(source, batches)
    assigner = TumblingEventTimeWindows.of(5000)
    stream = (
        timed(source.stream(), 7000)  # so that nothing is late
        .key_by("key")
        .process(Pass(), schema="key string, n bigint", max_parallelism=GROUPS)
        .key_by("key")
        .window(assigner, max_parallelism=GROUPS)
        .process(Spans(), schema=SPANS)
    )
    assert len(stream.explain().splitlines()) == 2
    outcome = run(stream, tmp_path / "checkpoint")
    given, late = expected(WindowModel(assigner), batches, 7000)
    assert not late
    assert sorted(outcome.rows()) == sorted(row for rows in given for row in rows)


def test_windows_on_the_clock_fire_without_data(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", "key string, n bigint")
    source.add([{"key": "a", "n": 1}, {"key": "b", "n": 2}, {"key": "a", "n": 3}])
    stream = (
        DataStream(source.stream())
        .key_by("key")
        .window(ProcessingTimeSessionWindows.with_gap("2 seconds"), max_parallelism=GROUPS)
        .process(Spans(), schema=SPANS)
    )
    found: dict[int, list[Any]] = {}

    def write(batch: int, main: DataFrame) -> None:
        found[batch] = [(row.key, row.n) for row in main.collect()]

    writer = stream.foreach_batch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = start(writer.trigger(processingTime="500 milliseconds"))
    try:
        until(lambda: query.awaitTermination(0.2) or any(list(found.values())), seconds=LONGEST_S)
    finally:
        query.stop()
    given = {batch: sorted(rows) for batch, rows in found.items() if rows}
    assert list(given.values()) == [[("a", [1, 3]), ("b", [2])]]
    assert min(given) > 0, "after the batch of the rows"


def test_what_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1)], "key string, n bigint")
    keyed = DataStream(frame).key_by("key")
    with pytest.raises(TimestampError, match="assign_timestamps_and_watermarks before key_by"):
        keyed.window(TumblingEventTimeWindows.of(5))
    with pytest.raises(IllegalArgumentError, match="nothing is late for Tumbling"):
        keyed.window(TumblingProcessingTimeWindows.of(5)).allowed_lateness("1 second")
    with pytest.raises(UnsupportedOperationError, match="does not support merging"):
        keyed.window(ProcessingTimeSessionWindows.with_gap(5)).trigger(DeltaTrigger.of(1, max))
    with pytest.raises(UnsupportedOperationError, match="processing_time_timers=False"):
        keyed.window(TumblingProcessingTimeWindows.of(5), processing_time_timers=False).process(
            Spans(), schema=SPANS
        )
    with pytest.raises(UnsupportedOperationError, match="would fire without end"):
        keyed.window(GlobalWindows.create()).trigger(ContinuousEventTimeTrigger.of(5)).process(
            Spans(), schema=SPANS
        )
    with pytest.raises(IllegalArgumentError, match="no begin and end"):
        keyed.window(GlobalWindows.create()).aggregate(Count())
    with pytest.raises(IllegalArgumentError, match="max_parallelism"):
        keyed.window(GlobalWindows.create(), max_parallelism=0).process(Spans(), schema=SPANS)
