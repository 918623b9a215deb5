"""Functions of tables that the tests of this folder give to Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flinkish.table import AggregateFunction, DataTypes, TableAggregateFunction
from flinkish.table.udf import udaf, udf, udtaf, udtf


class Total(AggregateFunction):
    """The sum of the values that are there."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0] or 0

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


class Span(Total):
    """The least and the greatest value."""

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def get_value(self, accumulator: list[int]) -> Any:
        return min(accumulator[1:]), max(accumulator[1:])


class TopTwo(TableAggregateFunction):
    """The two greatest values."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: list[int]) -> list[int]:
        return sorted(accumulator, reverse=True)[:2]


def letters(text: str | None) -> Iterator[str]:
    yield from text or ""


label = udf(lambda number, text: f"{number}-{text}", result_type="STRING")
wrong = udf(lambda number: f"{number}", result_type="BIGINT")
double = udf(lambda series: 2 * series, result_type="BIGINT", func_type="pandas")
mean = udaf(lambda series: series.mean(), result_type="DOUBLE", func_type="pandas")
nothing = udf(lambda: 7, result_type="BIGINT", deterministic=False)
pair = udf(lambda row: (row.n + 1, row.w), result_type="ROW<m BIGINT, w STRING>")
split = udtf(letters, result_types=["STRING"])
span = udaf(Span(), result_type="ROW<a BIGINT, b BIGINT>")
total = udaf(Total(), result_type=DataTypes.BIGINT())
top_two = udtaf(TopTwo(), result_type=DataTypes.BIGINT())
