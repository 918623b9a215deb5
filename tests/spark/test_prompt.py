"""Rows that go to Python as they come: the same rows, in their order, with pads among them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flinkish.spark.mapped_frame import Batches
from flinkish.spark.real_time.arrivals import PAD, rows_of, without_pads
from flinkish.spark.real_time.prompt import as_they_come
from flinkish.spark.real_time_settings import MAX_BATCH_BYTES
from tests.spark.support import raises
from tests.waiting import until

TYPES = {
    "boolean": "true",
    "tinyint": "-128Y",
    "smallint": "32767S",
    "int": "-2147483648",
    "bigint": "9223372036854775807L",
    "float": "float('-0.0')",
    "double": "double('NaN')",
    "decimal(38,10)": "1234567890123456789012345678.0123456789BD",
    "string": "'späť \\u0000 漢'",
    "string collate UNICODE_CI": "'Aa' collate UNICODE_CI",
    "binary": "X'00FF'",
    "date": "date'0001-01-01'",
    "timestamp": "timestamp'0001-01-01 00:00:00.000001'",
    "timestamp_ntz": "timestamp_ntz'9999-12-31 23:59:59.999999'",
    "interval day to second": "interval '-3 04:05:06.000007' day to second",
    "interval year to month": "interval '1-11' year to month",
    "array<string>": "array('a', null, '')",
    "map<string,timestamp>": "map('k', timestamp'1969-12-31 23:59:59.999999')",
    "struct<a:date,b:array<struct<c:decimal(5,2)>>>": (
        "named_struct('a', date'1582-10-04', 'b', array(named_struct('c', 1.25BD)))"
    ),
}


def test_values_of_each_type_are_as_before(spark: SparkSession) -> None:
    columns = [f"`{kind}.b``c`" for kind in TYPES]
    given = ", ".join(f"cast({value} as {kind})" for kind, value in TYPES.items())
    nulls = ", ".join(f"cast(null as {kind})" for kind in TYPES)
    values = f"(1, {given}), (2, {nulls})"
    frame = spark.sql(f"select * from values {values} as t(n, {', '.join(columns)})")
    rows = as_they_come(frame).where(f"{PAD} is null").drop(PAD)
    assert [(one.name, one.dataType) for one in rows.schema] == [
        (one.name, one.dataType) for one in frame.schema
    ]
    texts = [F.col(column).cast("string") for column in columns]
    before, after = (one.orderBy("n").select("n", *texts).collect() for one in (frame, rows))
    assert before == after
    assert None not in before[0]


def test_metadata_of_columns_stays(spark: SparkSession) -> None:
    frame = spark.range(2).select(F.col("id").alias("n", metadata={"unit": "ms"}))
    assert as_they_come(frame).schema["n"].metadata == {"unit": "ms"}


def test_rows_stay_in_order_and_each_push_is_two_pads(spark: SparkSession) -> None:
    frame = spark.range(0, 20_000, numPartitions=1)
    found = as_they_come(frame).collect()
    assert [row["id"] for row in found if row[PAD] is None] == list(range(20_000))
    pads = [len(row[PAD]) for row in found if row[PAD] is not None]
    assert pads[::2] == [MAX_BATCH_BYTES] * (len(pads) // 2)
    assert not any(pads[1::2]), "and an empty one after it"
    assert found[0][PAD] is None
    assert all(after[PAD] == b"" for row, after in pairwise(found) if row[PAD])


def test_rows_without_columns_and_partitions_without_rows(spark: SparkSession) -> None:
    assert as_they_come(spark.range(5).select()).where(f"{PAD} is null").count() == 5
    assert as_they_come(spark.range(0, 0, numPartitions=3)).collect() == []


def test_pads_are_taken_out_in_python(spark: SparkSession) -> None:
    frame = as_they_come(spark.range(1000).repartition(3))
    frame = frame.mapInArrow(without_pads(None), "id bigint")
    assert sorted(row.id for row in frame.collect()) == list(range(1000))


def test_an_error_of_the_rows_is_the_querys(spark: SparkSession) -> None:
    frame = spark.range(10).select(F.raise_error(F.lit("a bad row")).alias("x"))
    with raises(Exception, match="a bad row"):
        as_they_come(frame).collect()


def test_a_row_comes_before_the_next_one_is_there(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """R.7: else Spark's writer keeps it until then."""
    command = [sys.executable, str(Path(__file__).with_name("prompt_program.py")), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-2:] == ["none [1, 2]", "zstd [1, 2]"]


def pumps(spark: SparkSession) -> list[str]:
    jvm: Any = spark._jvm
    threads = jvm.java.lang.Thread.getAllStackTraces().keySet().toArray()
    return [name for one in threads if (name := one.getName()) == "flinkish-pump"]


def test_no_thread_is_left_of_a_task_that_stops_early(spark: SparkSession) -> None:
    frame = as_they_come(spark.range(0, 50_000, numPartitions=2))
    assert len(frame.limit(3).collect()) == 3
    until(lambda: not pumps(spark))

    def fails(batches: Batches) -> Iterator[pa.RecordBatch]:
        next(batches)
        raise ValueError("enough")

    with raises(Exception, match="enough"):
        frame.mapInArrow(fails, "id bigint").collect()
    until(lambda: not pumps(spark))


def test_the_rows_of_a_retried_task_come_once(spark: SparkSession, tmp_path: Path) -> None:
    def once(batches: Batches) -> Batches:
        for batch in batches:
            if not (mark := tmp_path / "failed").exists():
                mark.touch()
                raise ValueError("again")
            yield rows_of(batch)

    frame = as_they_come(spark.range(0, 5000, numPartitions=2))
    rows = frame.mapInArrow(once, "id bigint").collect()
    assert sorted(row.id for row in rows) == list(range(5000))


def test_several_partitions_in_a_task(spark: SparkSession) -> None:
    """Where rows never end, the task would wait for the end of the first one."""
    frame = as_they_come(spark.range(8).repartition(4), 4)
    assert frame.where(f"{PAD} is null").count() == 8
    assert frame.repartition(1).where(f"{PAD} is null").count() == 8
    with pytest.raises(Exception, match=r"4 partitions runs in 3 tasks.*take repartition"):
        frame.coalesce(3).count()
