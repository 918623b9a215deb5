"""Tables of databases by Spark's JDBC writer, under PyFlink's names."""

from __future__ import annotations

import re
from typing import Any

from flinkish.common.bulk import alike
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from flinkish.environment.connectors.base import Sink
from flinkish.environment.nodes import Act

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]

_INSERT = re.compile(
    r"\s*insert\s+into\s+(?P<table>[^\s(]+)\s*(?:\((?P<columns>[^)]*)\)\s*)?"
    r"values\s*\((?P<values>[\s?,]*)\)\s*;?\s*",
    re.IGNORECASE,
)


class JdbcConnectionOptions:
    """How a database is reached; its builder makes it."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def get_db_url(self) -> str:
        """The URL of the database."""
        return self.options["url"]

    def get_driver_name(self) -> str | None:
        """The class of the driver, None if it goes by the URL."""
        return self.options.get("driver")

    def get_user_name(self) -> str | None:
        """The user, or None."""
        return self.options.get("user")

    def get_password(self) -> str | None:
        """The user's password, or None."""
        return self.options.get("password")

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions({self.get_db_url()!r})"

    class JdbcConnectionOptionsBuilder:
        """The settings of a connection."""

        def __init__(self) -> None:
            self._options: dict[str, str] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL of the database."""
            return self._set("url", url)

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the class of the driver, which the session's jars have."""
            return self._set("driver", driver_name)

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            return self._set("user", user_name)

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user's password."""
            return self._set("password", password)

        def build(self) -> JdbcConnectionOptions:
            """Make the options; IllegalArgumentError without a URL."""
            if "url" not in self._options:
                raise IllegalArgumentError("a connection needs with_url(...)")
            return JdbcConnectionOptions(dict(self._options))

        def _set(
            self, option: str, value: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options[option] = value
            return self


class JdbcExecutionOptions:
    """How rows are written; `builder` and `defaults` make it."""

    def __init__(
        self, batch_interval_ms: int = 0, batch_size: int = 5_000, max_retries: int = 3
    ) -> None:
        self._interval = batch_interval_ms
        self._size = batch_size
        self._retries = max_retries

    def get_batch_interval_ms(self) -> int:
        """The time after which rows are written; Spark writes them with their micro-batch."""
        return self._interval

    def get_batch_size(self) -> int:
        """How many rows go to the database at once."""
        return self._size

    def get_max_retries(self) -> int:
        """How often a write is tried again; Spark tries tasks again, as ``spark.task.*`` says."""
        return self._retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Rows in batches of 5000."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begin with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """The settings of writing."""

        def __init__(self) -> None:
            self._given: dict[str, int] = {}

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set how many rows go to the database at once, 1 or more."""
            if size < 1:
                raise IllegalArgumentError(f"a batch has 1 row or more, not {size}")
            self._given["batch_size"] = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Take a time after which rows are written."""
            self._given["batch_interval_ms"] = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Take how often a write is tried again."""
            self._given["max_retries"] = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """Make the options."""
            return JdbcExecutionOptions(**self._given)


class JdbcSink(Sink):
    """Inserts rows into a table that is there; `sink` makes it, and ``add_sink`` takes it.

    At least once: a task that fails, and a micro-batch that runs again, inserts its rows again.
    """

    def __init__(
        self, table: str, columns: list[str], kind: RowTypeInfo, options: dict[str, str]
    ) -> None:
        self._table = table
        self._columns = columns
        self._kind = kind
        self._options = options

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink of rows of this type by ``INSERT INTO table (column, ...) VALUES (?, ...)``.

        UnsupportedOperationError for another statement; IllegalArgumentError if columns, question
        marks and fields are not as many.
        """
        if not isinstance(type_info, RowTypeInfo):
            raise ArgumentTypeError(
                "a JdbcSink writes rows of a type such as Types.ROW([Types.INT()]), not "
                f"{type_info}"
            )
        if not isinstance(jdbc_connection_options, JdbcConnectionOptions):
            raise ArgumentTypeError(
                "a JdbcSink needs JdbcConnectionOptions.JdbcConnectionOptionsBuilder()...build(), "
                f"not {jdbc_connection_options!r}"
            )
        found = _INSERT.fullmatch(sql)
        if found is None:
            raise UnsupportedOperationError(
                "Spark's JDBC writer inserts rows, INSERT INTO table (a, b) VALUES (?, ?), and "
                f"runs no other statement, such as {sql!r}: write a SinkFunction with the Python "
                "driver of the database"
            )
        columns = [one.strip().strip('`"') for one in (found["columns"] or "").split(",")]
        columns = [one for one in columns if one]
        marks, fields = found["values"].count("?"), len(type_info.field_types)
        if marks != fields or (columns and len(columns) != fields):
            raise IllegalArgumentError(
                f"the rows have {fields} fields, and {sql!r} has {marks} question marks"
                + (f" and {len(columns)} columns" if columns else "")
            )
        execution = jdbc_execution_options or JdbcExecutionOptions.defaults()
        options = {**jdbc_connection_options.options, "batchsize": str(execution.get_batch_size())}
        return JdbcSink(found["table"], columns, type_info, options)

    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that inserts the rows of a round.

        ArgumentTypeError for elements of another type than the sink's.
        """
        is_row = isinstance(kind, (RowTypeInfo, TupleTypeInfo))
        if kind is None or not is_row or not alike(kind, self._kind):
            found = "no declared type" if kind is None else f"the type {kind}"
            raise ArgumentTypeError(
                f"the sink writes rows of {self._kind}, and the elements have {found}: give the "
                "operator before it this type as output_type"
            )
        table, columns, options = self._table, self._columns, self._options

        def act(this: Any, stream: Any) -> None:
            frame = this.columns_of(stream)
            reader = this.spark.read.format("jdbc").options(**options)
            # Fails for a table that is not there, which Spark's writer would make.
            there = reader.option("dbtable", table).load().columns
            named = _named(table, columns, there, len(frame.columns))
            each = zip(frame.columns, named, strict=True)
            frame = frame.selectExpr(
                *(f"{in_backticks(one)} AS {in_backticks(name)}" for one, name in each)
            )
            writer = frame.write.format("jdbc").options(**options).option("dbtable", table)
            writer.mode("append").save()

        return act


def _named(table: str, columns: list[str], there: list[str], count: int) -> list[str]:
    """The columns of a table that are written, by the names that it has for them."""
    by_name = {name.lower(): name for name in there}
    missing = [name for name in columns if name.lower() not in by_name]
    if missing or (not columns and len(there) != count):
        wanted = f"the columns {', '.join(missing)}" if missing else f"{count} columns"
        raise IllegalArgumentError(
            f"the table {table} has the columns {', '.join(there)}, and not {wanted}: name those "
            "that are written, INSERT INTO table (a, b) VALUES (?, ?)"
        )
    return [by_name[name.lower()] for name in columns] or there
