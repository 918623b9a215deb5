"""The function that reduces the elements of each key to one that rolls on."""

from __future__ import annotations

from typing import Any

from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.functions.process import KeyedProcessFunction
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.state.descriptors import ValueStateDescriptor, as_reduce

__all__ = ["GroupedReduce"]


class GroupedReduce(KeyedProcessFunction):
    """Runs a ReduceFunction over the elements of each key.

    Every element gives the value that all so far were reduced to, with the element's time.  With
    ``only_last`` only the last value of each key comes out, at the end of time, which is what
    Flink does with bounded input (BatchGroupedReduceOperator).
    """

    def __init__(self, function: Any, *, only_last: bool = False) -> None:
        self.function = as_reduce(function, "reduce takes")
        self._only_last = only_last

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the ReduceFunction."""
        self._value = runtime_context.get_state(ValueStateDescriptor("_op_state"))
        self.function.open(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> list[Any]:
        """The first value of a key as it is, each further one reduced with what there was."""
        before = self._value.value()
        if before is not None:
            value = self.function.reduce(before, value)
        elif self._only_last:
            ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP)
        self._value.update(value)
        return [] if self._only_last else [value]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        """The last value of the key."""
        return [self._value.value()]

    def close(self) -> None:
        """Close the ReduceFunction."""
        self.function.close()
