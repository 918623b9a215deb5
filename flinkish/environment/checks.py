"""Arguments of streams, checked at the call."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.methods import require_methods
from flinkish.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from flinkish.functions import Function, KeyedCoProcessFunction, KeyedProcessFunction

__all__ = ["check_field", "check_function", "check_type", "check_unkeyed"]

_CLASSES = {
    "map": "MapFunction",
    "flat_map": "FlatMapFunction",
    "filter": "FilterFunction",
    "reduce": "ReduceFunction",
}


def check_function(function: Any, method: str) -> None:
    """ArgumentTypeError for an argument that is neither callable nor has the method.

    A class of functions is refused, too: the call needs an instance of it.
    """
    if method == "process":
        require_methods(function, ("process_element",), "process takes a ProcessFunction")
    elif isinstance(function, type) and (
        hasattr(function, method) or issubclass(function, Function)
    ):
        raise ArgumentTypeError(
            f"{method} takes a {_CLASSES[method]} or a function, not the class "
            f"{function.__qualname__}: make an instance of it"
        )
    elif not (callable(function) or hasattr(function, method)):
        raise ArgumentTypeError(
            f"{method} takes a {_CLASSES[method]} or a function, not {function!r}"
        )


def check_unkeyed(function: Any, method: str) -> None:
    """ArgumentTypeError for a function that needs keys, on a stream without keys."""
    if isinstance(function, (KeyedProcessFunction, KeyedCoProcessFunction)):
        raise ArgumentTypeError(
            f"{method} takes a {_CLASSES.get(method, 'ProcessFunction')} here, and "
            f"{type(function).__name__} is a function of keyed streams, with state and timers: use "
            "key_by before it"
        )


def check_field(field: Any, method: str, kind: TypeInformation | None) -> None:
    """Refuse a field that elements of a type do not have; ``kind`` None is for any elements.

    ArgumentTypeError for what is no position, or name of a Row's field; IllegalArgumentError for
    one that is not there.
    """
    if isinstance(field, bool) or not isinstance(field, (int, str)):
        raise ArgumentTypeError(
            f"{method} takes the position or the name of a field, not {field!r}"
        )
    if kind is None:
        return
    names: list[str] = []
    count = 1
    if isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
        count = len(kind.get_field_types())
        names = kind.get_field_names() if isinstance(kind, RowTypeInfo) else []
    if isinstance(field, str):
        if field not in names:
            there = f"names {', '.join(names)}" if names else "no names: give its position"
            raise IllegalArgumentError(f"{method}({field!r}): the fields of {kind} have {there}")
    elif not 0 <= field < count:
        raise IllegalArgumentError(
            f"{method}({field}): the fields of {kind} have positions from 0 to {count - 1}"
        )


def check_type(kind: Any) -> None:
    """ArgumentTypeError for what is no type information."""
    if kind is not None and not isinstance(kind, TypeInformation):
        raise ArgumentTypeError(
            f"output_type is type information, such as Types.STRING(), not {kind!r}"
        )
