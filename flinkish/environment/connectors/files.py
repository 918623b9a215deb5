"""Sources of files by Spark's own readers, under PyFlink's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkish.common.durations import Duration
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.row_formats.decoder import Records
from flinkish.common.row_formats.texts import LinesDecoder, is_wide
from flinkish.common.typeinfo import TypeInformation, Types
from flinkish.environment.connectors.base import Source

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = [
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "Reading",
    "StreamFormat",
]

# Flink's enumerators go into directories; so does Spark, if it is told to.
_RECURSIVE = {"recursiveFileLookup": "true"}


@dataclass(frozen=True)
class Reading:
    """How Spark reads files: its format, options and schema, and what is selected of the columns.

    ``selections`` are lists of SQL expressions, selected one after the other; ``kind`` is the type
    of the elements that the last columns are.  ``records`` are decoded in Python instead.
    """

    format: str
    kind: TypeInformation
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    selections: Sequence[Sequence[str]] = ()
    records: Records | None = None


class StreamFormat:
    """How files become elements, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """The lines of files; bytes that the charset cannot decode become U+FFFD, as in Flink.

        IllegalArgumentError for a charset that Python does not know.  Files of UTF-16 and UTF-32
        are read in one piece each, others line by line and in splits.
        """
        decoder = LinesDecoder(charset_name)
        options = {"wholetext": "true"} if is_wide(decoder.charset) else {"lineSep": "\n"}
        records = Records(decoder, "cast(value AS binary)", ["_metadata.file_path AS file"])
        return StreamFormat(Reading("text", Types.STRING(), options, records=records))


class BulkFormat:
    """How files become elements, many at a time: columnar files."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading


class FileEnumeratorProvider:
    """How files are found and split: Spark finds and splits them, whatever is asked for."""

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Files may be split."""
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Files are not split, in PyFlink."""
        return FileEnumeratorProvider()


class FileSplitAssignerProvider:
    """Which task reads which files: Spark plans it, whatever is asked for."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Files go to tasks that are near."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    """The elements of files; `for_record_stream_format` and `for_bulk_file_format` begin it.

    Bounded, unless a directory is to be monitored.  Directories are read with those in them; files
    whose names begin with ``.`` or ``_`` are left out, as in Flink.
    """

    def __init__(self, paths: tuple[str, ...], reading: Reading, *, monitored: bool) -> None:
        self._paths = paths
        self._reading = reading
        self._monitored = monitored

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Begin a source that reads these paths: files or directories, not patterns."""
        if not isinstance(stream_format, StreamFormat):
            raise ArgumentTypeError(
                "the format of files is a StreamFormat, such as StreamFormat.text_line_format(), "
                f"not {stream_format!r}; for_bulk_file_format takes a BulkFormat"
            )
        return _builder(paths, stream_format.reading)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Begin a source of columnar files at these paths: files or directories, not patterns."""
        if not isinstance(bulk_format, BulkFormat):
            raise ArgumentTypeError(
                "the format of files is a BulkFormat, such as ParquetColumnarRowInputFormat(...), "
                f"not {bulk_format!r}; for_record_stream_format takes a StreamFormat"
            )
        return _builder(paths, bulk_format.reading)

    def get_produced_type(self) -> TypeInformation:
        """The type of the format's elements."""
        return self._reading.kind

    def input(self) -> Input:
        """The content of the files, once or as files come."""
        from flinkish.spark.jobs.inputs import BoundedFormatInput, FormatInput

        reading = self._reading
        made = FormatInput if self._monitored else BoundedFormatInput
        return made(
            reading.format,
            {**_RECURSIVE, **reading.options},
            reading.selections,
            reading.kind,
            paths=self._paths,
            schema=reading.schema,
            records=reading.records,
        )


class FileSourceBuilder:
    """The settings of a `FileSource`."""

    def __init__(self, paths: tuple[str, ...], reading: Reading) -> None:
        self._paths = paths
        self._reading = reading
        self._monitored = False

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """In each micro-batch read the files that have been added to a directory, however old.

        IllegalArgumentError for several paths.
        """
        if len(self._paths) > 1:
            raise IllegalArgumentError(
                f"one directory can be monitored, not {len(self._paths)}: unite several sources"
            )
        self._monitored = True
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there, and end; so it is by default."""
        self._monitored = False
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Take a way to find files; Spark has its own."""
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Take a way to give files to tasks; Spark has its own."""
        return self

    def build(self) -> FileSource:
        """Make the source."""
        return FileSource(self._paths, self._reading, monitored=self._monitored)


def _builder(paths: tuple[str, ...], reading: Reading) -> FileSourceBuilder:
    if not paths:
        raise IllegalArgumentError("a FileSource needs a path")
    return FileSourceBuilder(paths, reading)
