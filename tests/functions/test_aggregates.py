"""Built-in aggregates as functions of one element after another."""

import math
import pickle
import random
from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.functions.aggregates import (
    Avg,
    BuiltInAggregate,
    BuiltInAggregates,
    Count,
    DistinctCount,
    First,
    Last,
    Max,
    Min,
    Sum,
)


def result(aggregate: BuiltInAggregate, values: list[Any]) -> Any:
    held = aggregate.create_accumulator()
    for value in values:
        held = aggregate.add({"x": value}, held)
    return aggregate.get_result(pickle.loads(pickle.dumps(held)))


@pytest.mark.parametrize(
    ("aggregate", "expected", "of_nothing"),
    [
        (Count(), 5, 2),
        (Count("x"), 4, 0),
        (Sum("x"), 8, None),
        (Avg("x"), 2.0, None),
        (Min("x"), -1, None),
        (Max("x"), 5, None),
        (First("x"), 5, None),
        (Last("x"), 2, None),
        (DistinctCount("x"), 3, 0),
    ],
)
def test_nulls_are_skipped(aggregate: Any, expected: Any, of_nothing: Any) -> None:
    assert result(aggregate, [5, None, -1, 2, 2]) == expected
    assert result(aggregate, [None, None]) == of_nothing


@pytest.mark.parametrize(
    "aggregate",
    [Count(), Sum("x"), Avg("x"), Min("x"), Max("x"), First("x"), Last("x"), DistinctCount("x")],
)
def test_two_halves_merged_are_the_whole(aggregate: BuiltInAggregate) -> None:
    values = [3, None, 1, 4, 1, 5]
    for cut in range(len(values) + 1):
        whole, halves = aggregate.create_accumulator(), []
        for part in (values[:cut], values[cut:]):
            half = aggregate.create_accumulator()
            for value in part:
                half = aggregate.add({"x": value}, half)
            halves.append(half)
        for value in values:
            whole = aggregate.add({"x": value}, whole)
        # In either order: the arrival decides which is the first.
        for left, right in (halves, reversed(halves)):
            merged = aggregate.merge(pickle.loads(pickle.dumps(left)), right)
            assert aggregate.get_result(merged) == aggregate.get_result(whole)


def test_a_sum_of_floats_does_not_depend_on_their_order() -> None:
    dice = random.Random(7)
    values = [dice.uniform(-1, 1) * 10.0 ** dice.randint(-12, 12) for _ in range(2000)]
    expected = math.fsum(values)
    for _ in range(5):
        dice.shuffle(values)
        assert result(Sum("x"), values) == expected


def test_nan_and_infinities() -> None:
    nan, infinity = float("nan"), float("inf")
    assert result(Min("x"), [nan, 1.0, nan]) == 1.0
    assert math.isnan(result(Max("x"), [1.0, nan, 2.0]))
    assert math.isnan(result(Min("x"), [nan]))
    assert result(Sum("x"), [1.0, infinity, 1.0]) == infinity
    assert math.isnan(result(Sum("x"), [infinity, -infinity, 1.0]))


def test_names_and_what_is_refused() -> None:
    several = BuiltInAggregates([Count(), Sum("x"), Max("y").alias("highest")])
    assert several.names == ["count", "sum_x", "highest"]
    with pytest.raises(IllegalArgumentError, match="two aggregates are called 'count'"):
        BuiltInAggregates([Count(), Count()])
    with pytest.raises(IllegalArgumentError, match="at least one"):
        BuiltInAggregates([])
    with pytest.raises(ArgumentTypeError, match="no built-in aggregate"):
        BuiltInAggregates([sum])  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="name of a column"):
        Max(1.5)  # type: ignore[arg-type]


def test_several_together() -> None:
    several = BuiltInAggregates([Count(), Sum("x")])
    held = several.create_accumulator()
    for value in (1, 2, None):
        held = several.add({"x": value}, held)
    assert several.get_result(several.merge(held, held)) == (6, 6)
