"""The questions that a function can ask of the operator that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.common.type_variables import IN, OUT, K, T, V
from flinkish.metrics import MetricGroup
from flinkish.state.api import AggregatingState, ListState, MapState, ReducingState, ValueState
from flinkish.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

__all__ = ["KeyedStateStore", "RuntimeContext"]


class KeyedStateStore(ABC):
    """Gives the states of the current key, each by its descriptor.

    A state is asked for once, usually in ``open``, and stands for whatever key is current when
    it is used.  UnsupportedOperationError where there are no keys; StateMigrationError where a
    state of the name exists with another kind or type.
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """One value of each key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list of each key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """A map of each key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """One reduced value of each key."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """One accumulator of each key."""


class RuntimeContext(KeyedStateStore):
    """Where a function runs, its metrics, and its states."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the task."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Into how many subtasks the keys are divided."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Which of the subtasks this is, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often this subtask was tried before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The name with index and number of subtasks, counted from 1: ``"alerts (3/8)"``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A setting of the job, or ``default_value``."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where the function's metrics live."""
