"""Definitions of operators that call a process function, of one input or of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flinkish._core.operators.keyed_process import KeyedProcess
from flinkish.operators.definition import EnginePlace, KeyedDefinition, process_engine
from flinkish.operators.grouped_reduce import GroupedReduce

__all__ = ["CoProcessDefinition", "ProcessDefinition"]


@dataclass(frozen=True)
class ProcessDefinition(KeyedDefinition):
    """A KeyedProcessFunction."""

    function: Any

    @property
    def kind(self) -> str:
        """Whether it rolls on to one value, in a state of its own, or is called for one value."""
        if isinstance(self.function, GroupedReduce):
            return "reduce"
        method: str = getattr(self.function, "method", "process")
        return method

    @property
    def functions(self) -> Sequence[Any]:
        """The function."""
        return [self.function]

    def make_engine(self, place: EnginePlace) -> KeyedProcess:
        """The loop that calls it."""
        return process_engine(place, self.function.process_element, self.function.on_timer)


@dataclass(frozen=True)
class CoProcessDefinition(KeyedDefinition):
    """A KeyedCoProcessFunction: elements of both inputs find the state and timers of their key.

    Or a CoProcessFunction, whose timers call nothing.
    """

    function: Any
    kind = "process of connected streams"

    @property
    def functions(self) -> Sequence[Any]:
        """The function."""
        return [self.function]

    def method_of(self, number: int) -> str:
        """Each input has a method of its own."""
        return f"process_element{number}"

    def make_engine(self, place: EnginePlace) -> KeyedProcess:
        """The loop that calls it."""
        function = self.function
        return process_engine(
            place,
            function.process_element1,
            getattr(function, "on_timer", None),
            function.process_element2,
        )
