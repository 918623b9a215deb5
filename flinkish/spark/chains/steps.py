"""The steps of a chain: what users gave, by the method that is called with each element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.methods import require_methods
from flinkish.functions.base import Function
from flinkish.functions.process import KeyedCoProcessFunction, KeyedProcessFunction

__all__ = ["InputOf", "Method", "Step", "refuse_keyed"]

Method: TypeAlias = Literal["map", "flat_map", "filter", "process"]

_CLASSES = {
    "map": "MapFunction",
    "flat_map": "FlatMapFunction",
    "filter": "FilterFunction",
    "process": "ProcessFunction",
}


@dataclass(frozen=True)
class Step:
    """A function, and what is done with what it gives: by the method of streams of that name.

    ``uid`` names it in messages and counts; without one its name does.
    """

    method: Method
    function: Any
    uid: str | None = None

    @classmethod
    def of(cls, method: Method, function: Any, uid: str | None = None) -> Step:
        """The step of a function that a user gave; ArgumentTypeError for what is none."""
        named = "process_element" if method == "process" else method
        wanted = f"{method} takes a {_CLASSES[method]}"
        refuse_keyed(function, wanted)
        if method == "process" or hasattr(function, named):
            require_methods(function, (named,), wanted)
        elif isinstance(function, type) and issubclass(function, Function):
            raise ArgumentTypeError(f"{wanted}, not the class {function.__name__} of another one")
        elif not callable(function):
            raise ArgumentTypeError(f"{wanted} or a function of one value, not {function!r}")
        return cls(method, function, uid)

    @property
    def call(self) -> Callable[..., Any]:
        """The function that is called with each element."""
        named = "process_element" if self.method == "process" else self.method
        found: Callable[..., Any] = getattr(self.function, named, self.function)
        return found

    @property
    def name(self) -> str:
        """The name of the user's function or class."""
        return getattr(self.function, "__name__", type(self.function).__name__)


def refuse_keyed(function: Any, wanted: str) -> None:
    """ArgumentTypeError for a function that needs keys; ``wanted`` begins the message."""
    if isinstance(function, (KeyedProcessFunction, KeyedCoProcessFunction)):
        raise ArgumentTypeError(
            f"{wanted}, and {type(function).__name__} is a function of keyed streams, with state "
            "and timers: use key_by before it"
        )


class InputOf:
    """A function of two inputs, seen as one of a single input: ``method`` takes its elements."""

    def __init__(self, function: Any, method: str) -> None:
        self._function = function
        self._method = method
        self.__name__ = type(function).__name__

    def open(self, runtime_context: Any) -> None:
        """Open the function."""
        if hasattr(self._function, "open"):
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close it."""
        if hasattr(self._function, "close"):
            self._function.close()

    @property
    def process_element(self) -> Callable[..., Any]:
        """The method, with a context."""
        found: Callable[..., Any] = getattr(self._function, self._method)
        return found

    def __call__(self, value: Any) -> Any:
        """The results for an element: of a CoMapFunction one, or none if that is None."""
        result = getattr(self._function, self._method)(value)
        if not self._method.startswith("map"):
            return result
        return () if result is None else (result,)
