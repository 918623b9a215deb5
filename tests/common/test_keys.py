"""Keys that are one key, and what cannot be one."""

from __future__ import annotations

import enum
import math
from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.keys import normalized_key


class Color(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("key", "normal"),
    [
        ([1, ["a"]], (1, ("a",))),
        ((1, [2]), (1, (2,))),
        ([], ()),
        (Number.ONE, Number.ONE),
        ("a", "a"),
    ],
)
def test_lists_are_tuples(key: Any, normal: Any) -> None:
    assert normalized_key(key) == normal
    assert type(normalized_key(key)) is type(normal)


def test_zero_in_a_list_is_zero() -> None:
    assert math.copysign(1, normalized_key([-0.0])[0]) == 1


def test_a_member_of_an_enum_is_no_key() -> None:
    with pytest.raises(ArgumentTypeError, match=r"member of an Enum.*name or its value.*'RED'"):
        normalized_key(Color.RED)
