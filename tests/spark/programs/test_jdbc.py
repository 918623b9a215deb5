"""Rows into tables of Derby, which Spark brings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from flinkish.common import Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)

DRIVER = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
URL = "jdbc:derby:memory:programs;create=true"
KIND = Types.ROW_NAMED(
    ["id", "name", "price", "at"],
    [Types.INT(), Types.STRING(), Types.BIG_DEC(), Types.SQL_TIMESTAMP()],
)
ROWS = [
    (1, "a", Decimal("1.25"), datetime(2024, 7, 1, 12)),
    (2, "b", None, None),  # Spark's dialect of Derby takes no None for texts
]


def options() -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    return builder.with_url(URL).with_driver_name(DRIVER).build()


@pytest.fixture
def table(spark: Any) -> Iterator[Any]:
    """An empty table; gives the rows in it."""
    jvm = spark._jvm
    jvm.java.lang.Class.forName(DRIVER)
    connection = jvm.java.sql.DriverManager.getConnection(URL)
    statement = connection.createStatement()
    statement.execute(
        "create table items (id int primary key, name varchar(20), price decimal(20, 2), "
        "made timestamp)"
    )
    reader = spark.read.format("jdbc").options(url=URL, driver=DRIVER, dbtable="items")
    yield lambda: sorted(map(tuple, reader.load().collect()))
    statement.execute("drop table items")
    connection.close()


def insert(env: StreamExecutionEnvironment, sql: str, rows: Any = ROWS, kind: Any = KIND) -> None:
    execution = JdbcExecutionOptions.builder().with_batch_size(10).build()
    sink = JdbcSink.sink(sql, kind, options(), execution)
    env.from_collection(rows, kind).add_sink(sink).name("items")
    env.execute()


def test_rows_are_inserted(env: StreamExecutionEnvironment, table: Any) -> None:
    """By the columns that the statement names, in any case of letters, or by those of the table."""
    insert(env, "INSERT INTO items (id, name, PRICE, made) VALUES (?, ?, ?, ?)")
    assert table() == ROWS
    insert(env, "insert into items values (?,?,?,?);", [(3, "c", Decimal(2), None)])
    assert table()[2] == (3, "c", Decimal(2), None)
    some = Types.ROW([Types.STRING(), Types.INT()])
    insert(env, "insert into items(name, id) values(?, ?)", [("d", 4)], some)
    assert table()[3] == (4, "d", None, None)


def test_what_the_database_refuses(env: StreamExecutionEnvironment, table: Any) -> None:
    insert(env, "insert into items values (?, ?, ?, ?)")
    with pytest.raises(JobExecutionError, match="duplicate key"):
        insert(env, "insert into items values (?, ?, ?, ?)")
    with pytest.raises(JobExecutionError, match="'OTHERS' does not exist"):
        insert(env, "insert into others values (?, ?, ?, ?)")
    with pytest.raises(IllegalArgumentError, match="NAME, PRICE, MADE, and not the columns cost"):
        insert(env, "insert into items (id, name, cost, made) values (?, ?, ?, ?)")
    with pytest.raises(IllegalArgumentError, match="and not 1 columns: name those"):
        insert(env, "insert into items values (?)", [(5,)], Types.ROW([Types.INT()]))
    assert len(table()) == 2


def test_what_is_refused_at_the_call(env: StreamExecutionEnvironment) -> None:
    for sql in (
        "update items set name = ? where id = ?",
        "insert into items (id) values (1)",
        "insert into items (id) values (?) on conflict do nothing",
    ):
        with pytest.raises(UnsupportedOperationError, match="runs no other statement, such as"):
            JdbcSink.sink(sql, KIND, options())
    with pytest.raises(IllegalArgumentError, match=r"4 fields, .* has 2 question marks and 2 col"):
        JdbcSink.sink("insert into items (id, name) values (?, ?)", KIND, options())
    with pytest.raises(IllegalArgumentError, match="needs with_url"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()
    with pytest.raises(IllegalArgumentError, match="1 row or more"):
        JdbcExecutionOptions.builder().with_batch_size(0)
    sink = JdbcSink.sink("insert into items values (?, ?, ?, ?)", KIND, options())
    with pytest.raises(ArgumentTypeError, match="the elements have the type"):
        env.from_collection([1], Types.INT()).add_sink(sink)


def test_options_are_told() -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:x")
    made = builder.with_user_name("me").with_password("secret").build()
    assert (made.get_db_url(), made.get_user_name(), made.get_password()) == (
        "jdbc:x",
        "me",
        "secret",
    )
    assert made.get_driver_name() is None
    assert "secret" not in repr(made)
    execution = JdbcExecutionOptions.builder().with_max_retries(5).with_batch_interval_ms(9)
    told = execution.build()
    assert (told.get_batch_size(), told.get_batch_interval_ms(), told.get_max_retries()) == (
        5_000,
        9,
        5,
    )
    assert JdbcExecutionOptions.defaults().get_max_retries() == 3
