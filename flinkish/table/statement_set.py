"""PyFlink's sets of statements: several sinks of one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.common.errors import IllegalArgumentError, IllegalStateError
from flinkish.common.refusals import refuses
from flinkish.table.statements import Insert, parse_statement
from flinkish.table.table import Table
from flinkish.table.table_descriptor import TableDescriptor
from flinkish.table.table_pipeline import TablePipeline
from flinkish.table.table_result import TableResult

if TYPE_CHECKING:
    from flinkish.table.planner import Planner, Sink

__all__ = ["StatementSet"]


@refuses(
    {
        "explain print_explain": "a query is planned when its job runs",
        "compile_plan": "Spark plans a query when its job runs: keep the statements",
    }
)
class StatementSet:
    """INSERTs that are collected, then run as one job: what they share is made once."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._sinks: list[Sink] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT; IllegalArgumentError for another statement."""
        found = parse_statement(stmt)
        if not isinstance(found, Insert):
            raise IllegalArgumentError(
                f"a set of statements is of INSERTs, not {stmt!r}: run others with execute_sql"
            )
        self._sinks.append(self._planner.sink_of(found))
        return self

    def add_insert(
        self,
        target_path_or_descriptor: str | TableDescriptor,
        table: Table,
        overwrite: bool = False,
    ) -> StatementSet:
        """Add the rows of a table, for another table."""
        target = self._planner.sink(target_path_or_descriptor, table, overwrite=overwrite)
        self._sinks.append(target)
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add an INSERT from `Table.insert_into`."""
        self._sinks.append(table_pipeline.sink)
        return self

    def attach_as_datastream(self) -> None:
        """Leave the INSERTs to the next job of the StreamExecutionEnvironment."""
        graph = self._planner.environment._graph
        for target, node, act in self._taken():
            graph.add(f"Insert {target}", "sink", (node,), act=act)

    def execute(self) -> TableResult:
        """Start the job."""
        return self._planner.insert(self._taken())

    def _taken(self) -> list[Sink]:
        if not self._sinks:
            raise IllegalStateError("the set has no statements: add_insert_sql(...) adds one")
        found, self._sinks = self._sinks, []
        return found
