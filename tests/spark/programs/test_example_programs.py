"""Whole programs in the shape of PyFlink's examples, from their sources to their sinks.

Those of single operators are in `test_examples` and `test_example_windows`, those of Kafka in
``tests/spark/long/kafka``.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Encoder, Row, Time, Types, WatermarkStrategy
from flinkish.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    async_retry_predicates,
)
from flinkish.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from flinkish.datastream.window import ContinuousEventTimeTrigger, TumblingEventTimeWindows
from flinkish.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from tests.spark.programs.example_functions import NAMED, SPAN, SaleTime, Spans, gathered
from tests.waiting import until

WORDS = ["river", "stone", "bridge", "boat"]


def to_files(stream: DataStream, folder: Path) -> None:
    names = OutputFileConfig.builder().with_part_prefix("counts").with_part_suffix(".txt").build()
    sink = FileSink.for_row_format(
        base_path=str(folder), encoder=Encoder.simple_string_encoder()
    ).with_output_file_config(names)
    stream.sink_to(sink=sink.with_rolling_policy(RollingPolicy.default_rolling_policy()).build())


def lines_of(folder: Path) -> list[str]:
    """The lines of whole batches."""
    done = [batch for batch in folder.glob("counts-*") if (batch / "_SUCCESS").exists()]
    parts = [part for batch in done for part in batch.glob("*.txt")]
    return sorted(line for part in parts for line in part.read_text().splitlines())


def streams(env: StreamExecutionEnvironment) -> bool:
    return env._mode is RuntimeExecutionMode.STREAMING


def test_word_count_from_files_to_files(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("boat stone\nboat\n")
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "in.txt")
    )
    lines = env.from_source(
        source=source.process_static_file_set().build(),
        watermark_strategy=WatermarkStrategy.for_monotonous_timestamps(),
        source_name="file_source",
    )
    counts = (
        lines.flat_map(lambda line: line.split())
        .map(lambda word: (word, 1), output_type=NAMED)
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    to_files(counts, tmp_path / "out")
    env.execute()
    each = ["(boat,1)", "(boat,2)", "(stone,1)"]
    assert lines_of(tmp_path / "out") == (each if streams(env) else each[1:])


def generated_words(env: StreamExecutionEnvironment, **options: str) -> DataStream:
    """Words whose numbers a table's generator chose."""
    t_env = StreamTableEnvironment.create(stream_execution_environment=env)
    schema = Schema.new_builder().column("word_id", DataTypes.INT()).build()
    descriptor = TableDescriptor.for_connector("datagen").schema(schema)
    given = {"fields.word_id.kind": "random", "fields.word_id.min": "0"}
    given |= {"fields.word_id.max": str(len(WORDS) - 1)} | options
    for name, value in given.items():
        descriptor = descriptor.option(name, value)
    t_env.create_temporary_table("source", descriptor.build())
    rows = t_env.to_data_stream(t_env.from_path("source"))
    return rows.map(lambda row: WORDS[row[0]])


def counts_of(words: DataStream) -> DataStream:
    kind = Types.TUPLE([Types.STRING(), Types.INT()])
    ones = words.map(lambda word: (word, 1), output_type=kind)
    return ones.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


def test_streaming_word_count_of_so_many_rows(env: StreamExecutionEnvironment) -> None:
    given = {"number-of-rows": "50", "rows-per-second": "1000"}
    counts = gathered(counts_of(generated_words(env, **given)))
    highest: dict[str, int] = {}
    for word, count in counts:
        highest[word] = max(count, highest.get(word, 0))
    assert sum(highest.values()) == 50
    assert set(highest) <= set(WORDS)
    assert len(counts) == (50 if streams(env) else len(highest))


def test_streaming_word_count_without_an_end(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """Each word is counted from 1 on, without a gap, over all micro-batches."""
    to_files(counts_of(generated_words(streaming, **{"rows-per-second": "20"})), tmp_path / "out")
    client = streaming.execute_async()
    try:
        until(lambda: len(list((tmp_path / "out").glob("counts-*/_SUCCESS"))) >= 3, seconds=120)
    finally:
        client.cancel().result()
    found: Counter[str] = Counter()
    pairs = [line.strip("()").split(",") for line in lines_of(tmp_path / "out")]
    for word, count in sorted(pairs, key=lambda pair: int(pair[1])):
        found[word] += 1
        assert int(count) == found[word]
    assert found.total() > 0


def test_windows_that_fire_early_too(env: StreamExecutionEnvironment) -> None:
    """The trigger fires every 5 ms of event time, and at the end of the window, with all so far."""
    given = env.from_collection([(at, "a", at) for at in (1, 2, 3, 4, 5, 8, 9, 15)])
    timed = given.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SaleTime())
    )
    windows = timed.key_by(lambda sale: sale[1], key_type=Types.STRING()).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    spans = windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(5)))
    # The watermark goes from the lowest to the highest, so each firing sees the whole window.
    assert gathered(spans.process(Spans(), SPAN)) == [
        *[("a", 0, 10, 7)] * 2,
        ("a", 10, 20, 1),
    ]


class Judge(AsyncFunction[Row, str]):
    """Asks a model, which is busy the first time that a comment comes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._asked: set[int] = set()

    async def async_invoke(self, value: Row) -> list[str]:
        if value.user_id not in self._asked:
            self._asked.add(value.user_id)
            raise TimeoutError
        return [json.dumps({"user_id": value.user_id, "says": "positive"})]

    def timeout(self, value: Row) -> list[str]:
        return [json.dumps({"user_id": value.user_id, "says": None})]


def test_calls_of_a_model_that_are_tried_again(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    t_env = StreamTableEnvironment.create(stream_execution_environment=env)
    schema = Schema.new_builder().column("user_id", DataTypes.INT())
    descriptor = (
        TableDescriptor.for_connector("datagen")
        .schema(schema.column("comments", DataTypes.STRING()).build())
        .option("fields.user_id.kind", "sequence")
        .option("fields.user_id.start", "1")
        .option("fields.user_id.end", "20")
        .option("fields.comments.kind", "random")
        .build()
    )
    t_env.create_temporary_table("source", descriptor)
    again = functools.partial(
        async_retry_predicates.exception_type_predicate, expected_error_type=TimeoutError
    )
    results = AsyncDataStream.unordered_wait_with_retry(
        data_stream=t_env.to_data_stream(t_env.from_path("source")),
        async_function=Judge(),
        timeout=Time.seconds(60),
        async_retry_strategy=AsyncRetryStrategy.fixed_delay(
            max_attempts=100,
            backoff_time_millis=10,
            result_predicate=None,
            exception_predicate=again,
        ),
        capacity=1000,
        output_type=Types.STRING(),
    )
    to_files(results, tmp_path / "out")
    env.execute()
    found = sorted(map(json.loads, lines_of(tmp_path / "out")), key=lambda one: one["user_id"])
    assert found == [{"user_id": number, "says": "positive"} for number in range(1, 21)]


def test_streams_and_tables_mixed(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table to a stream and back; a function of Spark's SQL is in the place of a Python one."""
    t_env = StreamTableEnvironment.create(stream_execution_environment=env)
    source = Schema.new_builder().column("id", DataTypes.BIGINT())
    t_env.create_temporary_table(
        "source",
        TableDescriptor.for_connector("datagen")
        .schema(source.column("data", DataTypes.STRING()).build())
        .option("number-of-rows", "10")
        .option("fields.id.kind", "sequence")
        .option("fields.id.start", "1")
        .option("fields.id.end", "10")
        .option("fields.data.length", "3")
        .build(),
    )
    sink = Schema.new_builder().column("a", DataTypes.BIGINT()).build()
    t_env.create_temporary_table(
        "sink", TableDescriptor.for_connector("print").schema(sink).build()
    )
    table = t_env.sql_query("SELECT id, length(data) FROM source")
    sums: Any = t_env.to_data_stream(table).map(lambda row: row[0] + row[1], Types.LONG())
    back = t_env.from_data_stream(
        sums, Schema.new_builder().column("f0", DataTypes.BIGINT()).build()
    )
    back.execute_insert("sink").wait()
    shown = [line.rpartition("> ")[2] for line in capsys.readouterr().out.splitlines()]
    assert sorted(shown) == sorted(f"+I[{number + 3}]" for number in range(1, 11))
