"""The runtime contexts that operators give to user functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from flinkish._core.operators.keyed_process import (
    KeyedContext,
    KeyedTimerContext,
    KeyedTimerService,
)
from flinkish._core.state.keyed_state import (
    AggregatingCell,
    ListCell,
    MapCell,
    ReducingCell,
    ValueCell,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    SerializationError,
    UnsupportedOperationError,
)
from flinkish.common.type_variables import IN, OUT, K, T, V
from flinkish.functions.process import KeyedCoProcessFunction, KeyedProcessFunction
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.metrics import MetricGroup
from flinkish.state.api import AggregatingState, ListState, MapState, ReducingState, ValueState
from flinkish.state.backend import KeyedStateBackend
from flinkish.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flinkish.time.timer_service import TimerService

__all__ = ["KeyedRuntimeContext", "TaskRuntimeContext"]

# So that isinstance(state, ValueState) holds for what functions get, and the same for contexts.
# All of it here, since whatever runs a function makes its runtime context first.
ValueState.register(ValueCell)
ListState.register(ListCell)
MapState.register(MapCell)
ReducingState.register(ReducingCell)
AggregatingState.register(AggregatingCell)
TimerService.register(KeyedTimerService)
for _function in (KeyedProcessFunction, KeyedCoProcessFunction):
    _function.Context.register(KeyedContext)
    _function.OnTimerContext.register(KeyedTimerContext)


class TaskRuntimeContext(RuntimeContext):
    """Where a function runs; there are no keys, so keyed state is refused."""

    def __init__(
        self,
        *,
        task_name: str,
        index: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        attempt: int = 0,
        metrics: MetricGroup | None = None,
        job_parameters: Mapping[str, str] | None = None,
    ) -> None:
        self._task_name = task_name
        self._index = index
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._attempt = attempt
        self._metrics = MetricGroup() if metrics is None else metrics
        self._job_parameters = dict(job_parameters or {})

    def get_task_name(self) -> str:
        """The name of the task."""
        return self._task_name

    def get_number_of_parallel_subtasks(self) -> int:
        """Into how many subtasks the keys are divided."""
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Which of the subtasks this is, from 0."""
        return self._index

    def get_attempt_number(self) -> int:
        """How often this subtask was tried before."""
        return self._attempt

    def get_task_name_with_subtasks(self) -> str:
        """For instance ``"alerts (3/8)"``."""
        return f"{self._task_name} ({self._index + 1}/{self._parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A setting of the job, or ``default_value``."""
        return self._job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        """Where the function's metrics live."""
        return self._metrics

    def without_keys(self) -> TaskRuntimeContext:
        """The same task, for a function that must not ask for state of a key."""
        return TaskRuntimeContext(
            task_name=self._task_name,
            index=self._index,
            parallelism=self._parallelism,
            max_parallelism=self._max_parallelism,
            attempt=self._attempt,
            metrics=self._metrics,
            job_parameters=self._job_parameters,
        )

    def _refuse(self) -> NoReturn:
        raise UnsupportedOperationError(
            f"the task {self._task_name!r} has no keys, and this state is of a key: use key_by "
            "before the function"
        )

    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Refuse: UnsupportedOperationError, for a function without keys has no keyed state."""
        self._refuse()

    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Refuse: UnsupportedOperationError, for a function without keys has no keyed state."""
        self._refuse()

    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Refuse: UnsupportedOperationError, for a function without keys has no keyed state."""
        self._refuse()

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Refuse: UnsupportedOperationError, for a function without keys has no keyed state."""
        self._refuse()

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Refuse: UnsupportedOperationError, for a function without keys has no keyed state."""
        self._refuse()


class KeyedRuntimeContext(TaskRuntimeContext):
    """Where a keyed function runs, and its states over a backend.

    The states, and the timers over the same table, raise flinkish's own errors from now on:
    IllegalStateError without a current key, ArgumentTypeError and IllegalArgumentError for
    values that the state cannot hold, SerializationError for those that cannot be pickled.

    ``of_key``: the states are the key's own while a row of the key and a window is current.
    """

    def __init__(
        self,
        backend: KeyedStateBackend,
        *,
        task_name: str,
        index: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        attempt: int = 0,
        metrics: MetricGroup | None = None,
        job_parameters: Mapping[str, str] | None = None,
        of_key: bool = False,
    ) -> None:
        super().__init__(
            task_name=task_name,
            index=index,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            attempt=attempt,
            metrics=metrics,
            job_parameters=job_parameters,
        )
        self._backend = backend
        self._of_key = of_key
        backend.table.illegal_state = IllegalStateError
        backend.table.illegal_argument = IllegalArgumentError
        backend.table.illegal_type = ArgumentTypeError
        backend.table.not_serializable = SerializationError

    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """One value of each key."""
        state: ValueState[T] = self._state(state_descriptor, ValueStateDescriptor)
        return state

    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list of each key."""
        state: ListState[T] = self._state(state_descriptor, ListStateDescriptor)
        return state

    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """A map of each key."""
        state: MapState[K, V] = self._state(state_descriptor, MapStateDescriptor)
        return state

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """One reduced value of each key."""
        state: ReducingState[T] = self._state(state_descriptor, ReducingStateDescriptor)
        return state

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, Any, OUT]
    ) -> AggregatingState[IN, OUT]:
        """One accumulator of each key."""
        state: AggregatingState[IN, OUT] = self._state(state_descriptor, AggregatingStateDescriptor)
        return state

    def _state(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        if not isinstance(descriptor, kind):
            raise ArgumentTypeError(
                f"{descriptor!r} of type {type(descriptor).__name__} was given where a "
                f"{kind.__name__} is needed"
            )
        return self._backend.state(descriptor, of_key=self._of_key)
