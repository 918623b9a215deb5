"""Programs over unbounded sources: one query a job, which stops, fails and goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Configuration, Encoder, JobStatus, Time, Types, WatermarkStrategy
from flinkish.common.errors import (
    IllegalArgumentError,
    JobCancellationError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.file_system import FileSink
from flinkish.datastream.window import TumblingEventTimeWindows
from tests.spark.programs.functions import (
    PAIR,
    RULES,
    KeyedRules,
    Numbers,
    SecondField,
    Times10,
    Window,
    first,
)
from tests.waiting import until

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
LONGEST_S = 120


def lines_of(folder: Path) -> list[str]:
    """The lines that a FileSink has written, of whole batches alone."""
    found: list[str] = []
    for batch in folder.glob("*"):
        if (batch / "_SUCCESS").exists():
            for part in batch.glob("*.txt"):
                found += part.read_text().splitlines()
    return found


def numbers(env: StreamExecutionEnvironment, stop_at: int) -> DataStream:
    return env.add_source(Numbers(stop_at), "numbers", PAIR)


def to_files(stream: DataStream, folder: Path) -> None:
    encoder = Encoder.simple_string_encoder()
    stream.sink_to(FileSink.for_row_format(str(folder), encoder).build())


def sums(env: StreamExecutionEnvironment, stop_at: int, folder: Path) -> None:
    """The sums of keys so far, named so that a program that goes on finds them."""
    made = numbers(env, stop_at).key_by(first).reduce(lambda a, b: (a[0], a[1] + b[1]))
    to_files(made.uid("sums").map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()), folder)


def all_sums(stop_at: int) -> list[str]:
    totals: Counter[str] = Counter()
    found = []
    for number in range(stop_at):
        totals[f"k{number % 3}"] += number
        found.append(f"k{number % 3} {totals[f'k{number % 3}']}")
    return sorted(found)


def test_a_stopped_job_goes_on_where_it_was(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """Exactly once: state by the batch that Spark's log says, files by batch, too."""
    out = tmp_path / "out"
    streaming.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "checkpoints"))
    sums(streaming, 50, out)
    client = streaming.execute_async("sums")
    until(lambda: len(lines_of(out)) == 50, seconds=LONGEST_S)
    assert client.get_job_status().result() is JobStatus.RUNNING
    savepoint = client.stop_with_savepoint(False).result()
    assert client.get_job_execution_result().result().get_net_runtime() > 0
    assert client.get_job_status().result() is JobStatus.FINISHED
    again = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("execution.savepoint.path", savepoint)
    ).set_parallelism(3)
    sums(again, 80, out)
    client = again.execute_async("sums")
    until(lambda: len(lines_of(out)) == 80, seconds=LONGEST_S)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancellationError, match="was cancelled"):
        client.get_job_execution_result().result()
    assert sorted(lines_of(out)) == all_sums(80)


class Fails:
    """A function that fails at an element, each time that its task is tried, or never."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails

    def __call__(self, value: Any) -> Any:
        if self._fails and value[1] == 20:
            raise ValueError("the service is away")
        return value


def test_a_failed_job_goes_on_from_its_checkpoint(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    out, checkpoints = tmp_path / "out", tmp_path / "checkpoints"
    for attempt in range(2):
        env = streaming
        if attempt:
            (place,) = checkpoints.iterdir()
            env = StreamExecutionEnvironment.get_execution_environment(
                Configuration().set_string("execution.savepoint.path", str(place))
            ).set_parallelism(2)
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(checkpoints))
        made = numbers(env, 30).map(Fails(attempt == 0), PAIR)
        counted = made.key_by(first).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
        to_files(counted.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()), out)
        client = env.execute_async("fails")
        if not attempt:
            with pytest.raises(JobExecutionError, match="the service is away") as caught:
                client.get_job_execution_result().result()
            assert "('k2', 20)" in str(caught.value)
            assert client.get_job_status().result() is JobStatus.FAILED
    until(lambda: len(lines_of(out)) == 30, seconds=LONGEST_S)
    client.cancel().result()
    assert sorted(lines_of(out)) == all_sums(30)


class Alarm(KeyedProcessFunction):
    """A timer on processing time for each key's first element."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value[1] < 3:
            now = ctx.timer_service().current_processing_time()
            ctx.timer_service().register_processing_time_timer(now + 100)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key()


def test_timers_on_processing_time_fire_without_input(
    streaming: StreamExecutionEnvironment,
) -> None:
    made = numbers(streaming, 6).key_by(first).process(Alarm(), Types.STRING())
    assert sorted(made.execute_and_collect(limit=3)) == ["k0", "k1", "k2"]


def test_the_watermark_passes_calls_after_an_operator(
    streaming: StreamExecutionEnvironment,
) -> None:
    """Windows after asynchronous calls fire in the batch whose elements let time pass."""
    timed = numbers(streaming, 40).assign_timestamps_and_watermarks(MONOTONOUS)
    kept = timed.key_by(first).filter(lambda pair: True)
    called = AsyncDataStream.ordered_wait(
        kept.map(lambda pair: pair[1], Types.LONG()), Times10(), Time.seconds(9), 5, Types.LONG()
    )
    windows = called.key_by(lambda value: "all").window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    found = windows.process(Window(), kind).execute_and_collect(limit=3)
    assert sorted(found) == [("all", 0, 10), ("all", 10, 10), ("all", 20, 10)]


def test_bounded_rules_reach_an_unbounded_stream(streaming: StreamExecutionEnvironment) -> None:
    rules = streaming.from_collection([("k0", 10), ("k1", 1)], PAIR).broadcast(RULES)
    made = numbers(streaming, 30).key_by(first).connect(rules).process(KeyedRules(), PAIR)
    found = made.execute_and_collect(limit=5)
    assert sorted(found) == [("k0", 0), ("k0", 3), ("k0", 6), ("k0", 9), ("k1", 1)]


def test_what_a_job_cannot_do(streaming: StreamExecutionEnvironment) -> None:
    numbers(streaming, 3).map(first, Types.STRING()).print()
    client = streaming.execute_async("refusals")
    try:
        with pytest.raises(IllegalArgumentError, match="set_checkpoint_storage_dir"):
            client.stop_with_savepoint(False)
        with pytest.raises(UnsupportedOperationError, match="leaves its timers"):
            client.stop_with_savepoint(True)
        with pytest.raises(UnsupportedOperationError, match="stop_with_savepoint"):
            client.trigger_savepoint()
    finally:
        client.cancel().result()


class Late:
    """Numbers of an earlier time, so that the two sources are not at one place."""

    def __call__(self, pair: Any) -> Any:
        return pair[0], pair[1] - 40


def test_united_sources_have_the_lower_watermark_and_one_that_ends_the_highest(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """The windows of the slower source are whole; those that it did not reach wait."""
    out = tmp_path / "out"
    fast, slow = numbers(streaming, 100), numbers(streaming, 100).map(Late(), PAIR)
    ended = streaming.from_collection([("k0", 5), ("k0", 1000)], PAIR)
    timed = [one.assign_timestamps_and_watermarks(MONOTONOUS) for one in (fast, slow, ended)]
    windows = timed[0].union(timed[1], timed[2]).key_by(first)
    counts = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(30)))
    to_files(counts.process(Window()).map(str, Types.STRING()), out)
    client = streaming.execute_async("united")
    expected: Counter[tuple[str, int]] = Counter({("k0", 0): 1})
    for number in range(100):
        expected[f"k{number % 3}", number // 30 * 30] += 1
        expected[f"k{number % 3}", (number - 40) // 30 * 30] += 1
    whole = sorted(str((key, begin, n)) for (key, begin), n in expected.items() if begin < 30)
    until(lambda: len(lines_of(out)) >= len(whole), seconds=LONGEST_S)
    client.cancel().result()
    assert sorted(lines_of(out)) == whole, "59 is the last time of the slower source"
