"""The definition of an interval join: checked when it is made, the same in every runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flinkish._core.windows.elements.interval_join import IntervalJoin, JoinContext, JoinInput
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.methods import require_methods
from flinkish.common.output_tag import OutputTag
from flinkish.functions.join import ProcessJoinFunction
from flinkish.operators.definition import EnginePlace, KeyedDefinition
from flinkish.state.backend import KeyedStateBackend, StateDeclaration
from flinkish.time.domain import TimeDomain
from flinkish.time.namespaces import VOID_NAMESPACE

__all__ = ["JoinDefinition"]

ProcessJoinFunction.Context.register(JoinContext)

_FARTHEST = 2**62


@dataclass(frozen=True)
class JoinDefinition(KeyedDefinition):
    """Which pairs an interval join makes, and what becomes of elements that come too late.

    A pair is joined when right time minus left time is from ``lower`` to ``upper``, in ms, both
    included.
    """

    lower: int
    upper: int
    left_late: OutputTag | None = None
    right_late: OutputTag | None = None
    function: Any = None

    kind = "interval join"

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
        require_methods(
            function,
            ("process_element", "open", "close"),
            "interval_join needs a ProcessJoinFunction",
        )
        return replace(self, function=function)

    @property
    def functions(self) -> Sequence[Any]:
        """The function."""
        return [self.function]

    def services(self) -> dict[str, str]:
        """The timers that let elements go."""
        return {"cleanup-timers": VOID_NAMESPACE.name}

    def settings(self) -> dict[str, Any]:
        """The bounds."""
        return {"bounds": [self.lower, self.upper]}

    def make_engine(self, place: EnginePlace) -> IntervalJoin:
        """The loop that makes pairs; with names of its Rows an input keeps their values only."""
        left, right = place.names
        backend = place.backend
        return IntervalJoin(
            backend.table,
            place.timers,
            self.function.process_element,
            OutputTag,
            TimeDomain.EVENT_TIME,
            TimeDomain.PROCESSING_TIME,
            JoinInput(
                _cell(backend, "left-buffer", left), self.lower, self.upper, self.left_late, left
            ),
            JoinInput(
                _cell(backend, "right-buffer", right),
                -self.upper,
                -self.lower,
                self.right_late,
                right,
            ),
        )


def _cell(backend: KeyedStateBackend, name: str, names: Sequence[str] | None) -> int:
    # Rows are kept by position: a restart with other columns must not take these for those.
    what = "anything" if names is None else f"rows of {', '.join(names)}"
    (cell,) = backend.reconcile([StateDeclaration(name, "elements", what, False)])
    return cell
