"""Streams in words: their reprs, and what `explain` says of the operators before them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from flinkish.spark.explained import explain_error
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.streams.chosen_keys import no_key
from flinkish.spark.streams.rows import StreamRows

__all__ = ["Explained", "columns_of", "details_of"]


class Explained(ABC):
    """A stream that explains itself, and why a query on it failed."""

    _rows: StreamRows

    @abstractmethod
    def to_df(self) -> DataFrame:
        """The rows as a DataFrame."""

    def explain(self, extended: bool = False) -> str:
        """How each operator runs, a line for each: row by row or by columns, and why.

        With ``extended`` below each line the keys, key groups and partitions of the operator, its
        event time and watermark, its timers, and how its checkpoint finds its state.
        """
        if not self._rows.paths:
            return "no operator: the rows of a DataFrame"
        lines: list[str] = []
        for path, details in self._rows.paths.items():
            lines += [path, *(f"  {detail}" for detail in details)] if extended else [path]
        return "\n".join(lines)

    def error(self, query: StreamingQuery) -> str | None:
        """The explanation of the error that ended a query; None if no error did."""
        error = query.exception()
        return None if error is None else explain_error(error)

    def __repr__(self) -> str:
        operators = [path.partition(": ")[0] for path in self._rows.paths]
        after = f" after {' and '.join(operators)}" if operators else ""
        return f"{type(self).__name__}{columns_of(self._rows.in_columns())}{after}"


def columns_of(frame: DataFrame) -> str:
    """The columns of a DataFrame and their types, as Spark's repr has them."""
    return f"[{', '.join(f'{name}: {kind}' for name, kind in frame.dtypes)}]"


def details_of(plan: OperatorPlan, watermark: str | None, partitions: int) -> list[str]:
    """The description of an operator beside how it runs, a line each."""
    details = [f"keys: {_keys(plan)}"]
    if plan.second is not None:
        details.append(f"keys of the second input: {_keys(plan.second)}")
    if not plan.streaming:
        timers = "all fire at the end of the key's rows"
        return [*details, f"event time: {_time(plan)}", f"timers: {timers}", "state: of this run"]
    if plan.bounded:
        timers = "those on event time all fire at the end"
        return [*details, f"event time: {_time(plan)}", f"timers: {timers}", "state: of this run"]
    return [
        *details,
        f"key groups: {plan.max_parallelism}, in {partitions} partitions",
        f"event time: {_time(plan)}; watermark: {watermark or 'none'}",
        f"timers: on {'event and processing time' if plan.processing_time else 'event time'}",
        f"state: {_where(plan)}",
    ]


def _keys(plan: OperatorPlan) -> str:
    if plan.key_selector is no_key:
        return "none"
    if plan.key_selector is not None:
        return "a function of the row"
    return ", ".join(plan.key_columns) or "none"


def _time(plan: OperatorPlan) -> str:
    if plan.chained:
        return "that of the operator before"
    return "none" if plan.event_time is None else f"column {plan.event_time!r}"


def _where(plan: OperatorPlan) -> str:
    if plan.is_versioned:
        return f"versioned by batch, in the checkpoint's files of {plan.uid!r}"
    return f"in the checkpoint, of {_whose(plan)}"


def _whose(plan: OperatorPlan) -> str:
    if plan.named:
        return f"uid {plan.uid!r}"
    return f"the operator at this place (without a uid, called {plan.uid!r})"
