"""Tables that tests begin with, and their rows."""

from __future__ import annotations

from typing import Any

from flinkish.common import Row, Types
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.table import StreamTableEnvironment, TableResult
from tests.spark.programs.functions import Numbers

WORDS = [("a", 1), ("b", 2), ("a", 3)]
WORD = Types.ROW_NAMED(["w", "n"], [Types.STRING(), Types.INT()])
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def words(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([Row(w=w, n=n) for w, n in WORDS], WORD)


def with_words(t_env: StreamTableEnvironment, env: StreamExecutionEnvironment) -> DataStream:
    """The view V of the words."""
    stream = words(env)
    t_env.create_temporary_view("V", stream)
    return stream


def with_numbers(t_env: StreamTableEnvironment, env: StreamExecutionEnvironment) -> None:
    """The view N of an unbounded source: a key of three, and the numbers from 0 to 29."""
    numbers = env.add_source(Numbers(30), "numbers", PAIR)
    t_env.create_temporary_view("N", t_env.from_data_stream(numbers).alias("k", "n"))


def rows(result: TableResult) -> list[tuple[Any, ...]]:
    """The rows of a result, sorted by their texts."""
    return sorted((tuple(row) for row in result.collect()), key=str)
