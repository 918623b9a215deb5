"""Programs that cannot run: each with the reason, at the call or when it is executed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import JobStatus, SimpleStringSchema, Types, WatermarkStrategy
from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    JobCancellationError,
    JobExecutionError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.common.time import Time
from flinkish.datastream import MapFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)
from flinkish.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from flinkish.spark.jobs.modules import coordinates_of
from tests.spark.programs.example_functions import calls, note
from tests.spark.programs.functions import PAIR, Numbers, Window, first
from tests.spark.support import raises
from tests.waiting import until


def divided(value: Any) -> Any:
    """Fails at 0."""
    return 1 // value


def test_an_error_has_the_users_line_and_the_element(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 0], Types.LONG()).map(divided, Types.LONG()).print()
    with raises(JobExecutionError) as caught:
        env.execute("division")
    text = str(caught.value)
    assert text.startswith("job 'division' failed:")
    assert "return 1 // value" in text
    assert "for the element 0" in text
    assert "flinkish/" not in text.replace("flinkish.", "")


def test_the_error_of_a_job_comes_at_the_end_of_its_elements(
    env: StreamExecutionEnvironment,
) -> None:
    made = env.from_collection([0], Types.LONG()).map(divided, Types.LONG())
    with raises(JobExecutionError, match="ZeroDivisionError"):
        list(made.execute_and_collect())


def test_a_key_and_the_operator_are_named(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 0)], PAIR)
    stream.key_by(first).map(lambda pair: 1 // pair[1], Types.LONG()).uid("ratio").print()
    with raises(JobExecutionError, match=r"operator 'ratio'.* for the key 'a'"):
        env.execute()


def test_a_bounded_job_has_no_savepoint(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1], Types.LONG()).print()
    client = env.execute_async()
    with pytest.raises(UnsupportedOperationError, match="keeps no checkpoint"):
        client.stop_with_savepoint(False)
    assert client.get_job_execution_result().result().is_job_execution_result()


class Slow(MapFunction):
    """Leaves a line when it begins, and one if it comes to its end after ten minutes."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def map(self, value: Any) -> Any:
        note(self._log, "began")
        for _ in range(6_000):
            time.sleep(0.1)
        note(self._log, "ended")
        return value


@pytest.mark.parametrize("keyed", [False, True])
def test_a_bounded_job_is_cancelled(
    env: StreamExecutionEnvironment, tmp_path: Path, keyed: bool
) -> None:
    """The function is stopped; the next job runs."""
    numbers = env.from_collection([1], Types.LONG())
    stream = numbers.key_by(lambda value: value, Types.LONG()) if keyed else numbers
    stream.map(Slow(tmp_path / "log")).print()
    client = env.execute_async("slow")
    until(lambda: calls(tmp_path / "log") == ["began"], seconds=120)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancellationError, match="job 'slow' was cancelled"):
        client.get_job_execution_result().result()
    assert calls(tmp_path / "log") == ["began"]
    assert list(numbers.map(lambda value: value + 1, Types.LONG()).execute_and_collect()) == [2]


def test_two_operators_of_one_uid(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 1)], PAIR).key_by(first)
    stream.sum(1).uid("sum").print()
    stream.max(1).uid("sum").print()
    with pytest.raises(IllegalArgumentError, match="two operators of this program"):
        env.execute()


def test_nothing_to_run(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1], Types.LONG())
    with pytest.raises(IllegalStateError, match="no operator or sink"):
        env.execute()


def test_an_unbounded_source_in_batch_mode(batch: StreamExecutionEnvironment) -> None:
    batch.add_source(Numbers(3), "numbers", PAIR).print()
    with pytest.raises(IllegalStateError, match="'numbers' is unbounded"):
        batch.execute()


def test_the_mode_may_follow_the_sources(batch: StreamExecutionEnvironment) -> None:
    batch.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    stream = batch.from_collection([("a", 1), ("a", 2)], PAIR)
    assert list(stream.key_by(first).sum(1).execute_and_collect()) == [("a", 3)]


def test_windows_of_event_time_need_it(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 1)], PAIR).key_by(first)
    windows = stream.window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    windows.process(Window(), Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])).print()
    with pytest.raises(TimestampError, match="needs event time"):
        env.execute()


def test_windows_of_the_clock_that_are_open_at_the_end_are_dropped(
    streaming: StreamExecutionEnvironment,
) -> None:
    """Flink, too, fires no timers on processing time after the end of its sources."""
    stream = streaming.from_collection([("a", 1)], PAIR).key_by(first)
    windows = stream.window(TumblingProcessingTimeWindows.of(Time.hours(9)))
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    assert list(windows.process(Window(), kind).execute_and_collect()) == []


def test_event_times_come_from_an_assigner_or_a_source(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env.from_collection([("a", 1)], PAIR).assign_timestamps_and_watermarks(strategy).print()
    with pytest.raises(IllegalArgumentError, match="with_timestamp_assigner"):
        env.execute("times")


def test_a_limit_is_positive(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(IllegalArgumentError, match="limit must be 1 or more, not 0"):
        env.from_collection([1], Types.LONG()).execute_and_collect(limit=0)


@pytest.mark.parametrize("source", ["bounded", "unbounded", "at offsets"])
def test_a_session_without_kafka_is_told_of_it(
    streaming: StreamExecutionEnvironment, source: str
) -> None:
    """In one line, with coordinates that Maven Central has."""
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    if source == "bounded":
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    elif source == "at offsets":
        at = {KafkaTopicPartition("t", 0): 1}
        builder.set_starting_offsets(KafkaOffsetsInitializer.offsets(at))
    made = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    stream = streaming.from_source(made, WatermarkStrategy.no_watermarks(), "kafka")
    with pytest.raises(JobExecutionError, match=r"lacks Spark's kafka: .*kafka-0-10_2\.13:") as it:
        list(stream.execute_and_collect())
    assert "\n" not in str(it.value)
    assert coordinates_of("kafka") in str(it.value)
