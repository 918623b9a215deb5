"""PyFlink's environments of tables, whose SQL Spark runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation, Types
from flinkish.environment.environment import StreamExecutionEnvironment
from flinkish.environment.streams import DataStream
from flinkish.table.assigned import assigned
from flinkish.table.bridge import stream_of, table_of_stream
from flinkish.table.changelog_mode import ChangelogMode
from flinkish.table.connectors import Connector, connector_of
from flinkish.table.elements import rows_of_values
from flinkish.table.environment_settings import EnvironmentSettings
from flinkish.table.planner import Planner, described
from flinkish.table.registered import Registered
from flinkish.table.result_kind import ResultKind
from flinkish.table.schema import Schema
from flinkish.table.statement_set import StatementSet
from flinkish.table.statements import (
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Insert,
    Other,
    Select,
    Show,
    name_of,
    parse_statement,
)
from flinkish.table.table import Table
from flinkish.table.table_config import TableConfig
from flinkish.table.table_descriptor import TableDescriptor
from flinkish.table.table_result import TableResult
from flinkish.table.table_schema import TableSchema
from flinkish.table.types import DataType, DataTypes

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(Registered):
    """The tables of a program, and the statements over them; `create` makes one.

    Statements are of Spark's SQL.  Spark looks at each when it is given, so the first query starts
    the session.  A table that a program named comes before one of Spark's catalog of its name.

    In streaming mode rows of unbounded sources come a micro-batch at a time, so SQL over them may
    make rows of one row each: select, where, expressions, UNION ALL, joins with tables of Spark's.
    Over bounded sources a query is run once, over all rows.

    Threading: one thread gives statements; jobs run in threads of their own.
    """

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._planner = Planner(environment)
        self._catalog = self._planner.catalog

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Any) -> TableEnvironment:
        """An environment of these settings, or of this configuration, without streams."""
        return TableEnvironment(environment_of(None, environment_settings))

    # --- tables by name

    def from_path(self, path: str) -> Table:
        """The table or view of a name; IllegalArgumentError if the program has none."""
        found = self._catalog.get(name_of(path))
        return self._planner.read(name_of(path), found) if isinstance(found, Connector) else found

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: DataType | Sequence[str] | None = None,
        verify_schema: bool = True,
    ) -> Table:
        """A table of rows: of a type DataTypes.ROW([...]), or with names for columns.

        Without types the values say them, as in PyFlink: int is BIGINT, float DOUBLE.
        ``verify_schema`` changes nothing, since values are always looked at.
        IllegalArgumentError for rows whose types cannot be told.
        """
        rows, kind = rows_of_values(elements, schema)
        stream = self._planner.environment.from_collection(rows, kind)
        return table_of_stream(self._planner, stream, ())

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of the rows of a pandas DataFrame, with its columns or those of a schema.

        Missing values (NaN, NaT, None) are null.  ``splits_num`` changes nothing: Spark parts the
        rows.  Errors are those of `from_elements`.
        """
        rows = pdf.astype(object).where(pdf.notna(), None).itertuples(index=False, name=None)
        if schema is None:
            schema = [str(name) for name in pdf.columns]
        elif isinstance(schema, (list, tuple)) and all(isinstance(one, DataType) for one in schema):
            fields = zip(pdf.columns, schema, strict=True)
            schema = DataTypes.ROW([DataTypes.FIELD(str(name), one) for name, one in fields])
        values = [tuple(map(_plain, row)) for row in rows]
        return self.from_elements(values, schema)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """The table of a connector, without a name."""
        return self._planner.read("Table", described("", descriptor))

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False
    ) -> bool:
        """Name a table of a connector; gives whether it is new.

        IllegalArgumentError if the name is taken, unless that is to be ignored.
        """
        name = name_of(path)
        if ignoreIfExists and self._catalog.find(name) is not None:
            return False
        self._catalog.add(name, described(name, descriptor))
        return True

    def create_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False
    ) -> bool:
        """The same; no table of a connector outlives the program."""
        return self.create_temporary_table(path, descriptor, ignoreIfExists)

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream,
        *fields_or_schema: Any,
    ) -> None:
        """Name a table, or that of a stream; IllegalArgumentError if the name is taken."""
        table = table_or_data_stream
        if not isinstance(table, Table):
            table = table_of_stream(self._planner, table, fields_or_schema)
        elif fields_or_schema:
            raise IllegalArgumentError(
                "columns are said for streams; a table has its own, and select(...) chooses"
            )
        self._catalog.add(name_of(view_path), table)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Give a table a name; returns whether the name is new.

        IllegalArgumentError if the name is taken, unless that is to be ignored.
        """
        if ignore_if_exists and self._catalog.find(name_of(view_path)) is not None:
            return False
        self.create_temporary_view(view_path, table)
        return True

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a view; IllegalArgumentError if there is none, unless that is to be ignored."""
        return self.drop_temporary_view(view_path) or self._missing(view_path, ignore_if_not_exists)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a table; IllegalArgumentError if there is none, unless that is to be ignored."""
        return self.drop_temporary_table(table_path) or self._missing(
            table_path, ignore_if_not_exists
        )

    def _missing(self, path: str, ignored: bool) -> bool:
        if not ignored:
            self._catalog.get(name_of(path))
        return False

    def drop_temporary_view(self, view_path: str) -> bool:
        """Forget a view; gives whether there was one."""
        return self._catalog.drop(name_of(view_path), view=True)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Forget a table of a connector; gives whether there was one."""
        return self._catalog.drop(name_of(table_path), view=False)

    def list_tables(self) -> list[str]:
        """The names of tables and views."""
        return self._catalog.names()

    def list_views(self) -> list[str]:
        """The names of views."""
        return self._catalog.names(views_only=True)

    def list_temporary_tables(self) -> list[str]:
        """The names of tables and views, none of which outlives the program."""
        return self.list_tables()

    def list_temporary_views(self) -> list[str]:
        """The names of views."""
        return self.list_views()

    # --- statements

    def sql_query(self, query: str) -> Table:
        """The table of a query.

        Raises:
            IllegalArgumentError: Spark refuses the query; the message has its words.
            UnsupportedOperationError: it needs all rows of an unbounded source at once.
        """
        return self._planner.query(query, {})

    def execute_sql(self, stmt: str) -> TableResult:
        """Run a statement: a query and an INSERT start a job, all others are done when it returns.

        CREATE TABLE with a connector, CREATE VIEW, DROP, SHOW TABLES and DESCRIBE are of the
        program's tables; other statements are Spark's.
        """
        found = parse_statement(stmt)
        if isinstance(found, Select):
            return self._planner.collect(self.sql_query(found.query))
        if isinstance(found, Insert):
            return self._planner.insert([self._planner.sink_of(found)])
        if isinstance(found, CreateTable):
            name = name_of(found.name)
            if not (found.if_not_exists and self._catalog.find(name) is not None):
                self._catalog.add(name, _described(name, found))
            return _ok()
        if isinstance(found, CreateView):
            name = name_of(found.name)
            if not (found.if_not_exists and self._catalog.find(name) is not None):
                table = self.sql_query(found.query)
                self._catalog.add(name, table.alias(*found.columns) if found.columns else table)
            return _ok()
        if isinstance(found, Drop) and self._dropped(found):
            return _ok()
        if isinstance(found, Show):
            names = self._catalog.names(views_only=found.views)
            kind = RowTypeInfo([Types.STRING()], ["view name" if found.views else "table name"])
            return TableResult.of_rows(kind, [(name,) for name in names])
        if isinstance(found, Describe) and (entry := self._catalog.find(name_of(found.name))):
            return _described_columns(entry.kind if isinstance(entry, Connector) else entry._kind)
        text = found.text if isinstance(found, Other) else stmt
        return self._spark_runs(text)

    def get_config(self) -> TableConfig:
        """The settings of the program, by Flink's keys and by those of Spark that begin with it."""
        return TableConfig(self._planner.environment)

    def create_statement_set(self) -> StatementSet:
        """A set of INSERTs that are to be one job."""
        return StatementSet(self._planner)

    def _dropped(self, asked: Drop) -> bool:
        name = name_of(asked.name)
        if self._catalog.drop(name, view=asked.view):
            return True
        if self._catalog.find(name) is not None:
            kind = "a table" if asked.view else "a view"
            raise IllegalArgumentError(
                f"{name!r} is {kind}: write DROP {'TABLE' if asked.view else 'VIEW'} {name}"
            )
        return False

    def _spark_runs(self, text: str) -> TableResult:
        from flinkish.spark.jobs.queries import run_command

        if text[:7].upper() == "EXPLAIN":
            raise UnsupportedOperationError(
                "EXPLAIN: a query is planned when its job runs, and Spark's page of the job shows "
                "the plan"
            )
        kind, rows = run_command(self._planner.environment._session(), text, self._planner.kinds())
        return TableResult.of_rows(kind, rows) if kind.get_field_names() else _ok()


class StreamTableEnvironment(TableEnvironment):
    """The tables of a program that has streams, too."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | Any = None,
    ) -> StreamTableEnvironment:
        """The tables of an environment, with settings; ValueError for neither.

        The mode of the settings becomes that of the environment.
        """
        if stream_execution_environment is None and environment_settings is None:
            raise IllegalArgumentError(
                "tables are of a StreamExecutionEnvironment, or of EnvironmentSettings: give one"
            )
        return StreamTableEnvironment(
            environment_of(stream_execution_environment, environment_settings)
        )

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> Table:
        """The elements of a stream as rows, with columns by a schema or by expressions.

        Expressions such as ``col('id')`` take columns by name; if none of them names a column that
        there is, they name columns by place.  Event time is left behind.
        """
        return table_of_stream(self._planner, data_stream, fields_or_schema)

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows as elements, Rows with names.

        UnsupportedOperationError in streaming mode for a table whose rows change, as in Flink.
        """
        self._planner.check_appends(table, "to_data_stream")
        return stream_of(self._planner, table)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The rows as elements of a row or tuple type, whose fields are those of the table.

        UnsupportedOperationError in streaming mode for a table whose rows change, as in Flink.
        """
        self._planner.check_appends(table, "to_append_stream")
        return stream_of(self._planner, table, type_info)

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:
        """The changes of a table, as Rows with a kind: the final rows, each added once.

        These are the changes that Flink's batch mode gives.  Flink's streaming mode adds those in
        between; put together they are the same table.  UnsupportedOperationError for a mode of
        insertions alone and a table whose rows change in streaming mode.
        """
        if changelog_mode is not None and not changelog_mode.updates:
            self._planner.check_appends(table, "ChangelogMode.insert_only()")
        if target_schema is not None:
            text = assigned("of the schema", target_schema.kind, table._kind)
            table = self._planner.query(
                f"SELECT {text} FROM flinkish_rows", {"flinkish_rows": table}
            )
        return stream_of(self._planner, table)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The same changes as pairs: True, for an addition, and a row or tuple."""
        stream = stream_of(self._planner, table, type_info)
        return stream.map(lambda row: (True, row), Types.TUPLE([Types.BOOLEAN(), type_info]))

    def from_changelog_stream(
        self,
        data_stream: DataStream,
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """Refused: UnsupportedOperationError says how changes become rows."""
        raise UnsupportedOperationError(
            "Spark's tables take no changes of rows: make the last row of each key with "
            "key_by(...).reduce(lambda before, last: last) in BATCH mode, and from_data_stream"
        )


def environment_of(
    environment: StreamExecutionEnvironment | None, settings: Any
) -> StreamExecutionEnvironment:
    """The environment of a program, with the mode and the configuration of settings."""
    if environment is None:
        environment = StreamExecutionEnvironment.get_execution_environment()
    if not isinstance(environment, StreamExecutionEnvironment):
        raise ArgumentTypeError(f"not a StreamExecutionEnvironment: {environment!r}")
    if isinstance(settings, EnvironmentSettings):
        settings = settings.get_configuration()
    if settings is not None:
        environment.configure(settings)
    return environment


def _plain(value: Any) -> Any:
    """A value of pandas or NumPy as Python's own."""
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return value.item() if hasattr(value, "item") else value


def _described(name: str, asked: CreateTable) -> Connector:
    schema = asked.schema
    return connector_of(name, schema.kind, asked.options, schema.times)


def _described_columns(kind: RowTypeInfo) -> TableResult:
    schema = TableSchema.of(kind)
    pairs = zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    text, truth = Types.STRING(), Types.BOOLEAN()
    names = ["name", "type", "null", "key", "extras", "watermark"]
    columns = RowTypeInfo([text, text, truth, text, text, text], names)
    rows = [(name, one.text, one.nullable, None, None, None) for name, one in pairs]
    return TableResult.of_rows(columns, rows)


def _ok() -> TableResult:
    kind = RowTypeInfo([Types.STRING()], ["result"])
    return TableResult.of_rows(kind, [("OK",)], ResultKind.SUCCESS)
