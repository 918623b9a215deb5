"""Functions without a context as functions of keyed streams, whose state they may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import GeneratorType
from typing import Any, cast

from flinkish.common.errors import ArgumentTypeError
from flinkish.functions.base import ReduceFunction
from flinkish.functions.process import KeyedCoProcessFunction, KeyedProcessFunction
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.operators.unkeyed_context import values_of

__all__ = [
    "Accumulated",
    "KeyedCoFlatMap",
    "KeyedCoMap",
    "KeyedFilter",
    "KeyedFlatMap",
    "KeyedMap",
]


class _Adapter:
    """Opens and closes the user's function, whose ``method`` is called, or a plain one itself."""

    method: str

    def __init__(self, function: Any) -> None:
        self.function = function
        named = hasattr(function, self.method)
        self.shown_as = type(function).__name__ if named else self.method

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function."""
        if hasattr(self.function, "open"):
            self.function.open(runtime_context)
        self._call: Callable[[Any], Any] = getattr(self.function, self.method, self.function)

    def close(self) -> None:
        """Close it."""
        if hasattr(self.function, "close"):
            self.function.close()


def _iterated(result: Any, method: str) -> Iterable[Any]:
    """Results of a flat map; lists, tuples and generators need no check."""
    if type(result) in (list, tuple, GeneratorType):
        return cast(Iterable[Any], result)
    return values_of(result, method)


class KeyedMap(_Adapter, KeyedProcessFunction):
    """Runs a MapFunction."""

    method = "map"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """The one result."""
        return [self._call(value)]


class KeyedFlatMap(_Adapter, KeyedProcessFunction):
    """Runs a FlatMapFunction."""

    method = "flat_map"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        """All results."""
        return _iterated(self._call(value), "flat_map")


class KeyedFilter(_Adapter, KeyedProcessFunction):
    """Runs a FilterFunction."""

    method = "filter"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """The element, if it is to stay."""
        return [value] if self._call(value) else []


class _CoAdapter(KeyedCoProcessFunction):
    """Opens and closes the user's function of two inputs."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.shown_as = type(function).__name__

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function."""
        self.function.open(runtime_context)

    def close(self) -> None:
        """Close it."""
        self.function.close()


class KeyedCoMap(_CoAdapter):
    """Runs a CoMapFunction; a result None is no result, as in PyFlink."""

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        """The result for an element of the first stream."""
        return [] if (result := self.function.map1(value)) is None else [result]

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        """The result for an element of the second stream."""
        return [] if (result := self.function.map2(value)) is None else [result]


class KeyedCoFlatMap(_CoAdapter):
    """Runs a CoFlatMapFunction."""

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """All results for an element of the first stream."""
        return _iterated(self.function.flat_map1(value), "flat_map1")

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """All results for an element of the second stream."""
        return _iterated(self.function.flat_map2(value), "flat_map2")


class Accumulated(ReduceFunction):
    """PyFlink's ``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of a field.

    The field is given by position or name.  ``sum``, ``min`` and ``max`` give the key's first
    element with this field replaced; the others the first one that has the least or the highest.
    """

    def __init__(self, kind: str, position: int | str) -> None:
        if isinstance(position, bool) or not isinstance(position, (int, str)):
            raise ArgumentTypeError(
                f"{kind} takes the position or the name of a field, not {position!r}"
            )
        self._kind = kind
        self._position = position

    def reduce(self, value1: Any, value2: Any) -> Any:
        """The value after another element."""
        one, other = self._field(value1), self._field(value2)
        if self._kind in ("min_by", "max_by"):
            better = other < one if self._kind == "min_by" else other > one
            return value2 if better else value1
        if self._kind == "sum":
            result = one + other
        elif self._kind == "min":
            result = min(one, other)
        else:
            result = max(one, other)
        return self._with(value1, result)

    def _field(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)) or hasattr(value, "get_row_kind"):
            return value[cast(Any, self._position)]
        if self._position != 0:
            raise ArgumentTypeError(
                f"{self._kind}({self._position!r}) of {value!r}, which has no fields: leave the "
                "position out"
            )
        return value

    def _with(self, value: Any, field: Any) -> Any:
        """A value with its field replaced."""
        if isinstance(value, tuple):
            fields = list(value)
            fields[cast(int, self._position)] = field
            return tuple(fields)
        if isinstance(value, list) or hasattr(value, "get_row_kind"):
            value[self._position] = field
            return value
        return field
