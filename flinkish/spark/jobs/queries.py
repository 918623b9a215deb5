"""Queries of SQL over streams: looked at when they are written, and run in each round."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.ddl import type_from_ddl
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from flinkish.spark.internals import optimized_plan
from flinkish.spark.jobs.changes import Change, Changes, changes_of
from flinkish.spark.jobs.inputs import Input
from flinkish.spark.jobs.rounds import Round
from flinkish.spark.map_in_arrow import map_in_arrow
from flinkish.spark.mapped_frame import Batches, MappedFrame
from flinkish.spark.session import context_of
from flinkish.spark.streams.data_stream import DataStream
from flinkish.spark.streams.rows import StreamRows
from flinkish.spark.type_mapping import cast_columns, row_schema

__all__ = [
    "Analysis",
    "Change",
    "Query",
    "QueryInput",
    "analyze",
    "row_type_of",
    "run_command",
    "table_of",
]

_AT_END = re.compile(r"[;\s]+\Z")
# A time type of Flink with its precision, which is always six in Spark; or a quoted text.
_PRECISION = re.compile(
    r"'(?:[^']|'')*'|`[^`]*`|\bTIMESTAMP(?P<zone>_LTZ|_NTZ)?\s*\(\s*[0-6]\s*\)", re.I
)
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+.*", re.S)


@dataclass(frozen=True)
class Query:
    """A query of Spark's SQL, and the columns of the tables that its text names."""

    text: str
    tables: Mapping[str, RowTypeInfo]

    @staticmethod
    def of(text: str, tables: Mapping[str, RowTypeInfo]) -> Query:
        """The query, with those of the tables whose names are words of it."""
        text = _PRECISION.sub(_without_precision, _AT_END.sub("", text))
        named = {
            name: kind
            for name, kind in tables.items()
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I)
        }
        return Query(text, named)

    def over(self, views: Mapping[str, str], spark: SparkSession) -> DataFrame:
        """Its rows; ``views`` says under which names Spark knows the tables.

        Tables are named before the query as common table expressions are, so a table of a program
        comes before one of Spark's that has its name, and Spark's catalog stays as it is.  In
        brackets nothing but a query can be.
        """
        named = ", ".join(
            f"{in_backticks(name)} AS (SELECT * FROM {view})" for name, view in views.items()
        )
        return spark.sql(f"{f'WITH {named} ' if named else ''}(\n{self.text}\n)")

    def rows(
        self,
        this: Round,
        streams: Mapping[str, DataStream],
        kind: RowTypeInfo,
        *,
        once: bool,
    ) -> DataStream:
        """Its rows in a round, in which the tables that it reads are streams.

        ``once`` leaves the rows to the first round of a job.
        """
        spark = this.spark
        frames = {
            name: this.columns_of(streams[name]).toDF(*columns.get_field_names())
            if name in streams
            else _empty(spark, columns)
            for name, columns in self.tables.items()
        }
        views = {name: this.view(frame) for name, frame in frames.items()}
        frame = self.over(views, spark).toDF(*kind.get_field_names())
        if once and this.number > 0:
            frame = frame.where(F.lit(False))
        return table_of(frame, kind, list(streams.values()))


def table_of(frame: DataFrame, kind: TypeInformation, inputs: Sequence[DataStream]) -> DataStream:
    """The rows of a DataFrame as a stream without event time, of the pass of its inputs.

    It ends if all of these do, and no timers of operators may give rows later.
    """
    ends = all(one._rows.ends and not one._rows.chained for one in inputs)
    first = inputs[0]._rows
    frame = cast_columns(frame, row_schema(kind))
    columns = tuple(frame.columns)
    rows = StreamRows(
        MappedFrame(frame), columns, kind, ends=ends, within=first.within, job=first.job
    )
    return DataStream._of(rows)


@dataclass(frozen=True)
class QueryInput(Input):
    """The rows of a query that reads no stream."""

    query: Query
    kind: RowTypeInfo

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows that there are when the job begins."""
        views = {name: f"({_nothing(columns)})" for name, columns in self.query.tables.items()}
        return self.query.over(views, spark).toDF(*self.kind.get_field_names())


@dataclass(frozen=True)
class Analysis:
    """The answer of Spark: a query's columns, how often it reads each table, how rows change.

    Without a classic session Spark does not show its plan: then ``changes`` is None, and all tables
    count that the text names.
    """

    kind: RowTypeInfo
    reads: Mapping[str, int]
    changes: Changes | None


def analyze(spark: SparkSession, query: Query) -> Analysis:
    """Ask Spark about a query, over tables without rows; nothing is run.

    IllegalArgumentError with Spark's words if it is not a query, or names what there is not;
    UnsupportedOperationError if it names a streaming view of Spark's.
    """
    classic = context_of(spark) is not None
    probes = {f"flinkish_table_{at}": name for at, name in enumerate(query.tables)}
    views: dict[str, str] = {}
    try:
        for probe, name in probes.items():
            kind = query.tables[name]
            rows = map_in_arrow(spark.range(1), _probe(probe), row_schema(kind))
            views[name] = f"{probe}_{secrets.token_hex(8)}"
            rows.createOrReplaceTempView(views[name])
        try:
            frame = query.over(views, spark)
            schema = frame.schema
        except (AnalysisException, ParseException) as error:
            raise _refused(error, query.text, query.tables) from error
        if frame.isStreaming:
            raise UnsupportedOperationError(
                f"{_short(query.text)!r} reads a streaming DataFrame of Spark's catalog, which a "
                "program cannot: read its source with the program's environment, or with "
                "CREATE TABLE ... WITH ('connector' = ...)"
            )
        kind = row_type_of(schema)
        if not classic:
            return Analysis(kind, dict.fromkeys(query.tables, 1), None)
        changes, reads = changes_of(optimized_plan(frame), probes)
        return Analysis(kind, {probes[one]: times for one, times in reads.items()}, changes)
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def run_command(
    spark: SparkSession, statement: str, tables: Mapping[str, RowTypeInfo]
) -> tuple[RowTypeInfo, list[tuple[object, ...]]]:
    """Run a statement that is not a query, such as one of Spark's DDL; gives its rows.

    IllegalArgumentError with Spark's words if it refuses, and with those of the ``tables`` of the
    program that the statement names, since Spark does not see them.
    """
    try:
        frame = spark.sql(_AT_END.sub("", statement))
        kind = row_type_of(frame.schema) if frame.columns else RowTypeInfo((), ())
        return kind, [tuple(row) for row in frame.collect()]
    except (AnalysisException, ParseException) as error:
        unseen = Query.of(statement, tables).tables
        hint = f"; of the program's own tables ({', '.join(unseen)}) it sees none" if unseen else ""
        raise _refused(error, statement, (), hint) from error


def row_type_of(schema: StructType) -> RowTypeInfo:
    """The type of the rows of a schema; columns of one name are told apart by numbers, as in Flink.

    A column with a dot in its name, such as that of ``SELECT 1.5``, has Flink's name for those
    without one, by its place: EXPR$0.
    IllegalArgumentError for a column of a type that has no values in Python.
    """
    names: list[str] = []
    kinds: list[TypeInformation] = []
    seen: set[str] = set()
    for at, column in enumerate(schema.fields):
        given = f"EXPR${at}" if set(column.name) & set(".`") else column.name
        name, number = given, 0
        while name.lower() in seen:
            name, number = f"{given}{number}", number + 1
        seen.add(name.lower())
        names.append(name)
        text = column.dataType.simpleString()
        try:
            kinds.append(_without_zone(type_from_ddl(text)))
        except IllegalArgumentError as error:
            raise IllegalArgumentError(
                f"the column {column.name!r} of the query has Spark's type {text}, which has no "
                "values in Python here: cast it, for instance CAST(... AS STRING)"
            ) from error
    return RowTypeInfo(kinds, names)


def _without_zone(kind: TypeInformation) -> TypeInformation:
    """The type whose times are datetimes without a zone, as PyFlink's are."""
    if isinstance(kind, TimestampTypeInfo):
        return TimestampTypeInfo(wall_clock=kind.wall_clock)
    if isinstance(kind, RowTypeInfo):
        return RowTypeInfo([_without_zone(one) for one in kind.field_types], kind.get_field_names())
    if isinstance(kind, TupleTypeInfo):
        return TupleTypeInfo([_without_zone(one) for one in kind.field_types])
    if isinstance(kind, MapTypeInfo):
        return MapTypeInfo(_without_zone(kind.key_type_info), _without_zone(kind.value_type_info))
    if isinstance(kind, _ElementsTypeInfo) and isinstance(kind, ListTypeInfo):
        return ListTypeInfo(_without_zone(kind.elem_type))
    return kind


def _without_precision(found: re.Match[str]) -> str:
    """Spark's name of a type of Flink's: TIMESTAMP(3) has no zone there."""
    if found[0][0] in "'`":
        return found[0]
    return "TIMESTAMP_LTZ" if (found["zone"] or "").upper() == "_LTZ" else "TIMESTAMP_NTZ"


def _probe(name: str) -> Callable[[Batches], Batches]:
    """A function of this name, by which a table is found in Spark's plan; it is never run."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Batches:
        yield from batches

    rows.__name__ = rows.__qualname__ = name
    return rows


def _nothing(kind: RowTypeInfo) -> str:
    """A query for no rows of these columns."""
    fields = row_schema(kind).fields
    columns = [
        f"CAST(NULL AS {one.dataType.simpleString()}) AS {in_backticks(one.name)}" for one in fields
    ]
    return f"SELECT {', '.join(columns)} WHERE false"


def _empty(spark: SparkSession, kind: RowTypeInfo) -> DataFrame:
    return spark.createDataFrame([], row_schema(kind))


def _refused(
    error: Exception, text: str, tables: Mapping[str, RowTypeInfo] | Sequence[str], hint: str = ""
) -> IllegalArgumentError:
    said = _SQLSTATE.sub("", str(error)).strip()
    known = f" (tables of this program in it: {', '.join(tables)})" if tables else ""
    return IllegalArgumentError(
        f"Spark SQL, which runs the statements of tables, refuses {_short(text)!r}{known}: "
        f"{said}{hint}"
    )


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else f"{words[:200]} ..."
