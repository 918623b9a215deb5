"""Rows that travel to the partitions of an operator as they are, through Java code of ours."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flinkish.spark.channels import Channel
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, keys_of
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.strategies import ByColumns
from flinkish.spark.mapped_frame import Batches, MappedFrame
from flinkish.spark.real_time.partitioned import HIGHEST, TASK, can_travel, partitioned, task_of
from tests.spark.fake_spark import plan as fake_plan
from tests.spark.parts.live_task import Counts

PARTITIONS = 3
GROUPS = 64
AT = "__partition"

KEYS = {
    "boolean": "n % 2 = 0",
    "tinyint": "n - 64",
    "smallint": "-n * 100",
    "int": "-n * 1000003",
    "bigint": "(n - 64) * 3000000019",
    "float": "if(n % 5 = 0, float('-0.0'), if(n % 5 = 1, float('NaN'), n / 7))",
    "double": "if(n % 5 = 0, double('-0.0'), if(n % 5 = 1, double('NaN'), -n / 7))",
    "string": "concat('späť 漢 ', char(n), '😀', n)",
    "string collate UNICODE_CI": "concat('aA', n)",
    "binary": "cast(concat('ÿ', n) as binary)",
}


def plan_of(frame: DataFrame, keys: tuple[str, ...], **changes: Any) -> OperatorPlan:
    schema = arrow_schema(frame.schema)
    fields: dict[str, Any] = {
        "schema": schema,
        "key_columns": keys,
        "key_types": (None,) * len(keys),
        "max_parallelism": GROUPS,
        "event_time": None,
        "partitions": PARTITIONS,
    }
    return fake_plan(Counts(), schema, Path("tables"), **(fields | changes))


def placed(plan: OperatorPlan, frame: DataFrame) -> dict[int, pa.RecordBatch]:
    """Rows and marks by the partition that they came to, in their order."""

    def number(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            here = pa.array([context.partitionId()] * batch.num_rows, pa.int32())
            yield batch.append_column(AT, here)

    found = partitioned(plan, frame)
    rows = found.mapInArrow(number, found.withColumn(AT, F.lit(0)).schema).toArrow()
    batch = rows.combine_chunks().to_batches()[0]
    places = batch.column(AT).to_numpy()
    return {one: batch.filter(pa.array(places == one)) for one in range(PARTITIONS)}


def rows_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pa.array(batch.column(TASK).to_numpy() >= 0))


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KEYS), tuple(KEYS), ("int", "string")])
def test_the_partition_is_that_of_the_key_group(
    spark: SparkSession, kinds: tuple[str, ...]
) -> None:
    """B.20, B.21."""
    keys = {f"k{at}": f"cast({KEYS[kind]} as {kind})" for at, kind in enumerate(kinds)}
    numbers = spark.range(1, 120, numPartitions=2).withColumnRenamed("id", "n")
    frame = numbers.selectExpr("n", *(f"{text} as {name}" for name, text in keys.items()))
    plan = plan_of(frame, tuple(keys))
    assert can_travel(plan, MappedFrame(frame))
    seen = set()
    for place, batch in placed(plan, frame).items():
        rows = rows_of(batch)
        _, groups = keys_of(plan, rows)
        assert set((groups % PARTITIONS).tolist()) <= {place}
        seen |= set(rows.column("n").to_pylist())
    assert seen == set(range(1, 120))


def test_rows_without_a_key_come_too(spark: SparkSession) -> None:
    frame = spark.sql("select n, if(n < 3, null, string(n)) k from values 1, 2, 3, 4 as t(n)")
    plan = plan_of(frame, ("k",))
    found = pa.concat_batches([rows_of(one) for one in placed(plan, frame).values()])
    _, groups = keys_of(plan, found)
    lost = found.filter(pa.array(groups == NULL_KEY_GROUP))
    assert sorted(lost.column("n").to_pylist()) == [1, 2]
    assert found.num_rows == 4


TIMES = {
    "timestamp": "timestamp_micros(t * 1000 + 999)",
    "bigint": "t",
}


@pytest.mark.parametrize("kind", TIMES)
def test_every_partition_knows_how_far_each_task_has_come(spark: SparkSession, kind: str) -> None:
    ids = spark.range(0, 400, numPartitions=2)
    numbers = ids.selectExpr("id as n", "(id * 7) % 401 - 200 as t")
    at = f"if(n % 11 = 0, null, {TIMES[kind]}) as at"
    frame = numbers.selectExpr("n", "string(n % 5) as k", at)
    plan = plan_of(frame, ("k",), event_time="at", channels=(Channel(0),))
    assert can_travel(plan, MappedFrame(frame))
    highest = [
        max((n * 7) % 401 - 200 for n in part if n % 11) for part in (range(200), range(200, 400))
    ]
    for batch in placed(plan, frame).values():
        told: dict[int, list[int | None]] = defaultdict(list)
        numbers, times = batch.column(TASK).to_pylist(), batch.column(HIGHEST).to_pylist()
        for number, time in zip(numbers, times, strict=True):
            task, tasks = task_of(number)
            told[task].append(time)
            assert tasks == 2
        assert {task: all_[0] for task, all_ in told.items()} == {0: None, 1: None}
        for task, known in told.items():
            after = [one for one in known if one is not None]
            assert after == sorted(after), "a task's time does not fall"
            assert after[-1] == highest[task]
        own = zip(batch.column("n").to_pylist(), numbers, times, strict=True)
        for n, number, time in own:
            if number >= 0 and n % 11:
                assert time is not None
                assert time >= (n * 7) % 401 - 200, "a row's own time counts with it"


@pytest.mark.parametrize("idle_ms", [None, 1000])
def test_a_source_is_active_while_it_has_rows(spark: SparkSession, idle_ms: int | None) -> None:
    """WatermarksWithIdleness counts events, whether they move the watermark or not."""
    frame = spark.range(5).coalesce(1).selectExpr("'a' as k", "5L as at")
    changes: Any = {"event_time": "at", "channels": (Channel(0, idle_ms=idle_ms),)}
    for batch in placed(plan_of(frame, ("k",), **changes), frame).values():
        if rows_of(batch).num_rows:
            assert (batch.column(TASK)[-1].as_py() < 0) == (idle_ms is not None)
            assert batch.column(HIGHEST)[-1].as_py() == 5


def test_the_event_time_need_not_be_an_element_s(spark: SparkSession) -> None:
    ids = spark.range(10)
    frame = ids.selectExpr("id as n", "string(id % 3) as k", "timestamp_millis(id) as at")
    plan = plan_of(frame.drop("at"), ("k",), event_time="at", channels=(Channel(0),))
    assert "at" in partitioned(plan, frame).columns
    assert "other" not in partitioned(plan, frame.withColumn("other", F.lit(1))).columns


def test_what_needs_python_does_not_travel(spark: SparkSession) -> None:
    frame = spark.sql("select 'a' k, 1 n, timestamp_ntz'2020-01-01' at, date'2020-01-01' d")
    rows = MappedFrame(frame)
    assert can_travel(plan_of(frame, ("k",)), rows)
    others = [
        plan_of(frame, ("k",), marked=True),
        plan_of(frame, ("d",)),
        plan_of(frame, ("k", "d")),
        plan_of(frame, ("k",), event_time="at"),
        plan_of(frame, ("k",), event_time="d"),
        plan_of(frame, ("n",), key_types=("int|long",)),
        plan_of(frame, (), key_types=(), key_selector=lambda row: row.k),
        plan_of(frame, ("k",), strategy=ByColumns()),
    ]
    assert not any(can_travel(plan, rows) for plan in others)
    assert not can_travel(plan_of(frame, ("k",)), rows.map(lambda batches: batches, frame.schema))
