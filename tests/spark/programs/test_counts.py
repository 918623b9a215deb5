"""What operators and functions count, as the accumulators of a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flinkish.common import Duration, Time, Types, WatermarkStrategy
from flinkish.common.errors import JobExecutionError
from flinkish.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.file_system import FileSource, StreamFormat
from flinkish.datastream.window import TumblingEventTimeWindows
from tests.spark.programs.example_functions import NAMED, SALE, SaleTime
from tests.spark.support import raises
from tests.waiting import until

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SaleTime())
SALES = [(1, "a", 2), (2, "b", 20), (3, "a", 4), (7, "a", 1)]


class Counted(MapFunction):
    """Counts elements up, and their values down."""

    def open(self, runtime_context: RuntimeContext) -> None:
        metrics = runtime_context.get_metrics_group()
        self._seen = metrics.counter("seen")
        self._left = metrics.add_group("of").counter("left")

    def map(self, value: Any) -> Any:
        self._seen.inc()
        self._left.dec(value[-1])
        return value


class KeyedCounted(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self._seen.inc()
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from ()


class CountingSink(SinkFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._written = runtime_context.get_metrics_group().counter("written")

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self._written.inc()


def test_functions_and_operators_count(env: StreamExecutionEnvironment) -> None:
    """By the uid; a counter of the function's own is ``metrics`` and its name.

    A function that two sinks read is run, and counts, once.
    """
    sales = env.from_collection(SALES, SALE).assign_timestamps_and_watermarks(MONOTONOUS)
    plain = sales.map(Counted(), SALE).uid("plain").map(Counted(), SALE).uid("plain, too")
    keyed = plain.key_by(lambda sale: sale[1], Types.STRING()).process(KeyedCounted(), SALE)
    keyed.uid("keyed").add_sink(CountingSink()).uid("sink")
    plain.add_sink(CountingSink()).uid("other sink").set_parallelism(1)
    result = env.execute()
    found = result.get_all_accumulator_results()
    assert {
        name: count
        for name, count in found.items()
        if not name.startswith("keyed.") or name.partition(".")[2] in ("rows", "metrics.seen")
    } == {
        "plain.metrics.seen": 4,
        "plain.metrics.of.left": -27,
        "plain, too.metrics.seen": 4,
        "plain, too.metrics.of.left": -27,
        "keyed.metrics.seen": 4,
        "keyed.rows": 4,
        "sink.metrics.written": 4,
        "other sink.metrics.written": 4,
    }
    assert result.get_accumulator_result("keyed.timers_fired") == 4
    assert result.get_accumulator_result("keyed.late_rows") == 0
    assert result.get_accumulator_result("no such") is None


def test_each_job_counts_anew(env: StreamExecutionEnvironment) -> None:
    for _ in range(2):
        env.from_collection(SALES, SALE).map(Counted()).uid("it")
        client = env.execute_async()
        result = client.get_job_execution_result().result()
        assert result.get_all_accumulator_results() == client.get_accumulators().result()
        assert result.get_accumulator_result("it.metrics.seen") == 4


class Both(CoMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_metrics_group().counter("seen")

    def map1(self, value: Any) -> Any:
        self._seen.inc()
        return value

    def map2(self, value: Any) -> Any:
        self._seen.inc(100)
        return value


class Call(AsyncFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._called = runtime_context.get_metrics_group().counter("called")

    async def async_invoke(self, value: Any) -> list[Any]:
        self._called.inc()
        return [value, value]


def test_connected_streams_and_calls_count(env: StreamExecutionEnvironment) -> None:
    one = env.from_collection([("a", 1), ("b", 2)], NAMED)
    both = one.connect(env.from_collection([("c", 3)], NAMED)).map(Both(), NAMED).uid("both")
    AsyncDataStream.ordered_wait(both, Call(), Time.seconds(30), 2, NAMED).uid("calls")
    found = env.execute().get_all_accumulator_results()
    assert found["both.metrics.seen"] == 102
    assert found["calls.metrics.called"] == 3
    assert found["calls.rows"] == 3
    assert found["calls.results"] == 6


def test_tasks_that_fail_do_not_count(batch: StreamExecutionEnvironment) -> None:
    def fails(value: Any) -> Any:
        raise ValueError(value)

    batch.from_collection(SALES, SALE).map(Counted()).uid("it").map(fails)
    client = batch.execute_async()
    with raises(JobExecutionError, match="ValueError"):
        client.get_job_execution_result().result()
    assert client.get_accumulators().result() == {}


def sale_of(line: str) -> tuple[int, str, int]:
    at, name, price = line.split()
    return int(at), name, int(price)


def test_late_elements_of_an_unbounded_stream_are_counted(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """Nothing is lost without a counter: elements that a window drops, seen while the job runs."""
    (tmp_path / "first.txt").write_text("1 a 1\n100 a 2\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    source = source.monitor_continuously(Duration.of_millis(100)).build()
    lines = streaming.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    sales = lines.map(sale_of, SALE).map(Counted(), SALE).uid("seen")
    timed = sales.assign_timestamps_and_watermarks(MONOTONOUS).key_by(lambda sale: sale[1])
    windows = timed.window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    windows.reduce(lambda a, b: a).uid("windows")
    client = streaming.execute_async("late")
    try:
        until(lambda: counted(client).get("windows.rows") == 2, seconds=120)
        assert counted(client)["windows.late_rows"] == 0
        (tmp_path / "second.txt").write_text("2 a 4\n103 a 8\n")
        until(lambda: counted(client).get("windows.rows") == 4, seconds=120)
        found = counted(client)
        assert found["windows.late_rows"] == 1
        assert found["seen.metrics.seen"] == 4
        assert found["seen.metrics.of.left"] == -15
    finally:
        client.cancel().result()
    assert counted(client) == found


def counted(client: Any) -> dict[str, int]:
    found: dict[str, int] = client.get_accumulators().result()
    return found
