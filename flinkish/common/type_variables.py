"""Type variables of classes that PyFlink programs subscribe: ``Trigger[T, TimeWindow]``.

Who leaves the parameters out gets Any for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    IN = TypeVar("IN", default=Any)
    OUT = TypeVar("OUT", default=Any)
    KEY = TypeVar("KEY", default=Any)
    T = TypeVar("T", default=Any)
    W = TypeVar("W", default=Any)
    W2 = TypeVar("W2", default=Any)
else:
    from typing import TypeVar

    IN, OUT, KEY, T, W, W2 = map(TypeVar, ("IN", "OUT", "KEY", "T", "W", "W2"))

__all__ = ["IN", "KEY", "OUT", "W2", "T", "W"]
