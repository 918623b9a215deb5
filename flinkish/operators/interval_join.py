"""The operator that joins two streams whose elements are near one another in event time."""

from __future__ import annotations

from flinkish._core.windows.elements.interval_join import IntervalJoin
from flinkish.common.durations import DurationLike
from flinkish.common.output_tag import OutputTag
from flinkish.functions.join import ProcessJoinFunction
from flinkish.operators.base import OperatorEnvironment
from flinkish.operators.join_definition import JoinDefinition
from flinkish.operators.two_input import KeyedTwoInputOperator

__all__ = ["IntervalJoinOperator"]


class IntervalJoinOperator(KeyedTwoInputOperator):
    """Calls a ProcessJoinFunction for each left and right element of a key within an interval.

    Flink's IntervalJoinOperator.
    ``lower_bound`` and ``upper_bound`` bound right time minus left time; they may be negative and
    are inclusive unless said otherwise.  Output has the later of the two times.  An element before
    the watermark joins nothing: it goes to its side output, or is counted.  Elements are kept
    until the watermark has passed all that could join them.

    Metrics besides those of every keyed operator: ``numLateRecordsDropped``.
    """

    engine: IntervalJoin

    def __init__(
        self,
        function: ProcessJoinFunction,
        lower_bound: DurationLike,
        upper_bound: DurationLike,
        lower_bound_inclusive: bool = True,
        upper_bound_inclusive: bool = True,
        *,
        left_late_data_output_tag: OutputTag | None = None,
        right_late_data_output_tag: OutputTag | None = None,
    ) -> None:
        definition = JoinDefinition.between(lower_bound, upper_bound).with_function(function)
        definition = definition.with_late(
            left=left_late_data_output_tag, right=right_late_data_output_tag
        )
        if not lower_bound_inclusive:
            definition = definition.without_lower()
        if not upper_bound_inclusive:
            definition = definition.without_upper()
        super().__init__(definition)
        self.function = function

    def _count_all(self, environment: OperatorEnvironment) -> None:
        super()._count_all(environment)
        engine = self.engine
        environment.metrics.gauge("numLateRecordsDropped", lambda: engine.dropped)
