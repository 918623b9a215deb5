"""The inputs of programs, and the DataFrames that they are."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import functions as F

from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.row_formats.decoder import Records
from flinkish.common.typeinfo import TypeInformation, Types
from flinkish.spark.jobs.decoding import ORIGIN, RECORD, Decoding
from flinkish.spark.keyed.plan import EVENT_TIME
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.schemas import session_time_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from flinkish.functions.source import SourceFunction

__all__ = [
    "BoundedFormatInput",
    "CollectionInput",
    "FilesInput",
    "FormatInput",
    "FunctionInput",
    "Input",
    "MonitoredFilesInput",
    "NumbersInput",
    "RangeInput",
]

# The column that names the partition of a source, for its watermark alone.
PARTITION = "__flinkish_partition"
# What the rows of a source may have besides their elements.
OWN = (PARTITION, EVENT_TIME)

_AUTHORITY = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")
_SPECIAL = re.compile(r"[{}\[\]*?\\]")
# A path is literal, but Spark takes it for a pattern.  Hadoop's checksums of local files
# cannot have a colon in a name, so local files are read without them.
_AS_THEY_ARE = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
_NO_PATTERNS = _AS_THEY_ARE | {"__globPaths__": "false"}
# Spark ignores files of a stream that are older than the newest file by more than this.
_MONITORED = _AS_THEY_ARE | {"maxFileAge": "36500d"}

# Rows that a task of a collection has at least: a task costs more than the elements of few.
_ROWS_OF_A_TASK = 1_000


class Input(ABC):
    """The rows of a source; ``kind`` is the type of its elements, None for pickled objects."""

    bounded: ClassVar[bool] = True
    kind: TypeInformation | None

    @abstractmethod
    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows: a batch DataFrame of a bounded source, else a streaming one."""

    def going_on(self) -> Input:
        """The input of a job that goes on from a checkpoint, which has each source's position."""
        return self

    def elements(self, frame: DataFrame) -> MappedFrame:
        """The elements of rows that `frame` gave."""
        return MappedFrame(frame)


@dataclass(frozen=True)
class CollectionInput(Input):
    """The elements of a list, in its order."""

    values: Sequence[Any]
    kind: TypeInformation | None

    def frame(self, spark: SparkSession) -> DataFrame:
        """Rows in partitions of neighbours."""
        import pyarrow as pa

        from flinkish.spark.encoders import RowEncoder
        from flinkish.spark.internals import arrow_schema
        from flinkish.spark.streams.rows import Output

        output = Output.of(self.kind, "the type of the collection")
        schema = arrow_schema(output.schema)
        if not self.values:
            return spark.createDataFrame([], output.schema)
        zone = session_time_zone(spark)
        rows = RowEncoder("the collection", schema, output.kind, zone).encode(list(self.values))
        frame = spark.createDataFrame(pa.Table.from_batches([rows]), output.schema)
        return frame.coalesce(1) if rows.num_rows < _ROWS_OF_A_TASK else frame


@dataclass(frozen=True)
class NumbersInput(Input):
    """The integers from ``start`` to ``end``, both included."""

    start: int
    end: int
    kind: TypeInformation | None = field(default_factory=Types.LONG)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Numbers in partitions of neighbours."""
        return spark.range(self.start, self.end + 1)


@dataclass(frozen=True)
class FormatInput(Input):
    """Columns of one of Spark's streaming formats, of files at ``paths`` if it is one of files.

    ``selections`` are lists of expressions of SQL, which are selected one after the other.
    ``partition`` is the expression that names the partition of a row: each has a watermark.
    ``time`` is the timestamp of a row until the program assigns one.  If there are ``records``,
    Python decodes them, and Spark selects nothing from them.
    """

    bounded = False
    format: str
    options: Mapping[str, str]
    selections: Sequence[Sequence[str]]
    kind: TypeInformation | None
    paths: Sequence[str] = ()
    schema: str | None = None
    partition: str | None = None
    time: str | None = None
    records: Records | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows that are read from now on."""
        reader = spark.readStream.format(self.format).options(**self.options)
        if self.schema is not None:
            reader = reader.schema(self.schema)
        if not self.paths:
            return self._selected(reader.load())
        return self._selected(reader.options(**_MONITORED).load(*map(_escaped, self.paths)))

    def _selected(self, frame: DataFrame) -> DataFrame:
        own = {PARTITION: self.partition, EVENT_TIME: self.time}
        kept = {name: F.expr(said) for name, said in own.items() if said is not None}
        frame = frame.withColumns(kept)
        if self.records is not None:
            origin = F.struct(*map(F.expr, self.records.origin)).alias(ORIGIN)
            return frame.select(F.expr(self.records.value).alias(RECORD), origin, *kept)
        for expressions in self.selections:
            frame = frame.selectExpr(*expressions, *kept)
        return frame

    def elements(self, frame: DataFrame) -> MappedFrame:
        """The elements: decoded records, or the rows as they are."""
        if self.records is None:
            return MappedFrame(frame)
        kept = [name for name in frame.columns if name in OWN]
        zone = session_time_zone(frame.sparkSession)
        decoding = Decoding(self.records.decoder, frame.schema, kept, zone)
        return MappedFrame(frame).map(decoding, decoding.made)


@dataclass(frozen=True)
class BoundedFormatInput(FormatInput):
    """The same, of a range that has an end."""

    bounded = True

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows between two offsets, or of files."""
        reader = spark.read.format(self.format).options(**self.options)
        if self.schema is not None:
            reader = reader.schema(self.schema)
        if not self.paths:
            return self._selected(reader.load())
        return self._selected(reader.options(**_NO_PATTERNS).load(list(self.paths)))


@dataclass(frozen=True)
class RangeInput(Input):
    """Columns that expressions of SQL make of ``id``, which counts the rows from 0."""

    rows: int
    expressions: Sequence[str]
    kind: TypeInformation

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows."""
        return spark.range(self.rows).selectExpr(*self.expressions)


@dataclass(frozen=True)
class FilesInput(Input):
    """The rows of all files of one of Spark's formats in a directory and those below it."""

    format: str
    path: str
    options: Mapping[str, str]
    kind: TypeInformation

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of the files that are there."""
        return self._opened(spark.read.options(**_NO_PATTERNS), self.path)

    def _opened(self, reader: Any, path: str) -> DataFrame:
        from flinkish.spark.type_mapping import row_schema

        reader = reader.format(self.format).schema(row_schema(self.kind)).options(**self.options)
        found: DataFrame = reader.option("recursiveFileLookup", "true").load(path)
        return found


@dataclass(frozen=True)
class MonitoredFilesInput(FilesInput):
    """The same, and of files that come."""

    bounded = False

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of files from now on."""
        return self._opened(spark.readStream.options(**_MONITORED), _escaped(self.path))


@dataclass(frozen=True)
class FunctionInput(Input):
    """The elements that a source function emits, until the job is cancelled."""

    bounded = False
    function: SourceFunction
    kind: TypeInformation | None
    name: str

    def frame(self, spark: SparkSession) -> DataFrame:
        """A stream whose offsets are the function's state."""
        from flinkish.spark.sources.source import register_source
        from flinkish.spark.streams.rows import UNDECLARED

        kind = UNDECLARED if self.kind is None else self.kind
        register_source(spark, self.function, kind, name=self.name)
        return spark.readStream.format(self.name).load()


def _escaped(path: str) -> str:
    """A pattern that matches only this path, since Spark takes the path of a stream for a pattern.

    UnsupportedOperationError for a path that no pattern of Hadoop's matches alone.
    """
    escaped = _SPECIAL.sub(r"\\\g<0>", path)
    if escaped != path and ":" in _AUTHORITY.sub("", path):
        raise UnsupportedOperationError(
            f"Spark cannot monitor {path!r}, which has a colon and one of {{}}[]*?\\ in it: rename "
            "the directory, or monitor one above it"
        )
    return escaped
