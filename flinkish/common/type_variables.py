"""Type variables of classes that PyFlink programs subscribe: ``Trigger[T, TimeWindow]``.

Without parameters they are Any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    IN = TypeVar("IN", default=Any)
    IN1 = TypeVar("IN1", default=Any)
    IN2 = TypeVar("IN2", default=Any)
    OUT = TypeVar("OUT", default=Any)
    KEY = TypeVar("KEY", default=Any)
    K = TypeVar("K", default=Any)
    T = TypeVar("T", default=Any)
    V = TypeVar("V", default=Any)
    W = TypeVar("W", default=Any)
    W2 = TypeVar("W2", default=Any)
else:
    from typing import TypeVar

    IN, IN1, IN2, OUT, KEY, K, T, V, W, W2 = map(
        TypeVar, ("IN", "IN1", "IN2", "OUT", "KEY", "K", "T", "V", "W", "W2")
    )

__all__ = ["IN", "IN1", "IN2", "KEY", "OUT", "W2", "K", "T", "V", "W"]
