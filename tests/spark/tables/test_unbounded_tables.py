"""SQL over unbounded sources: exact on each micro-batch, or refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common import Configuration, Row, Time, Types, WatermarkStrategy
from flinkish.common.errors import (
    IllegalStateError,
    JobCancellationError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.common.watermark_strategy import TimestampAssigner
from flinkish.datastream import (
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from flinkish.datastream.state import ListStateDescriptor
from flinkish.datastream.window import TumblingEventTimeWindows
from flinkish.environment import CloseableIterator
from flinkish.table import EnvironmentSettings, StreamTableEnvironment
from tests.spark.programs.functions import Numbers, first
from tests.spark.tables.given import PAIR, with_numbers, with_words, words
from tests.waiting import until

Environment = StreamExecutionEnvironment
Tables = StreamTableEnvironment
LONGEST_S = 120
EXACT = [
    ("SELECT k, n * 10 AS m FROM N WHERE n % 2 = 0", 15),
    ("SELECT n, d FROM N LATERAL VIEW explode(array(n, -n)) AS d", 60),
    ("SELECT n FROM N WHERE n < 5 UNION ALL SELECT -n FROM N WHERE n > 25", 9),
    ("SELECT n, name FROM N JOIN keys_of_spark s ON N.k = s.k", 20),
    ("SELECT n, name FROM N LEFT JOIN keys_of_spark s ON N.k = s.k", 30),
    ("SELECT n FROM N LEFT ANTI JOIN keys_of_spark s ON N.k = s.k", 10),
    ("SELECT n, (SELECT count(*) FROM keys_of_spark) AS c FROM N", 30),
]
REFUSED = [
    ("SELECT k, sum(n) FROM N GROUP BY k", "GROUP BY, DISTINCT"),
    ("SELECT count(*) FROM N", "aggregate function"),
    ("SELECT DISTINCT k FROM N", "DISTINCT"),
    ("SELECT k FROM N UNION SELECT k FROM N", "UNION without ALL"),
    ("SELECT x.n FROM N x JOIN N y ON x.n = y.n", r"join \(Inner\) of rows of streams on both"),
    ("SELECT n FROM N WHERE n IN (SELECT n + 1 FROM N)", r"join \(LeftSemi\) of rows of streams"),
    ("SELECT name FROM keys_of_spark s LEFT JOIN N ON N.k = s.k", r"a join \(LeftOuter\)"),
    ("SELECT n FROM N ORDER BY n", "ORDER BY"),
    ("SELECT n FROM N LIMIT 3", "LIMIT or OFFSET"),
    ("SELECT n FROM N ORDER BY n LIMIT 3", "ORDER BY with LIMIT"),
    ("SELECT n, sum(n) OVER (PARTITION BY k ORDER BY n) FROM N", "OVER a window"),
    ("SELECT n, (SELECT max(n) FROM N) FROM N", "a subquery that gives one value"),
    ("SELECT name FROM keys_of_spark WHERE 5 > (SELECT max(n) FROM N)", "a subquery"),
    ("SELECT n FROM N UNION ALL SELECT 1", "rows of no stream"),
    ("SELECT n FROM N TABLESAMPLE (50 PERCENT)", "TABLESAMPLE"),
    ("SELECT N.n FROM N JOIN V ON N.n = V.n", "on both sides"),
]


class Number(TimestampAssigner):
    """The number of a row is its time."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.n)


BY_NUMBER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())


class Later(KeyedProcessFunction):
    """Gives the number of each row two seconds later."""

    def open(self, runtime_context: Any) -> None:
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.rows.add(value.n)
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 2000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int]]:
        for number in self.rows.get():
            yield "late", number
        self.rows.clear()


@pytest.fixture
def unbounded(
    spark: SparkSession, t_streaming: Tables, streaming: Environment
) -> Iterator[StreamTableEnvironment]:
    """The view N, a view V of bounded words, and a table of Spark's."""
    with_numbers(t_streaming, streaming)
    with_words(t_streaming, streaming)
    names = spark.createDataFrame([("k0", "zero"), ("k1", "one")], "k string, name string")
    names.createOrReplaceTempView("keys_of_spark")
    yield t_streaming
    spark.catalog.dropTempView("keys_of_spark")


@pytest.mark.parametrize(("query", "words"), REFUSED)
def test_queries_that_need_all_rows_are_refused(unbounded: Tables, query: str, words: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=words) as error:
        unbounded.sql_query(query)
    assert "key_by(...) with window(...)" in str(error.value)


@pytest.mark.parametrize(("query", "count"), EXACT)
def test_queries_of_single_rows_are_exact(unbounded: Tables, query: str, count: int) -> None:
    """In whatever micro-batches rows come, the result has each once."""
    with unbounded.execute_sql(query).collect() as found:
        have = list(islice(found, count))
    assert len(have) == count
    assert len({tuple(row) for row in have}) == count - (query.count("-n)"))


def test_sql_between_operators_with_state(
    unbounded: Tables, streaming: Environment, tmp_path: Path
) -> None:
    """A job over several micro-batches, stopped and gone on with: each row once."""
    checkpoints = str(tmp_path / "checkpoints")

    def sums(env: Environment, tables: Tables, stop_at: int) -> Any:
        numbers = env.add_source(Numbers(stop_at), "numbers", PAIR)
        counted = numbers.key_by(first).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
        tables.create_temporary_view("S", tables.from_data_stream(counted).alias("k", "s"))
        query = "SELECT /*+ COALESCE(1) */ k, s FROM S WHERE s % 2 = 0"
        even = tables.to_data_stream(tables.sql_query(query))
        tables.execute_sql(
            "CREATE TABLE files (k STRING, c BIGINT, s BIGINT) WITH ('connector' = 'filesystem', "
            f"'path' = '{tmp_path}/out', 'format' = 'json')"
        )
        kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
        ones = even.map(lambda row: (row.k, 1, row.s), kind)
        kept = ones.key_by(first).reduce(lambda a, b: (a[0], a[1] + 1, b[2])).uid("counts")
        env.get_checkpoint_config().set_checkpoint_storage_dir(checkpoints)
        return tables.from_data_stream(kept).execute_insert("files")

    def written() -> list[dict[str, Any]]:
        files = [one for one in tmp_path.glob("out/*/*.json") if (one.parent / "_SUCCESS").exists()]
        return [json.loads(line) for one in files for line in one.read_text().splitlines()]

    def expected(stop_at: int) -> list[tuple[str, int, int]]:
        totals, counts, found = [0, 0, 0], [0, 0, 0], []
        for number in range(stop_at):
            key = number % 3
            totals[key] += number
            if totals[key] % 2 == 0:
                counts[key] += 1
                found.append((f"k{key}", counts[key], totals[key]))
        return sorted(found)

    result = sums(streaming, unbounded, 30)
    until(lambda: len(written()) == len(expected(30)), seconds=LONGEST_S)
    savepoint = result.get_job_client().stop_with_savepoint(False).result()
    again = Environment.get_execution_environment(
        Configuration().set_string("execution.savepoint.path", savepoint)
    ).set_parallelism(2)
    result = sums(again, StreamTableEnvironment.create(again), 60)
    until(lambda: len(written()) == len(expected(60)), seconds=LONGEST_S)
    result.get_job_client().cancel().result()
    assert sorted((one["k"], one["c"], one["s"]) for one in written()) == expected(60)


def test_bounded_tables_beside_unbounded_ones_come_once(unbounded: Tables) -> None:
    """A sum over bounded rows is one row, not one for each micro-batch."""
    both = unbounded.sql_query("SELECT sum(n) AS s FROM V")
    changes = unbounded.to_changelog_stream(both)
    numbers = unbounded.to_data_stream(unbounded.sql_query("SELECT n FROM N"))
    united = changes.map(lambda row: -row.s, Types.LONG()).union(
        numbers.map(lambda row: row.n, Types.LONG())
    )
    with united.execute_and_collect() as found:
        assert sorted(islice(found, 31)) == [-6, *range(30)]
        later: list[int] = []
        threading.Timer(4, found.close).start()  # there is a micro-batch a second
        with pytest.raises(JobCancellationError):
            later.extend(found)
    assert later == []


def test_the_watermark_of_a_bounded_table_holds_nothing_up(
    unbounded: Tables, streaming: Environment
) -> None:
    """Its rows are all there in the first micro-batch, as those of a bounded source are."""
    few = unbounded.to_data_stream(
        unbounded.sql_query("SELECT w AS k, CAST(n AS BIGINT) AS n FROM V")
    )
    many = unbounded.to_data_stream(unbounded.sql_query("SELECT k, n FROM N"))
    timed = [one.assign_timestamps_and_watermarks(BY_NUMBER) for one in (few, many)]
    windows = timed[0].union(timed[1]).key_by(lambda row: row.k, Types.STRING())
    sums = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    made = sums.reduce(lambda a, b: Row(k=a.k, n=a.n + b.n), output_type=kind)
    with made.execute_and_collect() as found:
        rows = sorted((row.k, row.n) for row in islice(found, 8))
    assert rows[:2] == [("a", 4), ("b", 2)]
    assert rows[2:] == [("k0", 18), ("k0", 45), ("k1", 12), ("k1", 58), ("k2", 15), ("k2", 42)]


def test_timers_of_bounded_rows_in_an_unbounded_job(
    unbounded: Tables, streaming: Environment
) -> None:
    """They may come in any micro-batch: rows of one row each pass, sums are refused."""
    kept = words(streaming).key_by(lambda row: row.w, Types.STRING()).process(Later(), PAIR)
    later = unbounded.from_data_stream(kept)
    numbers = unbounded.to_data_stream(unbounded.sql_query("SELECT n FROM N"))
    ones = numbers.map(lambda row: ("n", row.n), PAIR)

    def united(query: str) -> CloseableIterator:
        changes = unbounded.to_changelog_stream(unbounded.sql_query(query))
        found = changes.map(lambda row: ("late", row[0]), PAIR).union(ones).execute_and_collect()
        assert isinstance(found, CloseableIterator)
        return found

    with united(f"SELECT f1 + 1 FROM {later}") as found:
        assert sorted(islice(found, 33))[:3] == [("late", 2), ("late", 3), ("late", 4)]
    with (
        united(f"SELECT sum(f1) FROM {later}") as found,
        pytest.raises(JobExecutionError, match="after Keyed Process rows may come"),
    ):
        list(found)


def test_a_table_without_end_has_no_pandas(unbounded: Tables) -> None:
    with pytest.raises(IllegalStateError, match="do not end"):
        unbounded.from_path("N").to_pandas()


def test_batch_mode_refuses_unbounded_sources(streaming: Environment) -> None:
    t_env = StreamTableEnvironment.create(streaming, EnvironmentSettings.in_batch_mode())
    with_numbers(t_env, streaming)
    with pytest.raises(IllegalStateError, match="unbounded, and the mode is BATCH"):
        t_env.execute_sql("SELECT n FROM N")


def test_automatic_mode_is_that_of_the_sources(streaming: Environment) -> None:
    streaming.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    t_env = StreamTableEnvironment.create(streaming)
    with_words(t_env, streaming)
    grouped = t_env.sql_query("SELECT w, sum(n) AS s FROM V GROUP BY w")
    found = sorted(t_env.to_data_stream(grouped).execute_and_collect(), key=str)
    assert found == [Row(w="a", s=4), Row(w="b", s=2)]
