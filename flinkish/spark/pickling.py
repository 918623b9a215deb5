"""How functions travel to Spark's workers, and which part of one cannot."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from flinkish.common.errors import SerializationError
from flinkish.spark.internals import dumps, loads

__all__ = ["Sealed", "check_picklable"]

T = TypeVar("T")

_DEPTH = 6


class Sealed(Generic[T]):
    """A value that travels as bytes and is not unpickled before `open` asks for it.

    Spark unpickles a stateful processor in a Python process beside the driver, too, to ask it which
    state it declares.  That process has none of the files that were sent to the workers, so modules
    of the user must not be imported there.
    """

    def __init__(self, value: T) -> None:
        self._value = value

    def open(self) -> T:
        """The value; its modules are imported by now."""
        if not hasattr(self, "_value"):
            self._value = loads(self._pickled)
        return self._value

    def __getstate__(self) -> dict[str, bytes]:
        # A copy that nobody has opened has the bytes still.
        return {"_pickled": dumps(self._value) if hasattr(self, "_value") else self._pickled}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self._pickled = state["_pickled"]


def check_picklable(function: Any, what: str) -> None:
    """SerializationError that names the attribute which keeps a function from being pickled."""
    error = _failure(function)
    if error is None:
        return
    path, cause = _culprit(function, type(function).__name__, error, set(), _DEPTH)
    raise SerializationError(
        f"{what} cannot be sent to Spark's workers: {path} of type {type(cause[0]).__name__} "
        f"cannot be pickled ({cause[1]}); make it in open(), which runs on the worker",
        path=path,
    ) from cause[1]


def _failure(value: Any) -> Exception | None:
    try:
        dumps(value)
    except Exception as error:
        return error
    return None


def _culprit(
    value: Any, path: str, error: Exception, seen: set[int], depth: int
) -> tuple[str, tuple[Any, Exception]]:
    """The deepest part that fails by itself: the path to it, it, and its error."""
    seen.add(id(value))
    if depth:
        for name, part in _parts(value):
            if id(part) in seen:
                continue
            failure = _failure(part)
            if failure is not None:
                return _culprit(part, f"{path}{name}", failure, seen, depth - 1)
    return path, (value, error)


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Named parts of a value: attributes, items, and what a function closes over."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    closure = getattr(value, "__closure__", None)
    if closure:
        names = value.__code__.co_freevars
        return [
            (f" (closure over {name})", cell.cell_contents)
            for name, cell in zip(names, closure, strict=True)
        ]
    attributes = getattr(value, "__dict__", {})
    return [(f".{name}", part) for name, part in attributes.items()] if attributes else []
