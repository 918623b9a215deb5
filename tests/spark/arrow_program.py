"""Operators of each way in which rows go to Python, over columns of many types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.datastream import KeyedCoProcessFunction, KeyedProcessFunction, ProcessFunction
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.functions import Count, Max
from flinkish.spark import DataStream, StateSettings
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.support import GROUPS, timed

SCHEMA = (
    "key string, n bigint, ts timestamp, text string, raw binary, price decimal(9,2), day date, "
    "tags array<string>, pairs map<string, binary>, "
    "parts struct<name: string, list: array<struct<t: string, at: timestamp>>>"
)
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
SEEN = f"key string, seen bigint, last string, {SCHEMA.split(', ', 3)[3]}"


def row(n: int) -> tuple[Any, ...]:
    at = BEGIN + timedelta(seconds=n)
    word = "größer" * (n % 4)
    return (
        *(("ä", "b", "")[n % 3], n, at, word, word.encode(), Decimal(n) / 4, date(2026, 1, 1)),
        *([word, None, "x"][: n % 4], {"k": word.encode(), f"{n}": b""}),
        (word, [(word, at), (None, None)][: n % 3]),
    )


ROWS = [row(n) for n in range(40)]


class Last(KeyedProcessFunction):
    """The columns as they came, with the text of the row before and the number of rows."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        yield (ctx.get_current_key(), seen, self.last.value(), *tuple(value)[3:])
        self.seen.update(seen)
        self.last.update(value.text)


class LastOfBoth(KeyedCoProcessFunction):
    """As `Last`, for the rows of either input."""

    def open(self, runtime_context: Any) -> None:
        self.last = Last()
        self.last.open(runtime_context)

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.last.process_element(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.last.process_element(value, ctx)


class Same(ProcessFunction):
    """The columns as they came."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield tuple(value)


async def same(value: Any) -> Any:
    """The columns as they came."""
    return [tuple(value)]


def last(frame: DataFrame, state: StateSettings | None = None) -> Any:
    """A keyed operator."""
    keyed = timed(frame).key_by("key")
    return keyed.process(Last(), schema=SEEN, max_parallelism=GROUPS, **_given(state))


def last_by_function(frame: DataFrame, state: StateSettings | None = None) -> Any:
    """A keyed operator whose key is not a column."""
    keyed = timed(frame).key_by(lambda value: value.key, Types.STRING())
    return keyed.process(Last(), schema=SEEN, max_parallelism=GROUPS, **_given(state))


def last_of_both(frame: DataFrame, state: StateSettings | None = None) -> Any:
    """A keyed operator of two inputs."""
    both = timed(frame).key_by("key").connect(timed(frame).key_by("key"))
    return both.process(LastOfBoth(), schema=SEEN, max_parallelism=GROUPS, **_given(state))


def columns(frame: DataFrame, state: StateSettings | None = None) -> Any:
    """Windows by columns."""
    keyed = timed(frame).key_by("key", "text")
    windows = keyed.window(
        TumblingEventTimeWindows.of(5_000), max_parallelism=GROUPS, **_given(state)
    )
    return windows.aggregate([Count(), Max("price")])


KEYED = (last, last_by_function, last_of_both, columns)


def _given(state: StateSettings | None) -> dict[str, StateSettings]:
    return {} if state is None else {"state": state}


def answers(spark: SparkSession) -> list[list[tuple[Any, ...]]]:
    """What all operators give of a batch DataFrame."""
    frame = spark.createDataFrame(ROWS, SCHEMA)
    made = [operator(frame).to_df() for operator in KEYED]
    made += [
        fs.async_map(frame, same, SCHEMA),
        fs.run_task(frame, Same(), SCHEMA),
        DataStream(frame).map(tuple, schema=SCHEMA).to_df(),
    ]
    return [sorted((tuple(row) for row in one.collect()), key=repr) for one in made]
