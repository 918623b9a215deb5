"""Key-group arithmetic and the wall before the floor's hashes: facts B.20, B.21, B.22."""

import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common import Row, Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, NullKeyError
from flinkish.time import (
    KeyGroupRange,
    assign_to_key_group,
    assign_to_key_groups,
    compute_key_group_range_for_operator_index,
    compute_operator_index_for_key_group,
    default_max_parallelism,
)
from tests.models import key_groups as model

PARALLELISM = st.integers(1, 32768).flatmap(
    lambda most: st.tuples(st.just(most), st.integers(1, most))
)


def test_a_range_is_a_collection_of_its_key_groups() -> None:
    keys = KeyGroupRange(3, 6)
    assert (keys.start_key_group, keys.end_key_group) == (3, 6)
    assert list(keys) == [3, 4, 5, 6]
    assert len(keys) == 4
    assert 3 in keys
    assert 6 in keys
    assert 2 not in keys
    assert 7 not in keys
    assert "3" not in keys
    assert keys == KeyGroupRange.of(3, 6) == pickle.loads(pickle.dumps(keys))
    assert keys != KeyGroupRange(3, 7)
    assert len({keys, KeyGroupRange(3, 6)}) == 1
    assert str(keys) == "[3, 6]"


def test_the_empty_range_is_one() -> None:
    empty = KeyGroupRange.of(5, 4)
    assert empty == KeyGroupRange.of(7, 2)
    assert not empty
    assert list(empty) == []
    assert 0 not in empty
    assert str(empty) == "[]"
    with pytest.raises(IllegalArgumentError, match="key groups 5 to 4 are no range"):
        KeyGroupRange(5, 4)
    with pytest.raises(IllegalArgumentError, match="key groups -1 to 4 are no range"):
        KeyGroupRange.of(-1, 4)


def test_intersections() -> None:
    keys = KeyGroupRange(3, 6)
    assert keys.intersection(KeyGroupRange(5, 9)) == KeyGroupRange(5, 6)
    assert keys.intersection(KeyGroupRange(0, 100)) == keys
    assert not keys.intersection(KeyGroupRange(7, 9))
    assert not keys.intersection(KeyGroupRange.of(1, 0))


def test_golden_ranges() -> None:
    """B.21"""
    ranges = {
        (128, 3): [(0, 42), (43, 85), (86, 127)],
        (10, 4): [(0, 2), (3, 4), (5, 7), (8, 9)],
        (128, 1): [(0, 127)],
        (4, 4): [(0, 0), (1, 1), (2, 2), (3, 3)],
    }
    for (most, parallelism), expected in ranges.items():
        for index, (start, end) in enumerate(expected):
            found = compute_key_group_range_for_operator_index(most, parallelism, index)
            assert found == KeyGroupRange(start, end)


@given(PARALLELISM, st.data())
def test_ranges_and_indices_agree(parallelisms: tuple[int, int], data: st.DataObject) -> None:
    """B.21: every key group has one owner, and its owner's range holds it."""
    most, parallelism = parallelisms
    index = data.draw(st.integers(0, parallelism - 1))
    keys = compute_key_group_range_for_operator_index(most, parallelism, index)
    assert len(keys) in (most // parallelism, -(-most // parallelism))
    for group in (keys.start_key_group, keys.end_key_group):
        assert compute_operator_index_for_key_group(most, parallelism, group) == index
    if index + 1 < parallelism:
        following = compute_key_group_range_for_operator_index(most, parallelism, index + 1)
        assert following.start_key_group == keys.end_key_group + 1
    else:
        assert keys.end_key_group == most - 1
    if index == 0:
        assert keys.start_key_group == 0


def test_default_max_parallelism() -> None:
    """B.22"""
    expected = {1: 128, 85: 128, 86: 256, 128: 256, 170: 256, 171: 256, 172: 512}
    expected |= {1000: 2048, 21845: 32768, 21846: 32768, 32768: 32768}
    assert {p: default_max_parallelism(p) for p in expected} == expected


@pytest.mark.parametrize("bad", [0, -5, 32769])
def test_parallelism_is_checked(bad: int) -> None:
    """B.22"""
    with pytest.raises(IllegalArgumentError, match=f"parallelism is {bad}, but must be from 1 to"):
        default_max_parallelism(bad)
    with pytest.raises(IllegalArgumentError, match=f"max_parallelism is {bad}"):
        compute_key_group_range_for_operator_index(bad, 1, 0)
    with pytest.raises(IllegalArgumentError, match=f"max_parallelism is {bad}"):
        assign_to_key_group("a", bad)
    with pytest.raises(IllegalArgumentError, match=f"max_parallelism is {bad}"):
        assign_to_key_groups(pa.array(["a"]), bad)


def test_arguments_are_checked() -> None:
    with pytest.raises(IllegalArgumentError, match=r"max_parallelism is 4, .*not be smaller .* 5"):
        compute_operator_index_for_key_group(4, 5, 0)
    with pytest.raises(IllegalArgumentError, match="key_group is 4, but must be from 0 to 3"):
        compute_operator_index_for_key_group(4, 2, 4)
    with pytest.raises(IllegalArgumentError, match="operator_index is 2, but must be from 0 to 1"):
        compute_key_group_range_for_operator_index(4, 2, 2)
    with pytest.raises(ArgumentTypeError, match=r"parallelism is 2\.0, but must be an int"):
        default_max_parallelism(2.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="parallelism is True, but must be an int"):
        default_max_parallelism(True)
    assert default_max_parallelism(np.int64(200)) == 512


@pytest.mark.parametrize(
    ("key", "key_type", "java"),
    [
        (-1, Types.INT(), "int"),
        (-1, Types.LONG(), "long"),
        (-1, "bigint", "long"),
        (-1, Types.SHORT(), "int"),
        (-1, Types.BYTE(), "int"),
        (0.1, Types.FLOAT(), "float"),
        (0.1, Types.DOUBLE(), "double"),
        (1, Types.DOUBLE(), "double"),
        (True, Types.BOOLEAN(), "bool"),
        ("hello", Types.STRING(), "str"),
        ("h", Types.CHAR(), "str"),
        (Decimal("1.50"), Types.BIG_DEC(), "decimal"),
        (datetime.date(2024, 2, 29), Types.SQL_DATE(), "date"),
        (datetime.datetime(2024, 2, 29), Types.SQL_TIMESTAMP(), "timestamp"),
        (-1, Types.PICKLED_BYTE_ARRAY(), "int"),
        (("a", -1), Types.TUPLE([Types.STRING(), Types.LONG()]), ("str", "long")),
        (Row("a", -1), Types.ROW([Types.STRING(), Types.LONG()]), ("str", "long")),
        (("a", -1), ("string", Types.LONG()), ("str", "long")),
        (("a", (-1,)), ["string", ["long"]], ("str", ("long",))),
    ],
    ids=str,
)
def test_types_by_their_names(key: Any, key_type: Any, java: Any) -> None:
    assert assign_to_key_group(key, 32768, key_type) == model.key_group(key, java, 32768)


def test_an_untyped_int_is_an_integer_if_it_fits() -> None:
    for number in (-1, -(2**31), 2**31 - 1):
        assert assign_to_key_group(number, 32768) == model.key_group(number, "int", 32768)
    for number in (-(2**31) - 1, 2**31):
        assert assign_to_key_group(number, 32768) == model.key_group(number, "long", 32768)


def test_golden_columns() -> None:
    """B.20"""
    assert assign_to_key_groups(pa.array(["a", "b"]), 128).tolist() == [81, 22]
    numbers = pa.array([42, -1])
    assert assign_to_key_groups(numbers, 128, Types.INT()).tolist() == [29, 80]
    tuples = assign_to_key_groups([pa.array(["a", "b"]), numbers], 128, ["str", Types.INT()])
    assert tuples.tolist() == [assign_to_key_group(key, 128) for key in [("a", 42), ("b", -1)]]


def test_null_keys_are_refused() -> None:
    """B.21"""
    with pytest.raises(NullKeyError, match="Assigned key must not be null!") as caught:
        assign_to_key_group((1, None), 128)
    assert caught.value.value == (1, None)
    assert caught.value.column is None
    column = pa.array(["a", None])
    with pytest.raises(NullKeyError, match="column 'device' has 1 null in 2 rows") as caught:
        assign_to_key_groups([column], 128, names=["device"])
    assert caught.value.column == "device"
    assert assign_to_key_groups(column, 128, nulls="mark").tolist() == [81, -1]


@pytest.mark.parametrize(
    ("key", "key_type", "error", "message"),
    [
        ([1], None, ArgumentTypeError, "a key of type list has no Java hash"),
        ("a", Types.INT(), ArgumentTypeError, "of type str, but its key type is 'int'"),
        (1, 5, ArgumentTypeError, "the key type is of type int: 5"),
        (2**31, Types.INT(), IllegalArgumentError, "does not fit the key type 'int'"),
        ("a", "char", IllegalArgumentError, "unknown key type 'char'"),
        ([1], Types.LIST(Types.INT()), IllegalArgumentError, "unknown key type 'array<int>'"),
        (1, Types.BIG_INT(), IllegalArgumentError, "BIG_INT cannot be the type of a key"),
    ],
)
def test_bad_keys_are_errors_of_ours(
    key: object, key_type: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        assign_to_key_group(key, 128, key_type)
    assert type(caught.value) is error


def test_bad_columns_are_errors_of_ours() -> None:
    with pytest.raises(ArgumentTypeError, match="column 0 is of type list"):
        assign_to_key_groups(pa.array([[1]]), 128)
    with pytest.raises(IllegalArgumentError, match="different lengths"):
        assign_to_key_groups([pa.array([1]), pa.array([1, 2])], 128)
    with pytest.raises(ArgumentTypeError, match="the key type is of type int"):
        assign_to_key_groups(pa.array([1]), 128, 5)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="unknown key type"):
        assign_to_key_groups([pa.array([1])], 128, [["int"]])
