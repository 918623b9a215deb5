"""Pickles of any objects, for other processes to read.

An object is pickled by reference to its class if that can be imported.  Lambdas, and classes and
functions of ``__main__`` or of a function's body, are pickled by value, by the pickler given to
`use`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["dumps", "use"]

_by_value: Callable[[Any], bytes] | None = None


def use(by_value: Callable[[Any], bytes]) -> None:
    """Set the pickler, such as cloudpickle's ``dumps``, for objects that others cannot import."""
    global _by_value
    _by_value = by_value


def dumps(value: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> bytes:
    """The pickle of a value; raises the pickler's error for a value that cannot be pickled."""
    by_value = _by_value
    if by_value is None:
        return pickle.dumps(value, protocol)
    try:
        data = pickle.dumps(value, protocol)
    except RecursionError:  # no pickler gets to the end of it
        raise
    except Exception:
        return by_value(value)
    # `__main__` is another module in the process that reads this.
    return by_value(value) if b"__main__" in data else data
