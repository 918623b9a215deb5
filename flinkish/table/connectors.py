"""Flink's connectors of tables, each by what Spark has for it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.row_formats.decoder import RecordDecoder, Records
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.environment.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)
from flinkish.environment.connectors.kafka_sinks import KafkaRecordSerializationSchema, KafkaSink
from flinkish.environment.nodes import Act
from flinkish.environment.sinks import print_sink
from flinkish.table.datagen import generated
from flinkish.table.formats import SqlRecords, TableRows, row_decoder
from flinkish.table.options import Options

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["Connector", "connector_of"]

_PROPERTIES = "properties."
_SPECIFIC = re.compile(r"partition:(\d+),offset:(\d+)")
# Flink's texts of times have a blank between day and time; both read any number of digits.
_TEXT_OF_TIMES = "yyyy-MM-dd HH:mm:ss.SSSSSS"
_TIMES = {"timestampFormat": _TEXT_OF_TIMES, "timestampNTZFormat": _TEXT_OF_TIMES}
# Flink writes quotes within quoted values twice.
_FILES: dict[str, dict[str, str]] = {
    "csv": {"escape": '"', "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST", "ignoreNullFields": "false"},
    "parquet": {},
    "orc": {},
}


class Connector(ABC):
    """A table of a connector: what it reads, and what becomes of rows.

    One that ``appends`` keeps rows as they were written, so rows must not change later.
    """

    name: ClassVar[str]
    appends: ClassVar[bool] = False
    times: Mapping[str, int] = MappingProxyType({})

    def __init__(self, kind: RowTypeInfo, options: Options) -> None:
        self.kind = kind

    def source(self) -> Callable[[], Input]:
        """The function that makes its input; UnsupportedOperationError if it is for writing."""
        raise UnsupportedOperationError(
            f"a table of the connector {self.name!r} can be written to alone: INSERT INTO it"
        )

    @abstractmethod
    def act(self, tasks: Callable[[], int], *, overwrite: bool) -> Act:
        """The act on the rows of a round; UnsupportedOperationError if it is for reading."""


class _Print(Connector):
    name = "print"

    def __init__(self, kind: RowTypeInfo, options: Options) -> None:
        super().__init__(kind, options)
        self._identifier = options.take("print-identifier")

    def act(self, tasks: Callable[[], int], *, overwrite: bool) -> Act:
        """Print the rows on the driver."""
        return print_sink(self._identifier, self.kind, tasks)


class _BlackHole(Connector):
    name = "blackhole"

    def act(self, tasks: Callable[[], int], *, overwrite: bool) -> Act:
        """Make the rows, and drop them."""

        def drop(this: Any, stream: Any) -> None:
            this.drain(stream)

        return drop


class _Generated(Connector):
    name = "datagen"

    def __init__(self, kind: RowTypeInfo, options: Options) -> None:
        super().__init__(kind, options)
        self._source = generated(kind, options)

    def source(self) -> Callable[[], Input]:
        """Sequences and random values."""
        return self._source

    def act(self, tasks: Callable[[], int], *, overwrite: bool) -> Act:
        """Refused: there is nothing to write to."""
        raise UnsupportedOperationError("a table of the connector 'datagen' can be read alone")


class _Files(Connector):
    """A directory of files; each round of a job writes a directory of its own within it."""

    name = "filesystem"
    appends = True

    def __init__(self, kind: RowTypeInfo, options: Options) -> None:
        super().__init__(kind, options)
        self._path = options.need("path")
        self._format = options.need("format")
        if self._format not in _FILES:
            raise UnsupportedOperationError(
                f"the format {self._format!r} of the table {options.table}: there are "
                f"{', '.join(_FILES)}; read other files with Spark, and make a view of them"
            )
        self._options = dict(_FILES[self._format])
        self._monitored = options.take("source.monitor-interval") is not None
        self._decoder = None
        if self._format == "json":
            self._decoder = row_decoder("json", kind, options)
        if self._format == "csv":
            if options.flag("csv.ignore-parse-errors"):
                self._options["mode"] = "DROPMALFORMED"
            for key, ours in (("field-delimiter", "sep"), ("null-literal", "nullValue")):
                if (value := options.take(f"csv.{key}")) is not None:
                    self._options[ours] = value

    def source(self) -> Callable[[], Input]:
        """The rows of the files; unbounded if the directory is monitored."""

        def source() -> Input:
            from flinkish.spark.jobs.inputs import FilesInput, MonitoredFilesInput

            if self._decoder is not None:
                return self._lines(self._decoder)
            made = MonitoredFilesInput if self._monitored else FilesInput
            return made(self._format, self._path, self._options, self.kind)

        return source

    def _lines(self, decoder: RecordDecoder) -> Input:
        """The lines of the files, each a record."""
        from flinkish.spark.jobs.inputs import BoundedFormatInput, FormatInput

        made = FormatInput if self._monitored else BoundedFormatInput
        options = {"recursiveFileLookup": "true", "lineSep": "\n"}
        file = "_metadata.file_path AS file"
        records = Records(decoder, "cast(value AS binary)", [file])
        return made("text", options, (), self.kind, paths=(self._path,), records=records)

    def act(self, tasks: Callable[[], int], *, overwrite: bool) -> Act:
        """Write files; exactly once, as `FileSink` does."""
        if overwrite:
            raise UnsupportedOperationError(
                "INSERT OVERWRITE of files: delete the directory before the job, or write it with "
                "Spark, frame.write.mode('overwrite')"
            )
        options = self._options | _TIMES

        def write(this: Any, stream: Any) -> None:
            writer = this.columns_of(stream).write.format(self._format).options(**options)
            this.write_files(writer, self._path, "part")

        return write


class _Kafka(Connector):
    """A topic; its records are read and written by `KafkaSource` and `KafkaSink`."""

    name = "kafka"
    appends = True

    def __init__(self, kind: RowTypeInfo, options: Options) -> None:
        super().__init__(kind, options)
        self._topic = options.need("topic")
        self._servers = options.need("properties.bootstrap.servers")
        self._group = options.take("properties.group.id")
        self._format = options.take("value.format") or options.need("format")
        if self._format not in ("json", "csv"):
            raise UnsupportedOperationError(
                f"the format {self._format!r} of the table {options.table}: there are json and csv"
            )
        self._reader = TableRows(row_decoder(self._format, kind, options))
        reset = (options.take("properties.auto.offset.reset") or "none").upper()
        if reset not in KafkaOffsetResetStrategy.__members__:
            raise IllegalArgumentError(
                f"'properties.auto.offset.reset' of the table {options.table} is earliest, latest "
                f"or none, not {reset.lower()!r}"
            )
        committed = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])
        places = {"group-offsets": committed, "latest-offset": KafkaOffsetsInitializer.latest()}
        first = {"earliest-offset": KafkaOffsetsInitializer.earliest()}
        start = _offsets(options, "scan.startup", self._topic, "group-offsets", first | places)
        self._start = start or committed
        self._end = _offsets(options, "scan.bounded", self._topic, "unbounded", places)
        self._properties = options.beginning(_PROPERTIES)

    def source(self) -> Callable[[], Input]:
        """The records from the place where reading starts; bounded if it ends."""
        builder = KafkaSource.builder().set_bootstrap_servers(self._servers)
        builder.set_topics(self._topic).set_properties(self._properties)
        if self._group is not None:
            builder.set_group_id(self._group)
        elif self._start.position.needs_group:
            raise IllegalArgumentError(
                "a table of Kafka begins at the offsets of 'properties.group.id': give that, or "
                "'scan.startup.mode' = 'earliest-offset', 'latest-offset' or 'timestamp'"
            )
        builder.set_starting_offsets(self._start)
        if self._end is not None:
            builder.set_bounded(self._end)
        return builder.set_value_only_deserializer(self._reader).build().input

    def act(self, tasks: Callable[[], int], *, overwrite: bool) -> Act:
        """Write records, at least once."""
        if overwrite:
            raise UnsupportedOperationError("INSERT OVERWRITE: a topic keeps what it has")
        csv, json = {"sep": ",", "escape": '"'}, {"ignoreNullFields": "false"}
        options = _TIMES | (csv if self._format == "csv" else json)
        value = SqlRecords(self._format, self.kind, options)
        records = KafkaRecordSerializationSchema.builder().set_topic(self._topic)
        sink = KafkaSink.builder().set_bootstrap_servers(self._servers)
        sink.set_record_serializer(records.set_value_serialization_schema(value).build())
        for key, one in self._properties.items():
            sink.set_property(key, one)
        return sink.build().writer(self.kind)


def _offsets(
    options: Options,
    prefix: str,
    topic: str,
    default: str,
    places: Mapping[str, KafkaOffsetsInitializer],
) -> KafkaOffsetsInitializer | None:
    """Where reading starts or ends, by the mode; None for reading without an end."""
    mode = options.take(f"{prefix}.mode", default) or default
    time = options.take(f"{prefix}.timestamp-millis")
    named = options.take(f"{prefix}.specific-offsets")
    if mode in places:
        return places[mode]
    if mode == default:
        return None
    if mode == "timestamp" and time is not None and time.isdecimal():
        return KafkaOffsetsInitializer.timestamp(int(time))
    if mode == "specific-offsets" and named is not None:
        found = [_SPECIFIC.fullmatch(text.strip()) for text in named.split(";") if text.strip()]
        pairs = [(int(one[1]), int(one[2])) for one in found if one is not None]
        if pairs and len(pairs) == len(found):
            return KafkaOffsetsInitializer.offsets(
                {KafkaTopicPartition(topic, number): offset for number, offset in pairs}
            )
    raise UnsupportedOperationError(
        f"'{prefix}.mode' = '{mode}' of the table {options.table}: there are {', '.join(places)}, "
        f"timestamp with '{prefix}.timestamp-millis', and specific-offsets with "
        f"'{prefix}.specific-offsets' = 'partition:0,offset:42;partition:1,offset:300'"
    )


_CONNECTORS = {one.name: one for one in (_Files, _Generated, _Print, _BlackHole, _Kafka)}


def connector_of(
    table: str,
    kind: RowTypeInfo,
    given: Mapping[str, str],
    times: Iterable[tuple[str, int]] = (),
) -> Connector:
    """The table that options describe; ``times`` are its event-time columns, as in a Schema.

    IllegalArgumentError for options that are missing, UnsupportedOperationError for connectors and
    options that Spark has nothing for.
    """
    options = Options(table, given)
    name = options.need("connector")
    if name not in _CONNECTORS:
        raise UnsupportedOperationError(
            f"the connector {name!r} of the table {table}: there are {', '.join(_CONNECTORS)}; for "
            "another one make a DataFrame with Spark, register it in Spark's catalog, and name it "
            "in the SQL of the program"
        )
    found = _CONNECTORS[name](kind, options)
    found.times = dict(times)
    options.done()
    return found
