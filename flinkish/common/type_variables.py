"""Type variables of classes that PyFlink programs subscribe: ``Trigger[T, TimeWindow]``.

Without parameters they are Any.

``Subscriptable`` is ``Generic`` for classes whose objects are pickled and compared: at run time
``TypeInformation[int]`` is ``TypeInformation``.  With ``Generic`` an object would keep the
parameters, as its ``__orig_class__``, and its pickle too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Generic as Subscriptable

    from typing_extensions import TypeVar

    IN = TypeVar("IN", default=Any)
    IN1 = TypeVar("IN1", default=Any)
    IN2 = TypeVar("IN2", default=Any)
    OUT = TypeVar("OUT", default=Any)
    ACC = TypeVar("ACC", default=Any)
    KEY = TypeVar("KEY", default=Any)
    K = TypeVar("K", default=Any)
    T = TypeVar("T", default=Any)
    V = TypeVar("V", default=Any)
    W = TypeVar("W", default=Any)
    W2 = TypeVar("W2", default=Any)
    IN_contra = TypeVar("IN_contra", default=Any, contravariant=True)
    ACC_co = TypeVar("ACC_co", default=Any, covariant=True)
    OUT_co = TypeVar("OUT_co", default=Any, covariant=True)
    K_co = TypeVar("K_co", default=Any, covariant=True)
    T_co = TypeVar("T_co", default=Any, covariant=True)
    V_co = TypeVar("V_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    class Subscriptable:
        """The base of classes that stay the same class with any type parameters."""

        __slots__ = ()

        def __class_getitem__(cls, parameters):
            return cls

    IN, IN1, IN2, OUT, ACC, KEY, K, T, V, W, W2 = map(
        TypeVar, ("IN", "IN1", "IN2", "OUT", "ACC", "KEY", "K", "T", "V", "W", "W2")
    )
    IN_contra = TypeVar("IN_contra", contravariant=True)
    ACC_co, OUT_co, K_co, T_co, V_co = (
        TypeVar(name, covariant=True) for name in ("ACC_co", "OUT_co", "K_co", "T_co", "V_co")
    )

__all__ = [
    "ACC",
    "IN",
    "IN1",
    "IN2",
    "KEY",
    "OUT",
    "W2",
    "ACC_co",
    "IN_contra",
    "K",
    "K_co",
    "OUT_co",
    "Subscriptable",
    "T",
    "T_co",
    "V",
    "V_co",
    "W",
]
