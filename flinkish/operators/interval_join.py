"""The operator that joins two streams whose elements are near one another in event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.windows.elements.interval_join import IntervalJoin, JoinContext, JoinInput
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.output_tag import OutputTag
from flinkish.functions.join import ProcessJoinFunction
from flinkish.operators.base import OperatorEnvironment
from flinkish.operators.two_input import KeyedTwoInputOperator, check_function
from flinkish.state.backend import KeyedStateBackend, StateDeclaration
from flinkish.time.domain import TimeDomain
from flinkish.time.namespaces import VOID_NAMESPACE

__all__ = ["IntervalJoinOperator", "JoinDefinition", "make_join_engine"]

ProcessJoinFunction.Context.register(JoinContext)

_FARTHEST = 2**62


@dataclass(frozen=True)
class JoinDefinition:
    """Which pairs an interval join makes, and what becomes of elements that come too late.

    A pair is joined when right time minus left time is from ``lower`` to ``upper``, in ms, both
    included.
    """

    lower: int
    upper: int
    left_late: OutputTag | None = None
    right_late: OutputTag | None = None
    function: Any = None

    @classmethod
    def between(cls, lower_bound: DurationLike, upper_bound: DurationLike) -> JoinDefinition:
        """Bounds as durations, which may be negative; IllegalArgumentError if they cross."""
        return cls(to_millis(lower_bound), to_millis(upper_bound)).checked()

    def checked(self) -> JoinDefinition:
        """The definition, if anything can be in its interval, and it is not beyond all time."""
        if max(abs(self.lower), abs(self.upper)) > _FARTHEST:
            raise IllegalArgumentError(
                f"the bounds of an interval join are {self.lower} ms and {self.upper} ms; they may "
                f"be {_FARTHEST} ms, which is 146 million years"
            )
        if self.lower > self.upper:
            raise IllegalArgumentError(
                f"an interval join needs a lower bound at or before the upper one; it is from "
                f"{self.lower} ms to {self.upper} ms, exclusive bounds taken off"
            )
        return self

    def without_lower(self) -> JoinDefinition:
        """The lower bound itself does not join."""
        return replace(self, lower=self.lower + 1).checked()

    def without_upper(self) -> JoinDefinition:
        """The upper bound itself does not join."""
        return replace(self, upper=self.upper - 1).checked()

    def with_late(self, *, left: Any = None, right: Any = None) -> JoinDefinition:
        """Side outputs of late elements."""
        for tag in (left, right):
            if tag is not None and not isinstance(tag, OutputTag):
                raise ArgumentTypeError(f"late elements go to an OutputTag, not to {tag!r}")
        return replace(self, left_late=left or self.left_late, right_late=right or self.right_late)

    def with_function(self, function: Any) -> JoinDefinition:
        """The function that gets the pairs; ArgumentTypeError if it is no ProcessJoinFunction."""
        check_function(
            function, ProcessJoinFunction, ("process_element", "open", "close"), "interval_join"
        )
        return replace(self, function=function)


def make_join_engine(
    definition: JoinDefinition,
    backend: KeyedStateBackend,
    timers: KeyedTimerService,
    *,
    left_names: Sequence[str] | None = None,
    right_names: Sequence[str] | None = None,
) -> IntervalJoin:
    """The loop over the table of a backend.

    With names every element is a Row with these field names, and only its values are kept.
    """
    lower, upper = definition.lower, definition.upper
    return IntervalJoin(
        backend.table,
        timers,
        definition.function.process_element,
        OutputTag,
        TimeDomain.EVENT_TIME,
        TimeDomain.PROCESSING_TIME,
        JoinInput(
            _cell(backend, "left-buffer", left_names),
            lower,
            upper,
            definition.left_late,
            left_names,
        ),
        JoinInput(
            _cell(backend, "right-buffer", right_names),
            -upper,
            -lower,
            definition.right_late,
            right_names,
        ),
    )


def _cell(backend: KeyedStateBackend, name: str, names: Sequence[str] | None) -> int:
    # Rows are kept by position: a restart with other columns must not take these for those.
    what = "anything" if names is None else f"rows of {', '.join(names)}"
    (cell,) = backend.reconcile([StateDeclaration(name, "elements", what, False)])
    return cell


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
        super().__init__()
        definition = JoinDefinition.between(lower_bound, upper_bound).with_function(function)
        definition = definition.with_late(
            left=left_late_data_output_tag, right=right_late_data_output_tag
        )
        if not lower_bound_inclusive:
            definition = definition.without_lower()
        if not upper_bound_inclusive:
            definition = definition.without_upper()
        self.definition = definition
        self.function = function

    def _functions(self) -> Sequence[Any]:
        return [self.function]

    def _services(self) -> dict[str, str]:
        return {"cleanup-timers": VOID_NAMESPACE.name}

    def _method_of(self, number: int) -> str:
        return "process_element"

    def _make_engine(self, timers: KeyedTimerService) -> IntervalJoin:
        return make_join_engine(self.definition, self.backend, timers)

    def _count_all(self, environment: OperatorEnvironment) -> None:
        super()._count_all(environment)
        engine = self.engine
        environment.metrics.gauge("numLateRecordsDropped", lambda: engine.dropped)
