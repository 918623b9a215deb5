"""Arguments of streams, checked at the call."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.methods import require_methods
from flinkish.common.typeinfo import TypeInformation

__all__ = ["check_function", "check_type"]

_CLASSES = {
    "map": "MapFunction",
    "flat_map": "FlatMapFunction",
    "filter": "FilterFunction",
    "reduce": "ReduceFunction",
}


def check_function(function: Any, method: str) -> None:
    """ArgumentTypeError for what is neither callable nor a function with the method of streams."""
    if method == "process":
        require_methods(function, ("process_element",), "process takes a ProcessFunction")
    elif not (callable(function) or hasattr(function, method)):
        raise ArgumentTypeError(
            f"{method} takes a {_CLASSES[method]} or a function, not {function!r}"
        )


def check_type(kind: Any) -> None:
    """ArgumentTypeError for what is no type information."""
    if kind is not None and not isinstance(kind, TypeInformation):
        raise ArgumentTypeError(
            f"output_type is type information, such as Types.STRING(), not {kind!r}"
        )
