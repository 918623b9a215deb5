"""Statements of a program as nodes of its graph, and as jobs."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from itertools import count
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.typeinfo import RowTypeInfo, Types
from flinkish.environment.environment import StreamExecutionEnvironment
from flinkish.environment.nodes import Act, Node, with_ancestors
from flinkish.environment.settings import RuntimeExecutionMode
from flinkish.environment.sinks import collect_sink
from flinkish.table.assigned import assigned
from flinkish.table.connectors import Connector, connector_of
from flinkish.table.program_tables import ProgramTables
from flinkish.table.sql_words import flink_words
from flinkish.table.statements import Insert, name_of
from flinkish.table.table import Table
from flinkish.table.table_descriptor import TableDescriptor
from flinkish.table.table_result import TableResult
from flinkish.table.udf import UserDefinedFunction, functions_in

if TYPE_CHECKING:
    from flinkish.spark.jobs.queries import Analysis

__all__ = ["Planner", "Sink", "described"]

# The name of a table that is written to, the node of its rows, and what becomes of them.
Sink: TypeAlias = "tuple[str, Node, Act]"


class Planner:
    """Makes tables of queries, and jobs of tables, for one program.

    Each table is a node of the graph of its streams, so a job reads what it needs and no more, and
    what several tables read is made once.
    """

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self.environment = environment
        self.catalog = ProgramTables()
        self._unnamed: dict[str, Table] = {}
        self.functions: dict[str, UserDefinedFunction] = {}
        self._numbers = count()

    # --- tables

    def read(self, name: str, connector: Connector) -> Table:
        """The table of a connector; UnsupportedOperationError if it is for writing alone."""
        source = connector.source()
        node = self.environment._graph.add(name, "source", kind=connector.kind, source=source)
        return self.table(node, times=connector.times)

    def table(
        self, node: Node, updates: str = "", times: Mapping[str, int] = MappingProxyType({})
    ) -> Table:
        """The table of a node."""
        return Table(self, node, updates, times)

    def name_of(self, table: Table) -> str:
        """The name under which SQL finds a table that has none; each call gives the same."""
        for name, one in self._unnamed.items():
            if one is table:
                return name
        name = f"UnnamedTable_{next(self._numbers)}"
        self._unnamed[name] = table
        return name

    def kinds(self) -> dict[str, RowTypeInfo]:
        """The types of the rows of all tables that SQL finds, by name."""
        return {
            name: one.kind if isinstance(one, Connector) else one._kind
            for name, one in self._entries().items()
        }

    def _entries(self) -> dict[str, Table | Connector]:
        named = {name: self.catalog.get(name) for name in self.catalog.names()}
        return {**named, **self._unnamed}

    def query(self, text: str, tables: Mapping[str, Table]) -> Table:
        """The table of a query, over all tables that have names, and over these."""
        from flinkish.spark.jobs.queries import Change, Query, QueryInput, analyze

        text = flink_words(text)
        entries = {**self._entries(), **tables}
        spark = self.environment._session()
        text = self._registered(spark, text)
        query = Query.of(text, self.kinds() | {name: one._kind for name, one in tables.items()})
        found = analyze(spark, query)
        kind = found.kind
        reads: list[tuple[str, Table]] = []
        for name, times in found.reads.items():
            one = entries[name]
            read = self.read(name, one) if isinstance(one, Connector) else one
            reads += [(name, read)] * min(times, 2)  # what is read twice is made once
        graph = self.environment._graph
        if not reads:
            source = lambda: QueryInput(query, kind)  # noqa: E731
            return self.table(graph.add("SQL", "source", kind=kind, source=source))
        updates = self._updates_of(found, [one for _, one in reads])
        names = [name for name, _ in reads]
        nodes = [one._node for _, one in reads]
        # A query of all rows is one of the first micro-batch, if all of them come with it.
        changes = found.changes
        once = changes is not None and changes.change > Change.EACH
        timed = next((one.name for one in with_ancestors(nodes) if one.keyed), None)

        def build(this: Any, *streams: Any) -> Any:
            within = streams[0]._rows.within
            if once and timed and within is not None and not within.bounded:
                assert changes is not None
                raise UnsupportedOperationError(
                    f"a query with {changes.why} is of bounded sources, in a job that has an "
                    f"unbounded one: after {timed} rows may come with timers in later "
                    "micro-batches. Run it in a job of its own, or use streams for it"
                )
            inputs = dict(zip(names, streams, strict=True))
            return query.rows(this, inputs, kind, once=once)

        node = graph.add("SQL", "table", nodes, kind=kind, build=build)
        return self.table(node, updates, _kept_times(kind, [one for _, one in reads]))

    def _registered(self, spark: Any, text: str) -> str:
        """Register with Spark the functions that a text calls; returns the text for Spark."""
        parameters = self.environment.get_config().get_global_job_parameters()
        for function in functions_in(text):
            function.register(spark, parameters=parameters)
        for name, function in self.functions.items():
            if re.search(rf"\b{re.escape(name)}\s*\(", text, re.I):
                function.register(spark, name, parameters)
                if function.takes_nothing:
                    text = re.sub(
                        rf"\b{re.escape(name)}\s*\(\s*\)", f"{name}(TRUE)", text, flags=re.I
                    )
        return text

    def _updates_of(self, found: Analysis, reads: Sequence[Table]) -> str:
        """The words of SQL that make rows of a query change while others come, or nothing.

        UnsupportedOperationError for a query that needs all rows of an unbounded source.
        """
        from flinkish.spark.jobs.queries import Change

        changes = found.changes
        if changes is None:  # Spark Connect shows no plan
            return ""
        if any(one._unbounded for one in reads) and changes.change > Change.EACH:
            raise UnsupportedOperationError(
                f"this query has {changes.why}, and a table that it reads is unbounded: its rows "
                "come a micro-batch at a time, and the result would be one for each micro-batch. "
                "Use streams for it, key_by(...) with window(...), reduce(...) or process(...), or "
                "read the source with Spark, whose streaming SQL keeps state"
            )
        own = changes.why if changes.change is Change.UPDATE else ""
        return own or next((one._updates for one in reads if one._updates), "")

    def _changes_in_flight(self, table: Table) -> bool:
        """Whether Flink would give changes of rows of this table: in streaming mode alone."""
        mode = self.environment._mode
        automatic = mode is RuntimeExecutionMode.AUTOMATIC and table._unbounded
        return bool(table._updates) and (mode is RuntimeExecutionMode.STREAMING or automatic)

    def check_appends(self, table: Table, what: str) -> None:
        """UnsupportedOperationError for a table whose rows change, in streaming mode."""
        if self._changes_in_flight(table):
            raise UnsupportedOperationError(
                f"{what} takes rows that do not change later, and {table._updates} makes rows "
                "change in streaming mode: take to_changelog_stream(table), which gives the final "
                "rows, or set RuntimeExecutionMode.BATCH"
            )

    # --- jobs

    def collect(self, table: Table) -> TableResult:
        """Start a job for the rows of a table."""
        environment = self.environment
        queue: SimpleQueue[Any] = SimpleQueue()
        nodes = environment._graph.apart("Collect", (table._node,), collect_sink(queue.put))
        job = environment._job(nodes, _job_name("collect"))
        job.start()
        return TableResult.of_query(table._kind, job, queue)

    def insert(self, sinks: Sequence[Sink]) -> TableResult:
        """Start a job that writes rows to tables."""
        environment = self.environment
        nodes: dict[Node, None] = {}
        for target, node, act in sinks:
            nodes |= dict.fromkeys(environment._graph.apart(f"Insert {target}", (node,), act))
        targets = [target for target, _, _ in sinks]
        job = environment._job(list(nodes), _job_name(f"insert-into_{','.join(targets)}"))
        job.start()
        kind = RowTypeInfo([Types.LONG()] * len(targets), _distinct(targets))
        row = (-1,) * len(targets)
        return TableResult.of_rows(kind, [row], job=job)

    def sink_of(self, asked: Insert) -> Sink:
        """The sink of an INSERT."""
        table = self.query(asked.query, {})
        return self.sink(asked.target, table, asked.columns, overwrite=asked.overwrite)

    def sink(
        self,
        target: str | TableDescriptor,
        table: Table,
        columns: Sequence[str] = (),
        *,
        overwrite: bool,
    ) -> Sink:
        """The sink that writes the rows of a table to another one, as its columns."""
        if isinstance(target, TableDescriptor):
            name = f"Unnamed{next(self._numbers)}"
            found: Any = described(name, target)
        else:
            name = name_of(target)
            found = self.catalog.find(name)
        if isinstance(found, Table):
            raise IllegalArgumentError(f"{name!r} is a view, and no rows can be written to it")
        if found is None:
            return (
                str(target),
                table._node,
                self._to_spark(str(target), table, columns, overwrite),
            )
        if found.appends:
            self.check_appends(table, f"the connector {found.name!r}")
        text = assigned(name, found.kind, table._kind, columns)
        made = self.query(f"SELECT {text} FROM flinkish_rows", {"flinkish_rows": table})
        return (name, made._node, found.act(self.environment._tasks, overwrite=overwrite))

    def _to_spark(self, target: str, table: Table, columns: Sequence[str], overwrite: bool) -> Act:
        """The act that appends rows to a table of Spark's catalog, by place."""
        spark = self.environment._session()
        if not spark.catalog.tableExists(target):
            names = ", ".join(self.catalog.names()) or "none"
            raise IllegalArgumentError(
                f"there is no table {target!r}, neither of this program ({names}) nor in Spark's "
                "catalog: create it first"
            )
        if columns or (overwrite and table._unbounded):
            raise UnsupportedOperationError(
                f"{target!r} is a table of Spark's catalog: INSERT takes all its columns, in their "
                "order, and OVERWRITE rows of bounded sources"
            )

        def act(this: Any, stream: Any) -> None:
            this.columns_of(stream).write.insertInto(target, overwrite=overwrite)

        return act


def described(name: str, descriptor: TableDescriptor) -> Connector:
    """The connector of a description; IllegalArgumentError if it has no columns with types."""
    if not isinstance(descriptor, TableDescriptor):
        raise ArgumentTypeError(
            "a table is described by TableDescriptor.for_connector(...)...build(), not "
            f"{descriptor!r}"
        )
    schema = descriptor.get_schema()
    if schema is None or schema.computed:
        raise IllegalArgumentError(
            f"the table {name} of a connector needs a schema whose columns have types: "
            "Schema.new_builder().column('id', DataTypes.BIGINT()).build()"
        )
    return connector_of(name, schema.kind, descriptor.get_options(), schema.times)


def _kept_times(kind: RowTypeInfo, read: Sequence[Table]) -> dict[str, int]:
    """The event-time columns that a query over one table keeps under their names."""
    if len({id(one._node) for one in read}) != 1:
        return {}
    columns = set(zip(kind.get_field_names(), kind.field_types, strict=True))
    before = dict(zip(read[0]._kind.get_field_names(), read[0]._kind.field_types, strict=True))
    return {
        name: bound for name, bound in read[0]._times.items() if (name, before[name]) in columns
    }


def _job_name(what: str) -> str:
    """The name of a job: Spark wants another one for each query that runs."""
    return f"{what}-{secrets.token_hex(4)}"


def _distinct(names: Sequence[str]) -> list[str]:
    return [
        name if names.index(name) == at else f"{name}_{names[:at].count(name)}"
        for at, name in enumerate(names)
    ]
