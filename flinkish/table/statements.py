"""Statements of SQL that programs give, told apart by their first words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.table.schema import NO_METADATA, Schema
from flinkish.table.sql_text import bracketed, pieces

__all__ = [
    "CreateTable",
    "CreateView",
    "Describe",
    "Drop",
    "Insert",
    "Other",
    "Select",
    "Show",
    "Statement",
    "name_of",
    "parse_statement",
]

_NAME = r"(?:`(?:[^`]|``)+`|\w+)(?:\s*\.\s*(?:`(?:[^`]|``)+`|\w+))*"
_START = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.S)
_END = re.compile(r"[;\s]+\Z")
_FLAGS = re.I | re.S
_SELECT = re.compile(r"(?:SELECT|WITH|VALUES|FROM|TABLE)\b|\(", _FLAGS)
_INSERT = re.compile(rf"INSERT\s+(INTO|OVERWRITE)\s+(?:TABLE\s+)?({_NAME})\s*(.*)", _FLAGS)
_CREATE_TABLE = re.compile(
    rf"CREATE\s+(?:TEMPORARY\s+)?TABLE\s+(IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*(\(.*)", _FLAGS
)
_WITH = re.compile(
    r"\s*(?:COMMENT\s+'(?:[^']|'')*'\s*)?(PARTITIONED\s+BY\s*\([^)]*\)\s*)?WITH\s*(\(.*)", _FLAGS
)
_CREATE_VIEW = re.compile(
    rf"CREATE\s+(?:TEMPORARY\s+)?VIEW\s+(IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*(.*)", _FLAGS
)
_AS = re.compile(r"\s*(?:COMMENT\s+'(?:[^']|'')*'\s*)?AS\b(.*)", _FLAGS)
_DROP = re.compile(
    rf"DROP\s+(?:TEMPORARY\s+)?(TABLE|VIEW)\s+(IF\s+EXISTS\s+)?({_NAME})\s*\Z", _FLAGS
)
_SHOW = re.compile(r"SHOW\s+(TABLES|VIEWS)\s*\Z", _FLAGS)
_DESCRIBE = re.compile(rf"DESC(?:RIBE)?\s+({_NAME})\s*\Z", _FLAGS)
_OPTION = re.compile(r"\s*'((?:[^']|'')+)'\s*=\s*'((?:[^']|'')*)'\s*\Z", _FLAGS)
_COLUMN = re.compile(r"(`(?:[^`]|``)+`|\w+)\s+(.+)", _FLAGS)
_COMMENT = re.compile(r"\s+COMMENT\s+'(?:[^']|'')*'\s*\Z", _FLAGS)
_WATERMARK = re.compile(rf"WATERMARK\s+FOR\s+({_NAME})\s+AS\s+(.+)", _FLAGS)
_KEY = re.compile(r"(?:CONSTRAINT\s+\S+\s+)?PRIMARY\s+KEY\b", _FLAGS)
_INLINE_KEY = re.compile(r"\s+PRIMARY\s+KEY(?:\s+NOT\s+ENFORCED)?\s*\Z", _FLAGS)


@dataclass(frozen=True)
class Select:
    """A query."""

    query: str


@dataclass(frozen=True)
class Insert:
    """Rows of a query for a table; of its ``columns`` if some are named."""

    target: str
    columns: tuple[str, ...]
    query: str
    overwrite: bool


@dataclass(frozen=True)
class CreateTable:
    """A table of a connector."""

    name: str
    schema: Schema
    options: dict[str, str]
    if_not_exists: bool


@dataclass(frozen=True)
class CreateView:
    """A name for a query, with names for its columns if they are given."""

    name: str
    columns: tuple[str, ...]
    query: str
    if_not_exists: bool


@dataclass(frozen=True)
class Drop:
    """The end of a table or a view."""

    view: bool
    name: str
    if_exists: bool


@dataclass(frozen=True)
class Show:
    """A list of tables, or of views alone."""

    views: bool


@dataclass(frozen=True)
class Describe:
    """The columns of a table."""

    name: str


@dataclass(frozen=True)
class Other:
    """A statement for Spark as it is."""

    text: str


Statement: TypeAlias = Select | Insert | CreateTable | CreateView | Drop | Show | Describe | Other


def parse_statement(text: str) -> Statement:
    """The request that a statement makes.

    IllegalArgumentError for a ``CREATE TABLE ... WITH`` or an ``INSERT`` that makes no sense,
    UnsupportedOperationError for what tables of connectors do not have.
    """
    start = _START.match(text)
    body = _END.sub("", text[start.end() if start else 0 :])
    if _SELECT.match(body):
        return Select(body)
    if found := _INSERT.match(body):
        columns, query = _columns_before(found[3])
        return Insert(found[2], columns, query, found[1].upper() == "OVERWRITE")
    if found := _CREATE_TABLE.match(body):
        inside, after = bracketed(found[3])
        if given := _WITH.match(after):
            if given[1]:
                raise UnsupportedOperationError(
                    f"the table {found[2]}: PARTITIONED BY has no place in tables of connectors "
                    "here: write files by columns with Spark, frame.write.partitionBy(...)"
                )
            return CreateTable(found[2], _schema(inside), _options(given[2]), bool(found[1]))
    if found := _CREATE_VIEW.match(body):
        columns, after = _columns_before(found[3])
        if defined := _AS.match(after):
            return CreateView(found[2], columns, defined[1].strip(), bool(found[1]))
    if found := _DROP.match(body):
        return Drop(found[1].upper() == "VIEW", found[3], bool(found[2]))
    if found := _SHOW.match(body):
        return Show(found[1].upper() == "VIEWS")
    if found := _DESCRIBE.match(body):
        return Describe(found[1])
    return Other(body)


def name_of(path: str) -> str:
    """The name of a table of the program: of one part, without Flink's own catalog and database.

    IllegalArgumentError for a text that is no name.
    """
    if not isinstance(path, str) or not re.fullmatch(_NAME, path):
        raise IllegalArgumentError(
            f"{path!r} is no name of SQL: write it in backticks if it has other signs than "
            "letters, digits and _, as in `my table`"
        )
    parts = re.findall(r"`((?:[^`]|``)+)`|(\w+)", path)
    names = [(quoted or plain).replace("``", "`") for quoted, plain in parts]
    while len(names) > 1 and names[0] in ("default_catalog", "default_database"):
        del names[0]
    return ".".join(names)


def _columns_before(text: str) -> tuple[tuple[str, ...], str]:
    """A list of names in brackets, and the text after it; none if a query is in them."""
    if not text.startswith("(") or _SELECT.match(text[1:].lstrip()):
        return (), text
    inside, after = bracketed(text)
    return tuple(name_of(one) for one in pieces(inside)), after.strip()


def _options(text: str) -> dict[str, str]:
    inside, after = bracketed(text)
    if after.strip():
        raise UnsupportedOperationError(
            f"{after.strip()[:40]!r} after WITH (...): create the table, then INSERT INTO it"
        )
    found: dict[str, str] = {}
    for piece in pieces(inside):
        option = _OPTION.match(piece)
        if option is None:
            raise IllegalArgumentError(f"an option is 'name' = 'value', not {piece!r}")
        found[option[1]] = option[2].replace("''", "'")
    return found


def _schema(text: str) -> Schema:
    builder = Schema.new_builder()
    for piece in pieces(text):
        if _KEY.match(piece):
            continue
        if found := _WATERMARK.match(piece):
            builder.watermark(name_of(found[1]), found[2])
            continue
        column = _COLUMN.match(_INLINE_KEY.sub("", _COMMENT.sub("", piece)))
        if column is None:
            raise IllegalArgumentError(f"a column has a name and a type, not {piece!r}")
        if re.match(r"AS\b", column[2], _FLAGS):
            raise UnsupportedOperationError(
                f"{piece!r}: tables of connectors have no computed columns here: create a view "
                "with it, CREATE VIEW v AS SELECT *, ... AS name FROM the_table"
            )
        if re.search(r"\bMETADATA\b", column[2], _FLAGS):
            raise UnsupportedOperationError(f"{piece!r}: {NO_METADATA}")
        builder.column(name_of(column[1]), column[2])
    return builder.build()
