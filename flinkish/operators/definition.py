"""Definitions of operators: the functions and the loop, apart from the place where they run.

A definition is made where the job is written, checked there, and travels to where it runs.  There
it makes the operator's engine: the compiled loop over keyed state that takes batches of elements.
Harnesses and tasks feed that engine through `KeyedEngineOperator`, Spark's tasks through
`flinkish.spark.keyed.operator_run`; neither knows how it is put together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish.common.output_tag import OutputTag
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.state.backend import KeyedStateBackend
from flinkish.time.domain import TimeDomain
from flinkish.time.namespaces import VOID_NAMESPACE

__all__ = ["EnginePlace", "KeyedDefinition", "OperatorDefinition", "process_engine"]

Method = Callable[[Any, Any], Any]


class OperatorDefinition(ABC):
    """A keyed operator apart from its place: plain data, but for the functions of the user."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Which states and timers of flinkish's own it has, in words that checkpoints keep."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The class of the function, for messages."""

    def settings(self) -> dict[str, Any]:
        """The settings that give stored bytes their meaning, as plain data for checkpoints."""
        return {}

    def for_packing(self) -> OperatorDefinition | None:
        """The part that tasks which only prepare its rows need; functions may be large."""
        return None


@dataclass(frozen=True)
class EnginePlace:
    """The surroundings of an engine.

    ``names`` are the fields of the Rows of each input, for operators that then keep their values
    only; ``groups`` the key groups that the table holds at first.  ``watch`` wraps the methods that
    are called with elements and timers.
    """

    backend: KeyedStateBackend
    timers: KeyedTimerService
    runtime_context: RuntimeContext
    names: Sequence[Sequence[str] | None] = (None, None)
    groups: Sequence[int] = (0,)
    watch: Callable[[Method], Method] | None = None


def function_name(function: Any) -> str:
    """The class of a function, or of the user's that it runs (``shown_as``), for messages."""
    found: str = getattr(function, "shown_as", type(function).__name__)
    return found


class KeyedDefinition(OperatorDefinition):
    """The definition of an operator whose elements and timers go through a compiled loop."""

    # Whether states that functions ask for are the key's while a window of it is current.
    of_key: ClassVar[bool] = False
    # The method of the function that timers call, for messages, and the method of a stream.
    on_time: ClassVar[str] = "on_timer"
    asked_with: ClassVar[str] = "process"

    @property
    @abstractmethod
    def functions(self) -> Sequence[Any]:
        """The functions that open and close with the operator; the first one names it."""

    @property
    def name(self) -> str:
        """The class of the function, for messages."""
        return function_name(self.functions[0])

    def method_of(self, number: int) -> str:
        """The method of the function for elements of input 1 or 2, for messages."""
        return "process_element"

    def services(self) -> dict[str, str]:
        """Timer services by number: name to name of the namespaces' serializer."""
        return {"user-timers": VOID_NAMESPACE.name}

    @abstractmethod
    def make_engine(self, place: EnginePlace) -> Any:
        """The loop over the table of a place: a KeyedProcess."""

    def late_rows(self, engine: Any) -> int:
        """How many elements of an engine count as late."""
        late: int = engine.late
        return late


def process_engine(
    place: EnginePlace, first: Method, on_timer: Any, second: Method | None = None
) -> KeyedProcess:
    """The loop that calls methods of a function."""
    watch = place.watch or _as_it_is
    return KeyedProcess(
        place.backend.table,
        place.timers,
        watch(first),
        None if on_timer is None else watch(on_timer),
        OutputTag,
        TimeDomain.EVENT_TIME,
        TimeDomain.PROCESSING_TIME,
        None if second is None else watch(second),
    )


def _as_it_is(method: Method) -> Method:
    return method
