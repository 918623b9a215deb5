"""Pickles of any objects, for other processes to read.

An object is pickled by reference to its class where that can be imported.  A class or a function of
``__main__``, of a function's body, or a lambda travels by value, if a pickler for that is in `use`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["dumps", "use"]

_by_value: Callable[[Any], bytes] | None = None


def use(by_value: Callable[[Any], bytes]) -> None:
    """Take a pickler, such as cloudpickle's ``dumps``, for what others cannot import."""
    global _by_value
    _by_value = by_value


def dumps(value: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> bytes:
    """The pickle of a value; what the picklers raise of one that has none."""
    by_value = _by_value
    if by_value is None:
        return pickle.dumps(value, protocol)
    try:
        data = pickle.dumps(value, protocol)
    except Exception:
        return by_value(value)
    # `__main__` is another module in the process that reads this.
    return by_value(value) if b"__main__" in data else data
