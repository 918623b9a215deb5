"""The settings of a window operator: checked when they are made, the same in every runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.methods import require_methods
from flinkish.common.output_tag import OutputTag
from flinkish.state.descriptors import as_reduce
from flinkish.windowing import (
    AfterEndOfWindow,
    ContinuousProcessingTimeTrigger,
    Evictor,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    WindowAssigner,
)
from flinkish.windowing.trigger import require_trigger

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AGGREGATE", "ELEMENTS", "REDUCE", "WindowSettings"]

ELEMENTS = "elements"
REDUCE = "reduce"
AGGREGATE = "aggregate"

_ON_THE_CLOCK = (ProcessingTimeTrigger, ContinuousProcessingTimeTrigger, ProcessingTimeoutTrigger)


@dataclass(frozen=True)
class WindowSettings:
    """One window operator.

    ``keeps`` says what a window holds of its elements: all of them, or what ``fold`` (a
    ReduceFunction or an AggregateFunction) made of them.  ``function`` is called with the
    elements, or with the one result; without it the result is the output.  ``call`` is the method
    of it that is called, ``keyed`` whether with a key.  ``lateness`` is in ms.
    """

    assigner: WindowAssigner
    trigger: Trigger
    evictor: Evictor | None = None
    lateness: int = 0
    late_tag: OutputTag | None = None
    keeps: str = ELEMENTS
    fold: Any = None
    function: Any = None
    call: str = "process"
    keyed: bool = True

    @classmethod
    def of(cls, assigner: WindowAssigner) -> Self:
        """The windows of an assigner, with its own trigger; ArgumentTypeError for anything else."""
        needed = ("assign_windows", "get_default_trigger", "get_window_serializer", "is_event_time")
        require_methods(assigner, needed, "window takes a WindowAssigner")
        trigger = assigner.get_default_trigger(None)
        return cls(assigner, trigger).with_trigger(trigger)

    # --- settings

    def with_trigger(self, trigger: Trigger) -> Self:
        """The same with another trigger; UnsupportedOperationError if it cannot merge.

        As in Flink's WindowOperatorBuilder.
        """
        require_trigger(trigger, "trigger")
        if self.is_merging and not getattr(trigger, "can_merge", bool)():
            raise UnsupportedOperationError(
                f"A merging window assigner cannot be used with a trigger that does not support "
                f"merging: {type(self.assigner).__name__} merges windows, and "
                f"{type(trigger).__name__}.can_merge() is False; implement on_merge and can_merge, "
                "or take windows that do not merge"
            )
        return replace(self, trigger=trigger)

    def with_evictor(self, evictor: Evictor) -> Self:
        """The same with an evictor."""
        require_methods(evictor, ("evict_before", "evict_after"), "evictor takes an Evictor")
        return replace(self, evictor=evictor)

    def with_lateness(self, lateness: DurationLike) -> Self:
        """The same with elements taken that late; IllegalArgumentError on processing time."""
        millis = to_millis(lateness, "allowed_lateness", minimum=0)
        if millis and not self.assigner.is_event_time():
            raise IllegalArgumentError(
                f"nothing is late for {type(self.assigner).__name__}, whose windows do not follow "
                f"event time, so an allowed lateness of {millis} ms has no meaning: leave it out, "
                "or use event-time windows"
            )
        return replace(self, lateness=millis)

    def with_late_tag(self, tag: OutputTag) -> Self:
        """The same with late elements in a side output."""
        if not isinstance(tag, OutputTag):
            raise ArgumentTypeError(f"side_output_late_data takes an OutputTag, not {tag!r}")
        return replace(self, late_tag=tag)

    # --- functions

    def with_function(self, function: Any, call: str, *, keyed: bool = True) -> Self:
        """The same with a function of all elements."""
        return replace(self, function=_window_function(function, (call,)), call=call, keyed=keyed)

    def with_reduce(self, reduce: Any, function: Any = None, *, keyed: bool = True) -> Self:
        """The same with elements reduced as they come, and maybe a function of the result."""
        return self._folding(REDUCE, as_reduce(reduce, "reduce takes"), function, keyed)

    def with_aggregate(self, aggregate: Any, function: Any = None, *, keyed: bool = True) -> Self:
        """The same with elements aggregated as they come, and maybe a function of the result."""
        needed = ["create_accumulator", "add", "get_result"]
        needed += ["merge"] if self.is_merging else []
        require_methods(aggregate, needed, "aggregate takes an AggregateFunction")
        return self._folding(AGGREGATE, aggregate, function, keyed)

    def _folding(self, keeps: str, fold: Any, function: Any, keyed: bool) -> Self:
        if function is None:
            return replace(self, keeps=keeps, fold=fold, keyed=keyed)
        found = _window_function(function, ("process", "apply"))
        call = "process" if callable(getattr(function, "process", None)) else "apply"
        return replace(self, keeps=keeps, fold=fold, function=found, call=call, keyed=keyed)

    # --- what follows from it

    @property
    def is_merging(self) -> bool:
        """Whether windows of a key may become one."""
        return callable(getattr(self.assigner, "merge_windows", None))

    @property
    def needs_event_time(self) -> bool:
        """Whether elements must have timestamps."""
        return self.assigner.is_event_time()

    @property
    def uses_processing_time(self) -> bool:
        """Whether there may be timers on processing time, as far as built-in parts show."""
        return any(isinstance(one, _ON_THE_CLOCK) for one in self.triggers)

    @property
    def triggers(self) -> list[Trigger]:
        """The trigger and those that it consists of."""
        return list(_nested(self.trigger))

    @property
    def functions(self) -> Sequence[Any]:
        """The functions that open and close with it; the first one gives errors their name."""
        found = [one for one in (self.function, self.fold) if one is not None]
        return [one for one in found if callable(getattr(one, "open", None))] or found

    @property
    def name(self) -> str:
        """The class of the window function, or of what folds elements."""
        return type(self.function if self.function is not None else self.fold).__name__


def _window_function(function: Any, calls: tuple[str, ...]) -> Any:
    if isinstance(function, type) or not any(
        callable(getattr(function, call, None)) for call in calls
    ):
        wanted = " or ".join(calls)
        raise ArgumentTypeError(
            f"a window function has {wanted}, and {function!r} of type {type(function).__name__} "
            "has none" + ("; make an instance" if isinstance(function, type) else "")
        )
    return function


def _nested(trigger: Any) -> Iterator[Any]:
    """A trigger and those that it consists of."""
    yield trigger
    inner: tuple[Any, ...] = ()
    if isinstance(trigger, (PurgingTrigger, ProcessingTimeoutTrigger)):
        inner = (trigger.nested_trigger,)
    elif isinstance(trigger, AfterEndOfWindow):
        inner = (trigger.early, trigger.late)
    for one in inner:
        if one is not None:
            yield from _nested(one)
