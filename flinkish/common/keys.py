"""Keys that are equal are one key: 0.0 is -0.0, as in Spark's groupBy and Python's dict.

Java hashes the two zeros differently and the state table compares bits, so keys are normalized
before both.  NaNs need nothing: hash and table know them as one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["MAY_HOLD_ZERO", "normalized_key"]

# Keys of other types are what they are.
MAY_HOLD_ZERO = frozenset((float, tuple))


def normalized_key(key: Any) -> Any:
    """The key, with 0.0 for each -0.0 that it is or that its tuples hold."""
    if type(key) is float:
        return key + 0.0
    if type(key) is tuple and not MAY_HOLD_ZERO.isdisjoint(map(type, key)):
        return tuple(map(normalized_key, key))
    return key
