"""The classes of functions that a program of tables writes."""

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
    """The facts that a function of tables is told when it opens on a worker."""

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
        """How many times the task failed before."""
        return self._task[1]

    def get_metric_group(self) -> MetricGroup:
        """Metrics of the function on this worker; Spark's SQL sends them nowhere."""
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter, or the default."""
        return self._parameters.get(key, default_value)


class UserDefinedFunctionClass(ABC):  # noqa: B024
    """A function with a life on a worker: opened before its first row, closed with the worker."""

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027
        """Prepare: connections, tables that are looked up."""

    def close(self) -> None:  # noqa: B027
        """Release what `open` took; called when the worker lets the function go."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results; Spark may then call it less often."""
        return True


class ScalarFunction(UserDefinedFunctionClass):
    """A function that gives a value for each row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for the arguments of a row."""


class AsyncScalarFunction(UserDefinedFunctionClass):
    """A coroutine that gives a value for each row; the rows of a batch are under way together."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The value for the arguments of a row."""


class TableFunction(UserDefinedFunctionClass):
    """A function that gives rows, none or many, for each row."""

    @abstractmethod
    def eval(self, *args: Any) -> Iterable[Any]:
        """The rows for the arguments of a row; a row of one column may be its value."""


class ImperativeAggregateFunction(UserDefinedFunctionClass):
    """A function of a group of rows, which changes an accumulator row by row."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """The accumulator of no rows."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Change the accumulator by the arguments of a row."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Undo `accumulate`; never called, since rows of a query here do not change later."""
        raise UnsupportedOperationError("rows of a query do not change later, so nothing retracts")

    def merge(self, accumulator: Any, accumulators: Iterable[Any]) -> None:
        """Take other accumulators into one; session windows that meet do that."""
        raise UnsupportedOperationError(
            f"{type(self).__name__} has no merge(accumulator, accumulators), which session windows "
            "need"
        )

    def get_result_type(self) -> DataType | str:
        """The type of results; or udaf and udtaf are told ``result_type``."""
        raise IllegalArgumentError(
            f"{type(self).__name__} needs a result_type, or a method get_result_type"
        )

    def get_accumulator_type(self) -> DataType | str:
        """The type of accumulators, which may be any object here."""
        raise IllegalArgumentError(f"{type(self).__name__} has no type of accumulators")


class AggregateFunction(ImperativeAggregateFunction):
    """A function that gives a value for a group of rows."""

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """The value for the rows that were accumulated."""


class TableAggregateFunction(ImperativeAggregateFunction):
    """A function that gives rows for a group of rows."""

    @abstractmethod
    def emit_value(self, accumulator: Any) -> Iterable[Any]:
        """The rows for the rows that were accumulated."""
