"""Which task a partitioner gives an element to, before Spark has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flinkish.common.errors import UserFunctionError
from flinkish.spark.chains.dealt import Dealt, InTurn, ToAll
from flinkish.spark.keyed.placement import group_at


class Context:
    def get_index_of_this_subtask(self) -> int:
        return 1


@pytest.mark.parametrize("place", [0, 2, np.int64(1), True])
def test_elements_go_where_the_partitioner_says(place: Any) -> None:
    dealt = Dealt(lambda key, number: place, lambda value: value, 3)
    assert dealt.map("x") == "x"
    assert [group_at(slot) for slot in dealt.take()] == [int(place)]
    assert dealt.take() == []


@pytest.mark.parametrize("place", [3, -1, "0", None, 1.0])
def test_a_partition_that_is_not_there(place: Any) -> None:
    dealt = Dealt(lambda key, number: place, lambda value: value, 3)
    with pytest.raises(UserFunctionError, match=r"one of 3 partitions: let it return .* 0 to 2"):
        dealt.map("x")
    assert dealt.take() == []


def test_copies_for_all_tasks() -> None:
    """Those that were taken of a generator that was not taken to its end count alone."""
    copies = ToAll(3)
    each = copies.flat_map("x")
    assert [next(each), next(each)] == ["x", "x"]
    assert [group_at(slot) for slot in copies.take()] == [0, 1]
    assert list(each) == ["x"]
    assert [group_at(slot) for slot in copies.take()] == [2]


def test_tasks_in_turn_begin_at_different_ones() -> None:
    dealt = Dealt(InTurn(), lambda value: value, 3)
    dealt.open(Context())
    for value in range(5):
        dealt.map(value)
    assert [group_at(slot) for slot in dealt.take()] == [1, 2, 0, 1, 2]
