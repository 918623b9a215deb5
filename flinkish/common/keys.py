"""Keys that are equal are one key: 0.0 is -0.0, as in Spark's groupBy and Python's dict.

Java hashes the two zeros differently and the state table compares bits, so keys are normalized
before both.  NaNs need nothing: hash and table know them as one.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from flinkish.common.errors import ArgumentTypeError

__all__ = ["MAY_HOLD_ZERO", "normalized_key"]

# Keys of other types are what they are.
MAY_HOLD_ZERO = frozenset((float, tuple, list))


def normalized_key(key: Any) -> Any:
    """The key, with 0.0 in place of each -0.0, also in its tuples, and a tuple for each list.

    ArgumentTypeError for a member of an Enum, which equals no plain value.
    """
    if type(key) is float:
        return key + 0.0
    if type(key) is list:
        return tuple(map(normalized_key, key))
    if isinstance(key, Enum) and not isinstance(key, (int, str)):
        raise ArgumentTypeError(
            f"the key {key!r} is a member of an Enum, which Flink's keys cannot be: let the key "
            f"selector return its name or its value, such as {key.name!r}"
        )
    if type(key) is tuple and not MAY_HOLD_ZERO.isdisjoint(map(type, key)):
        return tuple(map(normalized_key, key))
    return key
