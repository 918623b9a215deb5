"""PyFlink's INSERT that waits to be executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flinkish.common.refusals import refuses
from flinkish.table.table_result import TableResult

__all__ = ["TablePipeline"]


@refuses(
    {
        "explain print_explain": "a query is planned when its job runs",
        "compile_plan": "Spark plans a query when its job runs: keep the statement",
    }
)
class TablePipeline:
    """An INSERT of a table's rows into another table; ``insert`` runs several in one job."""

    def __init__(
        self, target: str, sink: Any, insert: Callable[[Sequence[Any]], TableResult]
    ) -> None:
        self.sink = sink
        self._target = target
        self._insert = insert

    def execute(self) -> TableResult:
        """Start a job that writes the rows."""
        return self._insert([self.sink])

    def get_sink_identifier(self) -> str:
        """The name of the table that is written to."""
        return self._target
