"""Which task has an element: partitioners of the user's, and the parallelism of one operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Duration, Encoder, Time, Types, WatermarkStrategy
from flinkish.common.errors import (
    IllegalArgumentError,
    JobExecutionError,
)
from flinkish.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from flinkish.datastream.connectors.number_seq import NumberSequenceSource
from flinkish.datastream.window import TumblingEventTimeWindows
from tests.spark.programs.example_functions import NAMED, SALE, SaleTime, calls, gathered, note
from tests.spark.support import raises
from tests.waiting import until

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SaleTime())


class ByRest(Partitioner):
    """The rest of the key, by the number of partitions, which it has to be told."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._opened = True

    def partition(self, key: int, num_partitions: int) -> int:
        assert self._opened
        return key % num_partitions


class Tens(KeySelector):
    def get_key(self, value: int) -> int:
        return value // 10


class Task(MapFunction):
    """Elements with the number of the task that has them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._task = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[int, Any]:
        return self._task, value


class KeyedTask(KeyedProcessFunction):
    """The number of the task of a key, and of how many."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._task = runtime_context.get_index_of_this_subtask()
        self._tasks = runtime_context.get_number_of_parallel_subtasks()

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        yield self._task, self._tasks


def numbers(env: StreamExecutionEnvironment, count: int) -> DataStream:
    source = NumberSequenceSource(0, count - 1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def by_task(stream: DataStream) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for task, value in stream.map(Task()).execute_and_collect():
        found[task].append(value)
    return dict(found)


def test_a_partitioner_says_the_task(env: StreamExecutionEnvironment) -> None:
    """It is given the parallelism; a list is one task, whose elements stay in order."""
    given = env.from_collection(list(range(40)), Types.INT())
    assert by_task(given.partition_custom(ByRest(), Tens())) == {
        0: [*range(10), *range(20, 30)],
        1: [*range(10, 20), *range(30, 40)],
    }


def test_the_partitions_are_those_of_the_operator_that_follows(
    env: StreamExecutionEnvironment,
) -> None:
    """Functions will do, and elements of no declared type."""
    given = env.from_collection(list(range(9)))
    parts = given.partition_custom(lambda key, number: key % number, lambda value: value)
    placed = parts.map(Task()).set_parallelism(3)
    assert gathered(placed) == sorted((value % 3, value) for value in range(9))


def test_operators_of_several_parallelisms_after_a_partition(
    env: StreamExecutionEnvironment,
) -> None:
    parts = env.from_collection([1]).partition_custom(ByRest(), Tens())
    parts.map(Task()).name("two").set_parallelism(2)
    parts.map(Task()).name("three").set_parallelism(3)
    with pytest.raises(
        IllegalArgumentError, match=r"Partition Custom have .*, two \(2\), three \(3\): call"
    ):
        env.execute()


def test_a_partition_that_is_not_there_fails_the_job(env: StreamExecutionEnvironment) -> None:
    parts = env.from_collection(["x"]).partition_custom(lambda key, number: number, len)
    with raises(JobExecutionError, match="one of 2 partitions: let it return an int from 0"):
        gathered(parts.map(Task()))


def test_a_broadcast_has_a_copy_for_each_task(env: StreamExecutionEnvironment) -> None:
    """As in Flink, where each parallel instance of the next operator has every element."""
    copies = env.from_collection([1, 2], Types.INT()).broadcast()
    assert gathered(copies.map(Task())) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert gathered(copies.map(Task()).set_parallelism(1)) == [(0, 1), (0, 2)]
    assert gathered(copies) == [1, 2]  # what collects is one place


def test_event_time_passes_a_partition(env: StreamExecutionEnvironment) -> None:
    given = env.from_collection([(1, "a", 1), (2, "b", 2), (7, "a", 4)], SALE)
    parts = given.assign_timestamps_and_watermarks(MONOTONOUS).partition_custom(
        ByRest(), lambda sale: sale[0]
    )
    windows = parts.key_by(lambda sale: sale[1]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(5))
    )
    sums = windows.reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
    assert gathered(sums) == [(1, "a", 1), (2, "b", 2), (7, "a", 4)]


class Odd(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield OutputTag("odd", Types.INT()) if value % 2 else OutputTag("even", Types.INT()), value


def test_a_side_output_is_partitioned(env: StreamExecutionEnvironment) -> None:
    odd = env.from_collection([1, 2, 3], Types.INT()).process(Odd(), Types.INT())
    side = odd.get_side_output(OutputTag("odd", Types.INT()))
    parts = side.partition_custom(lambda key, number: 1, lambda value: value)
    assert by_task(parts) == {1: [1, 3]}


class Counts(SinkFunction):
    """Leaves a line for each task that opens it."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = 0

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self._seen += 1

    def close(self) -> None:
        note(self._log, self._seen)


def test_one_task_of_a_function(env: StreamExecutionEnvironment) -> None:
    """A parallelism of 1 is one instance, which sees all elements, as in Flink."""
    found = by_task(numbers(env, 1_000).map(lambda value: value).set_parallelism(1))
    assert {task: sorted(values) for task, values in found.items()} == {0: list(range(1_000))}


def test_several_tasks_of_a_function(env: StreamExecutionEnvironment) -> None:
    """Elements are dealt in turn; what follows stays in the task, one of its own moves again."""
    three = numbers(env, 90).map(Task()).set_parallelism(3)
    again = three.map(Task()).set_parallelism(3)  # as many: they stay
    found = list(again.execute_and_collect())
    assert sorted({task for task, _ in found}) == [0, 1, 2]
    assert all(task == before for task, (before, _) in found)
    assert min(sum(task == one for task, _ in found) for one in range(3)) >= 28
    assert {task for task, _ in three.map(Task()).set_parallelism(1).execute_and_collect()} == {0}


def test_one_task_of_a_sink(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    numbers(env, 100).add_sink(Counts(tmp_path / "log")).set_parallelism(1)
    encoder = Encoder.simple_string_encoder()
    files = FileSink.for_row_format(str(tmp_path / "out"), encoder).build()
    numbers(env, 100).map(str, Types.STRING()).sink_to(files).set_parallelism(1)
    env.execute()
    assert calls(tmp_path / "log") == ["100"]
    (part,) = (tmp_path / "out").rglob("*.txt")
    assert sorted(part.read_text().split(), key=int) == [str(one) for one in range(100)]


def test_the_tasks_of_an_operator_with_keys(env: StreamExecutionEnvironment) -> None:
    """Each operator has its own, those of the environment without."""
    keyed = numbers(env, 200).key_by(lambda value: value % 50, Types.LONG())

    def tasks(stream: DataStream) -> tuple[set[int], set[int]]:
        found = list(stream.execute_and_collect())
        assert len(found) == 200
        return {task for task, _ in found}, {number for _, number in found}

    assert tasks(keyed.process(KeyedTask()).set_parallelism(1)) == ({0}, {1})
    assert tasks(keyed.process(KeyedTask()).set_parallelism(4)) == ({0, 1, 2, 3}, {4})
    one = keyed.map(lambda value: value, Types.LONG()).set_parallelism(1)
    again = one.key_by(lambda value: value, Types.LONG()).process(KeyedTask())
    assert tasks(again) == ({0, 1}, {2})


def test_more_tasks_than_key_groups(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([("a", 1)], NAMED).key_by(lambda pair: pair[0])
    with pytest.raises(IllegalArgumentError, match="3 tasks and 2 key groups"):
        keyed.sum(1).set_max_parallelism(2).set_parallelism(3)


def sale_of(line: str) -> tuple[int, str, int]:
    at, name, price = line.split()
    return int(at), name, int(price)


def test_elements_of_micro_batches_are_dealt(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """Watermarks pass, and state is found, whatever the tasks of each operator."""
    into, out = tmp_path / "in", tmp_path / "out"
    into.mkdir()
    (into / "first.txt").write_text("1 a 1\n2 b 2\n3 a 4\n100 a 8\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(into))
    watched = source.monitor_continuously(Duration.of_millis(100)).build()
    lines = streaming.from_source(watched, WatermarkStrategy.no_watermarks(), "lines")
    sales = lines.map(sale_of, SALE).set_parallelism(3).assign_timestamps_and_watermarks(MONOTONOUS)
    parts = sales.partition_custom(ByRest(), lambda sale: sale[2])
    windows = parts.key_by(lambda sale: sale[1], Types.STRING()).window(
        TumblingEventTimeWindows.of(Time.milliseconds(5))
    )
    sums = windows.reduce(lambda a, b: (a[0], a[1], a[2] + b[2])).set_parallelism(3)
    texts = sums.map(lambda sale: f"{sale[1]} {sale[2]}", Types.STRING()).set_parallelism(1)
    encoder = Encoder.simple_string_encoder()
    texts.sink_to(FileSink.for_row_format(str(out), encoder).build())

    def written() -> list[str]:
        done = [batch for batch in out.glob("*") if (batch / "_SUCCESS").exists()]
        parts = [part for batch in done for part in batch.glob("*.txt")]
        return sorted(line for part in parts for line in part.read_text().splitlines())

    client = streaming.execute_async("places")
    try:
        until(lambda: written() == ["a 5", "b 2"], seconds=120)
        (into / "second.txt").write_text("101 a 16\n101 b 32\n200 b 1\n")
        until(lambda: written() == ["a 24", "a 5", "b 2", "b 32"], seconds=120)
    finally:
        client.cancel().result()
