"""Statements of SQL, told apart."""

import pytest

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.table.statements import (
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Insert,
    Other,
    Select,
    Show,
    Statement,
    name_of,
    parse_statement,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT 1", Select("SELECT 1")),
        ("  -- why\n /* and\nhow */ select 1 ; \n", Select("select 1")),
        ("(SELECT 1) UNION ALL SELECT 2", Select("(SELECT 1) UNION ALL SELECT 2")),
        ("WITH a AS (SELECT 1) SELECT * FROM a", Select("WITH a AS (SELECT 1) SELECT * FROM a")),
        ("selected", Other("selected")),
        ("INSERT INTO t SELECT 1", Insert("t", (), "SELECT 1", False)),
        ("insert overwrite table a.`b c` VALUES (1)", Insert("a.`b c`", (), "VALUES (1)", True)),
        (
            "INSERT INTO t (a, `b,c`) VALUES (1, 2)",
            Insert("t", ("a", "b,c"), "VALUES (1, 2)", False),
        ),
        ("INSERT INTO t (SELECT 1)", Insert("t", (), "(SELECT 1)", False)),
        ("CREATE VIEW v AS SELECT 1", CreateView("v", (), "SELECT 1", False)),
        (
            "create temporary view if not exists v (a, b) comment 'it''s' as select 1, 2",
            CreateView("v", ("a", "b"), "select 1, 2", True),
        ),
        ("DROP TABLE t", Drop(False, "t", False)),
        ("drop temporary view if exists `v w`;", Drop(True, "`v w`", True)),
        ("SHOW TABLES", Show(False)),
        ("show views", Show(True)),
        ("SHOW TABLES IN other", Other("SHOW TABLES IN other")),
        ("DESC t", Describe("t")),
        ("CREATE TABLE t (a INT) USING parquet", Other("CREATE TABLE t (a INT) USING parquet")),
        ("CREATE TABLE t AS SELECT 1", Other("CREATE TABLE t AS SELECT 1")),
        ("SET a = b", Other("SET a = b")),
        ("", Other("")),
    ],
)
def test_kinds(text: str, found: Statement) -> None:
    assert parse_statement(text) == found


def test_tables_of_connectors() -> None:
    found = parse_statement(
        """CREATE TEMPORARY TABLE IF NOT EXISTS `my table` (
            id BIGINT NOT NULL PRIMARY KEY NOT ENFORCED,
            `a,b` DECIMAL(10, 2) COMMENT 'it''s, (so)',
            r ROW<x INT, y MAP<STRING, INT>>,
            CONSTRAINT c PRIMARY KEY (id) NOT ENFORCED
        ) COMMENT 'a table' WITH (
            'connector' = 'filesystem',
            'path' = 'it''s, (here)'
        );"""
    )
    assert isinstance(found, CreateTable)
    assert (found.name, found.if_not_exists) == ("`my table`", True)
    assert found.options == {"connector": "filesystem", "path": "it's, (here)"}
    assert [(name, str(kind)) for name, kind in found.schema.columns] == [
        ("id", "BIGINT NOT NULL"),
        ("a,b", "DECIMAL(10, 2)"),
        ("r", "ROW<`x` INT, `y` MAP<STRING, INT>>"),
    ]


WITH = "WITH ('connector' = 'print')"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f"CREATE TABLE t (a TIMESTAMP, WATERMARK FOR a AS a + INTERVAL '1' DAY) {WITH}",
            "the column less an interval",
        ),
        (f"CREATE TABLE t (a INT, b AS a + 1) {WITH}", "no computed columns here: create a view"),
        (f"CREATE TABLE t (a TIMESTAMP(3) METADATA FROM 'ts') {WITH}", "columns of metadata"),
        (f"CREATE TABLE t (a INT) PARTITIONED BY (a) {WITH}", "PARTITIONED BY has no place"),
        (f"CREATE TABLE t (a INT) {WITH} AS SELECT 1", "then INSERT INTO it"),
    ],
)
def test_what_tables_of_connectors_do_not_have(text: str, why: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=why.replace("+", r"\+")):
        parse_statement(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"CREATE TABLE t (a INTT) {WITH}", "did you mean 'INT'"),
        (f"CREATE TABLE t (a) {WITH}", "has a name and a type, not 'a'"),
        (f"CREATE TABLE t (a INT, A INT) {WITH}", "has a column 'A' already"),
        ("CREATE TABLE t (a INT) WITH (connector = 'print')", "an option is 'name' = 'value'"),
        ("CREATE TABLE t (a INT", "a bracket is not closed"),
    ],
)
def test_tables_that_make_no_sense(text: str, why: str) -> None:
    with pytest.raises(IllegalArgumentError, match=why):
        parse_statement(text)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("t", "t"),
        ("`t``x`", "t`x"),
        ("default_catalog.default_database.t", "t"),
        ("`default_database` . t", "t"),
        ("other.t", "other.t"),
        ("default_database", "default_database"),
    ],
)
def test_names(path: str, name: str) -> None:
    assert name_of(path) == name


def test_texts_that_are_no_names() -> None:
    for wrong in ("my view", "", "a.", "`a", "a;b", 3):
        with pytest.raises(IllegalArgumentError, match="is no name of SQL: write it in backticks"):
            name_of(wrong)  # type: ignore[arg-type]
