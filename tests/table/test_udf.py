"""Functions of tables: how they are made, and called row by row without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import Row, Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.metrics import MetricGroup
from flinkish.table import AggregateFunction, DataTypes, ListView, MapView, ScalarFunction
from flinkish.table.expressions import call, col
from flinkish.table.function_calls import GroupCalls, ListCalls, RowCalls
from flinkish.table.udf import (
    AsyncScalarFunction,
    FunctionContext,
    TableFunction,
    functions_in,
    udaf,
    udf,
    udtf,
)

LIFE: list[str] = []


class Plus(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        LIFE.append("open")
        self.more = int(function_context.get_job_parameter("more", "1"))

    def close(self) -> None:
        LIFE.append("close")

    def eval(self, value: int) -> int:
        return value + self.more


class Later(AsyncScalarFunction):
    async def eval(self, value: int) -> int:
        return -value


class Words(TableFunction):
    def eval(self, text: str) -> Iterator[Any]:
        for word in text.split():
            yield word, len(word)


class Total(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0] or 0

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


def test_a_function_becomes_an_expression() -> None:
    double = udf(lambda n: 2 * n, result_type=DataTypes.BIGINT())
    made = double(col("a"))
    assert str(made) == f"{double.name}(`a`)"
    assert str(call(double, col("a"))) == str(made)
    assert functions_in(f"SELECT {made} FROM t, flinkish_function_") == [double]


def test_makers_are_decorators() -> None:
    @udf(result_type="STRING")
    def shout(text: str) -> str:
        return text.upper()

    assert (shout.title, shout.kind, shout.form) == ("shout", Types.STRING(), "SCALAR")
    assert udf(Plus, result_type="INT").function.__class__ is Plus


def test_columns_of_functions_of_tables_have_names() -> None:
    assert udtf(Words(), result_types=["STRING", "INT"]).row_names == ["f0", "f1"]
    assert udtf(Words(), result_types="ROW<w STRING, n INT>").row_names == ["w", "n"]
    assert udtf(lambda text: text, result_types="STRING").kind == RowTypeInfo(
        [Types.STRING()], ["f0"]
    )


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: udf(lambda n: n), IllegalArgumentError, "needs the type of its results"),
        (lambda: udf(3, result_type="INT"), ArgumentTypeError, "ScalarFunction or Async"),
        (lambda: udf(Words(), result_type="INT"), ArgumentTypeError, "is needed, not"),
        (lambda: udaf(lambda n: n, result_type="INT"), ArgumentTypeError, "a AggregateFunction"),
        (
            lambda: udf(lambda n: n, result_type="INT", func_type="arrow"),
            IllegalArgumentError,
            "'general' or 'pandas'",
        ),
        (lambda: udaf(Total()), IllegalArgumentError, "Total needs a result_type"),
    ],
)
def test_functions_that_make_no_sense(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_function_opens_once_and_closes_with_the_worker() -> None:
    LIFE.clear()
    calls = pickle.loads(pickle.dumps(RowCalls(Plus(), "plus", {"more": "5"})))
    assert LIFE == []
    assert calls([(1,), (2,)]) == [6, 7]
    assert calls([(3,)]) == [8]
    assert LIFE == ["open"]
    del calls
    assert LIFE == ["open", "close"]


def test_rows_of_a_batch_are_under_way_together() -> None:
    assert RowCalls(Later(), "later", {})([(1,), (2,)]) == [-1, -2]


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (Words(), [("a", 1), ("bc", 2)]),
        (lambda text: None, []),
        (lambda text: ("x", 1), [("x", 1)]),
        (lambda text: Row("x", 1), [("x", 1)]),
        (lambda text: [("x", 1), ["y", 2]], [("x", 1), ("y", 2)]),
    ],
)
def test_rows_of_a_function_of_tables(function: Any, rows: list[Any]) -> None:
    assert RowCalls(function, "words", {}, 2)([("a bc",)]) == [rows]


def test_a_value_alone_is_a_row_of_one_column() -> None:
    assert RowCalls(str.split, "split", {}, 1)([("a b",)]) == [[("a",), ("b",)]]
    assert RowCalls(lambda text: text, "same", {}, 1)([("a b",)]) == [[("a b",)]]


def test_groups() -> None:
    assert GroupCalls(Total(), "total", {})([(1,), (2,)]) == [3]
    assert ListCalls(Total(), "total", {})([([(1,), (2,)],), ([],)]) == [3, 0]


def test_a_context_tells_what_it_knows() -> None:
    context = FunctionContext(MetricGroup(), {"a": "1"}, "plus", (2, 1))
    assert context.get_job_parameter("b", "2") == "2"
    assert context.get_task_name_with_subtasks() == "plus (2)"
    assert context.get_attempt_number() == 1


def test_views_are_collections() -> None:
    values: ListView[int] = ListView()
    values.add(1)
    values.add_all([2, 3])
    assert list(values.get()) == [1, 2, 3]
    values.clear()
    assert list(values.get()) == []
    by_key: MapView[str, int] = MapView()
    by_key.put("a", 1)
    by_key.put_all({"b": 2})
    by_key.remove("a")
    assert (list(by_key.items()), by_key.contains("a"), by_key.get("b")) == ([("b", 2)], False, 2)
    by_key.clear()
    assert by_key.is_empty()
