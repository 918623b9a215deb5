"""The operator that runs a KeyedProcessFunction."""

from __future__ import annotations

from flinkish.common.methods import require_methods
from flinkish.functions.base import ReduceFunction
from flinkish.functions.process import KeyedProcessFunction
from flinkish.operators.grouped_reduce import GroupedReduce
from flinkish.operators.keyed_engine import KeyedEngineOperator
from flinkish.operators.process_definitions import ProcessDefinition

__all__ = ["KeyedProcessOperator", "StreamGroupedReduceOperator"]


class KeyedProcessOperator(KeyedEngineOperator):
    """Runs a KeyedProcessFunction, key by key.

    Records come out in the order in which the function yields them, with the timestamp of the
    element or event-time timer that they came of, and none from a processing-time timer.  A
    watermark fires its timers before it goes on (Flink: KeyedProcessOperator).

    Late elements (at or before the watermark) reach the function like all others, as in Flink.
    """

    def __init__(self, function: KeyedProcessFunction) -> None:
        require_methods(
            function,
            ("process_element", "on_timer", "open", "close"),
            "KeyedProcessOperator needs a KeyedProcessFunction",
        )
        super().__init__(ProcessDefinition(function))
        self.function = function


class StreamGroupedReduceOperator(KeyedProcessOperator):
    """Reduces the elements of each key; see `GroupedReduce`."""

    def __init__(self, function: ReduceFunction, *, only_last: bool = False) -> None:
        super().__init__(GroupedReduce(function, only_last=only_last))
