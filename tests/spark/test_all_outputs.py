"""All outputs of one run, as one DataFrame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.functions import KeyedProcessFunction, ProcessFunction
from flinkish.functions.aggregates import Count
from flinkish.spark import ProcessedStream, StateSettings
from flinkish.state import ValueStateDescriptor
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.support import GROUPS, Source, iso, timed

SCHEMA = "key string, n bigint, ts timestamp"
OUT = "key string, count bigint"
ODD = OutputTag("odd.ones", Types.ROW_NAMED(["n"], [Types.LONG()]))
LATE = OutputTag("late", "key string, n bigint, ts timestamp")
NEVER = OutputTag("never", "n bigint")


class Counts(KeyedProcessFunction):
    """Counts elements, and puts odd ones aside."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value.key, self.count.value()
        if value.n % 2:
            yield ODD, (value.n,)


class Split(ProcessFunction):
    """Even numbers, and odd ones aside."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield (ODD, (value.n,)) if value.n % 2 else (value.key, value.n)


def counts(frame: DataFrame, **options: Any) -> ProcessedStream:
    return timed(frame).key_by("key").process(Counts(), schema=OUT, **options)


def frame_of(spark: SparkSession) -> DataFrame:
    rows = [(f"k{n % 3}", n, n) for n in range(12)]
    found = spark.createDataFrame(rows, "key string, n bigint, ms bigint")
    return found.selectExpr("key", "n", "timestamp_millis(ms) as ts")


def split(rows: list[Row]) -> tuple[Counter[Any], Counter[Any]]:
    """The main output and the odd ones; each row is of one of them."""
    assert all((row.main is None) != (row["odd.ones"] is None) for row in rows)
    main = Counter(tuple(row.main) for row in rows if row.main is not None)
    return main, Counter(row["odd.ones"].n for row in rows if row.main is None)


WANTED = (
    Counter((f"k{n}", count) for n in range(3) for count in range(1, 5)),
    Counter(range(1, 12, 2)),
)


def test_of_a_batch(spark: SparkSession) -> None:
    found = counts(frame_of(spark)).all_outputs(ODD, NEVER)
    assert found.columns == ["main", "odd.ones", "never"]
    assert found.schema["main"].dataType.simpleString() == "struct<key:string,count:bigint>"
    rows = found.collect()
    assert split(rows) == WANTED
    assert {row.never for row in rows} == {None}


@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_of_a_stream(spark: SparkSession, tmp_path: Path, backend: Any) -> None:
    """They come from one run, whose state has each element once."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    for part in range(3):
        some = range(part * 4, part * 4 + 4)
        source.add([{"key": f"k{n % 3}", "n": n, "ts": iso(n)} for n in some])
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)
    stream = counts(source.stream(), max_parallelism=GROUPS, state=state)
    writer = stream.all_outputs(ODD).writeStream.format("memory").queryName(f"all_{backend}")
    query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    started = query.start()
    started.awaitTermination()
    assert split(spark.table(f"all_{backend}").collect()) == WANTED
    assert stream.statistics(started)["rows"] == 12


def test_of_windows_with_late_rows(spark: SparkSession) -> None:
    windows = timed(frame_of(spark)).key_by("key").window(TumblingEventTimeWindows.of(6))
    found = windows.side_output_late_data(LATE).aggregate(Count()).all_outputs(LATE)
    rows = found.select("main.key", "main.count", "late").collect()
    assert sorted((row.key, row["count"]) for row in rows) == sorted(
        (f"k{n}", 2) for n in range(3) for _ in range(2)
    )
    assert {row.late for row in rows} == {None}


def test_of_a_task(spark: SparkSession) -> None:
    results = fs.run_task(frame_of(spark), Split(), "key string, n bigint", side_outputs=[ODD])
    rows = results.all_outputs(ODD).collect()
    main, odd = split(rows)
    assert (sorted(n for _, n in main), odd) == (list(range(0, 12, 2)), Counter(range(1, 12, 2)))
    assert [row.main.n for row in results.all_outputs().collect()] == list(range(0, 12, 2))
    with pytest.raises(IllegalArgumentError, match="none of them"):
        results.all_outputs(LATE)


async def even(row: Any) -> list[Any]:
    """The number of an even row."""
    if row.n % 2:
        raise ValueError("odd")
    return [(row.n,)]


def test_of_calls(spark: SparkSession) -> None:
    """Those that failed are a side output, without a second call."""
    failed = OutputTag("failed")
    rows = (
        fs.async_map(frame_of(spark), even, "n bigint", on_error=failed)
        .all_outputs(failed)
        .collect()
    )
    assert sorted(row.main.n for row in rows if row.main) == list(range(0, 12, 2))
    assert sorted(row.failed.n for row in rows if row.failed) == list(range(1, 12, 2))
    assert all((row.main is None) != (row.failed is None) for row in rows)


def test_names_that_spark_does_not_tell_apart(spark: SparkSession) -> None:
    stream = counts(frame_of(spark))
    for tags in (
        [OutputTag("Main", "n bigint")],
        [ODD, OutputTag("Odd.Ones", "n bigint")],
        [ODD, ODD],
    ):
        with pytest.raises(IllegalArgumentError, match="two of the outputs"):
            stream.all_outputs(*tags)
    with pytest.raises(ArgumentTypeError, match="named by its OutputTag, not by 'odd'"):
        stream.all_outputs("odd")  # type: ignore[arg-type]


def test_elements_of_no_declared_type(spark: SparkSession) -> None:
    undeclared = timed(frame_of(spark)).key_by("key").process(Counts())
    with pytest.raises(UnsupportedOperationError, match="no type was declared"):
        undeclared.all_outputs(ODD)
