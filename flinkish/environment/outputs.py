"""Functions between those of users and streams: sinks, and functions with several outputs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.common.output_tag import OutputTag
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.functions.base import FlatMapFunction, Function
from flinkish.functions.process import CoProcessFunction, ProcessFunction
from flinkish.functions.sink import SinkFunction

__all__ = ["Invoke", "TaggedCoOutputs", "TaggedOutputs", "Untagged"]

_MAIN = ""


class _Wrapped(Function):
    """A function that opens and closes the user's."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__name__ = type(function).__name__

    def open(self, runtime_context: Any) -> None:
        """Open the user's function."""
        if hasattr(self._function, "open"):
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the user's function."""
        if hasattr(self._function, "close"):
            self._function.close()


class TaggedOutputs(_Wrapped, ProcessFunction):
    """Runs a ProcessFunction once for all its outputs: gives pairs of an output's id and a value.

    The main output has the empty id, which no side output can have.
    """

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[str, Any]]:
        """The pairs of an element."""
        return _tagged(self._function.process_element(value, ctx))


class TaggedCoOutputs(_Wrapped, CoProcessFunction):
    """The same of a CoProcessFunction."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[tuple[str, Any]]:
        """The pairs of an element of the first stream."""
        return _tagged(self._function.process_element1(value, ctx))

    def process_element2(self, value: Any, ctx: Any) -> Iterator[tuple[str, Any]]:
        """The pairs of an element of the second stream."""
        return _tagged(self._function.process_element2(value, ctx))


def _tagged(results: Iterable[Any] | None) -> Iterator[tuple[str, Any]]:
    for result in results or ():
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            yield result[0].tag_id, result[1]
        else:
            yield _MAIN, result


class Untagged(FlatMapFunction):
    """Takes the values of one output out of such pairs: of the main one, or of a side output."""

    def __init__(self, tag: OutputTag | None = None) -> None:
        self._id = _MAIN if tag is None else tag.tag_id

    def flat_map(self, value: tuple[str, Any]) -> tuple[Any, ...]:
        """The value, if it is of this output."""
        return (value[1],) if value[0] == self._id else ()


class Invoke(ProcessFunction):
    """Calls a SinkFunction with each element; nothing comes out."""

    def __init__(self, function: SinkFunction) -> None:
        self._function = function
        self.__name__ = type(function).__name__

    def open(self, runtime_context: Any) -> None:
        """Open the sink."""
        self._function.open(runtime_context)

    def close(self) -> None:
        """Close the sink."""
        self._function.close()

    def process_element(self, value: Any, ctx: Any) -> tuple[()]:
        """Hand an element over."""
        self._function.invoke(value, _SinkContext(ctx.timestamp()))
        return ()


class _SinkContext(SinkFunction.Context):
    def __init__(self, timestamp: int | None) -> None:
        self._timestamp = timestamp

    def timestamp(self) -> int | None:
        return self._timestamp

    def current_watermark(self) -> int:
        return MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        return time.time_ns() // 1_000_000
