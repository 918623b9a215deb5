"""Functions of two streams, of one of which every task gets a copy of each element."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from flinkish.common.typeinfo import Types
from flinkish.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from flinkish.operators.unkeyed_context import NoTimers, UnkeyedContext, values_of
from flinkish.state.descriptors import MapStateDescriptor

__all__ = ["NO_STATE", "KeyedOfBoth", "OfBoth"]

NO_STATE = MapStateDescriptor("copies", Types.STRING(), Types.STRING())


class _Both:
    """Calls a function of two streams: its first method for elements, its second for copies."""

    def __init__(self, function: Any, method: str, methods: tuple[str, str]) -> None:
        self.function = function
        self.shown_as = type(function).__name__
        self._method = method
        self._methods = methods

    def open(self, runtime_context: Any) -> None:
        """Open the function."""
        if hasattr(self.function, "open"):
            self.function.open(runtime_context)
        self._clocks = NoTimers(lambda: time.time_ns() // 1_000_000)
        self._context = UnkeyedContext(self._clocks)

    def close(self) -> None:
        """Close the function."""
        if hasattr(self.function, "close"):
            self.function.close()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """The results for an element of the stream."""
        return self._results(self._methods[0], value, ctx)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """The results for a copy."""
        return self._results(self._methods[1], value, ctx)

    def _results(self, name: str, value: Any, ctx: Any) -> Iterable[Any]:
        call = getattr(self.function, name)
        if self._method == "process":
            self._context.time = ctx.timestamp()
            self._clocks.watermark = ctx.current_watermark()
            return values_of(call(value, self._context), name)
        result = call(value)
        if self._method == "map":
            return () if result is None else (result,)
        return values_of(result, name)


class OfBoth(_Both, BroadcastProcessFunction):
    """Without keys."""


class KeyedOfBoth(_Both, KeyedBroadcastProcessFunction):
    """With keys, but without keyed state."""
