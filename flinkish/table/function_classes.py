"""The base classes of user-defined functions for tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.refusals import refuses
from flinkish.metrics import MetricGroup

if TYPE_CHECKING:
    from flinkish.table.types import DataType

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunctionClass",
]


@refuses(
    {
        "get_number_of_parallel_subtasks get_max_number_of_parallel_subtasks": "Spark decides how "
        "many tasks a stage of a query has, and tells a task only its own number"
    }
)
class FunctionContext:
    """The facts about its task that a function can ask for when a worker opens it."""

    def __init__(
        self,
        base_metric_group: MetricGroup,
        job_parameters: Mapping[str, str] | None = None,
        task_name: str = "",
        task: tuple[int, int] = (0, 0),
    ) -> None:
        self._metrics = base_metric_group
        self._parameters = dict(job_parameters or {})
        self._name = task_name
        self._task = task

    def get_task_name(self) -> str:
        """The name of the function."""
        return self._name

    def get_task_name_with_subtasks(self) -> str:
        """The name of the function, and the number of the task."""
        return f"{self._name} ({self.get_index_of_this_subtask()})"

    def get_index_of_this_subtask(self) -> int:
        """The number of Spark's task, from 0."""
        return self._task[0]

    def get_attempt_number(self) -> int:
        """How often the task has failed before."""
        return self._task[1]

    def get_metric_group(self) -> MetricGroup:
        """Metrics of the function on this worker; Spark's SQL sends them nowhere."""
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter, or the default."""
        return self._parameters.get(key, default_value)


class UserDefinedFunctionClass(ABC):  # noqa: B024
    """A function that a worker opens before its first row and closes at its own end."""

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027
        """Prepare for rows, such as by opening connections or loading lookup tables."""

    def close(self) -> None:  # noqa: B027
        """Release what `open` acquired; called when the worker discards the function."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results; Spark may then call it less often."""
        return True


class ScalarFunction(UserDefinedFunctionClass):
    """A function that returns a value for each row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for the arguments of a row."""


class AsyncScalarFunction(UserDefinedFunctionClass):
    """A coroutine that returns a value for each row; the rows of a batch run concurrently."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The value for the arguments of a row."""


class TableFunction(UserDefinedFunctionClass):
    """A function that returns any number of rows for each row."""

    @abstractmethod
    def eval(self, *args: Any) -> Iterable[Any]:
        """The rows for the arguments of a row; a row of one column may be a plain value."""


class ImperativeAggregateFunction(UserDefinedFunctionClass):
    """A function of a group of rows, which changes an accumulator row by row."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """The accumulator of an empty group."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Change the accumulator by the arguments of a row."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Undo `accumulate`; never called, since rows of a query here do not change later."""
        raise UnsupportedOperationError("rows of a query do not change later, so nothing retracts")

    def merge(self, accumulator: Any, accumulators: Iterable[Any]) -> None:
        """Merge other accumulators into this one, as when session windows merge."""
        raise UnsupportedOperationError(
            f"{type(self).__name__} has no merge(accumulator, accumulators), which session windows "
            "need"
        )

    def get_result_type(self) -> DataType | str:
        """The type of results, unless udaf or udtaf gets a ``result_type``."""
        raise IllegalArgumentError(
            f"{type(self).__name__} needs a result_type, or a method get_result_type"
        )

    def get_accumulator_type(self) -> DataType | str:
        """The type of accumulators; not needed, since accumulators may be any objects here."""
        raise IllegalArgumentError(f"{type(self).__name__} has no type of accumulators")


class AggregateFunction(ImperativeAggregateFunction):
    """A function that returns a value for each group of rows."""

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """The value for the rows that were accumulated."""


class TableAggregateFunction(ImperativeAggregateFunction):
    """A function that returns rows for each group of rows."""

    @abstractmethod
    def emit_value(self, accumulator: Any) -> Iterable[Any]:
        """The rows for the rows that were accumulated."""
