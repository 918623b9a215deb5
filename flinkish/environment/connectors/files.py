"""Files of text by Spark's own connectors, under PyFlink's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkish.common.durations import Duration
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.serialization import Encoder, check_charset
from flinkish.common.typeinfo import TypeInformation, Types
from flinkish.environment.connectors.base import Sink, Source
from flinkish.environment.nodes import Act
from flinkish.environment.texts import printed

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["FileSink", "FileSource", "OutputFileConfig", "RollingPolicy", "StreamFormat"]


class StreamFormat:
    """How files become elements."""

    def __init__(self, charset: str) -> None:
        self.charset = charset

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Their lines; UnsupportedOperationError for another charset than UTF-8."""
        check_charset(charset_name)
        return StreamFormat(charset_name)


class FileSource(Source):
    """The lines of files; `for_record_stream_format` begins it.

    Bounded, unless a directory is to be monitored.
    """

    def __init__(self, paths: tuple[str, ...], *, monitored: bool) -> None:
        self._paths = paths
        self._monitored = monitored

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Begin a source of the files at these paths: files, directories or patterns."""
        if not isinstance(stream_format, StreamFormat):
            raise ArgumentTypeError(
                f"the format of files is StreamFormat.text_line_format(), not {stream_format!r}"
            )
        if not paths:
            raise IllegalArgumentError("a FileSource needs a path")
        return FileSourceBuilder(paths)

    def get_produced_type(self) -> TypeInformation:
        """The type of lines."""
        return Types.STRING()

    def input(self) -> Input:
        """Lines, once or as files come."""
        from flinkish.spark.jobs.inputs import FormatInput, TextInput

        if not self._monitored:
            return TextInput(self._paths)
        options = {"path": self._paths[0]}
        return FormatInput("text", options, [["value"]], Types.STRING())


class FileSourceBuilder:
    """The settings of a `FileSource`."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths
        self._monitored = False

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Read the files that come into a directory, too, with each micro-batch.

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

    def build(self) -> FileSource:
        """Make the source."""
        return FileSource(self._paths, monitored=self._monitored)


class OutputFileConfig:
    """Names of files; `builder` makes it."""

    def __init__(self, prefix: str = "part") -> None:
        self.prefix = prefix

    class OutputFileConfigBuilder:
        """The settings of names."""

        def __init__(self) -> None:
            self._prefix = "part"

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the beginning of the names of the directories of rounds."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Take an end of names; files of text end with ``.txt``."""
            return self

        def build(self) -> OutputFileConfig:
            """Make the description."""
            return OutputFileConfig(self._prefix)

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Begin with no settings."""
        return OutputFileConfig.OutputFileConfigBuilder()


class RollingPolicy:
    """When a new file begins: here with each micro-batch, whatever is asked for."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * 1024 * 1024,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> RollingPolicy:
        """By size and time, in PyFlink."""
        return RollingPolicy()

    @staticmethod
    def on_checkpoint_rolling_policy() -> RollingPolicy:
        """With each checkpoint."""
        return RollingPolicy()


class FileSink(Sink):
    """Writes elements as lines of text; `for_row_format` begins it.

    Each micro-batch has a directory of its own under the base path, which is written anew if the
    batch runs again: exactly once.  Readers take ``base_path/*``.
    """

    def __init__(self, base_path: str, prefix: str) -> None:
        self._base = base_path
        self._prefix = prefix

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSinkBuilder:
        """Begin a sink to files in a directory."""
        if not isinstance(encoder, Encoder):
            raise ArgumentTypeError(
                f"the encoder is Encoder.simple_string_encoder(), not {encoder!r}"
            )
        return FileSinkBuilder(base_path)

    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that writes the lines of a round."""
        base, prefix = self._base.rstrip("/"), self._prefix

        def act(this: Any, stream: Any) -> None:
            frame = this.columns_of(stream.map(printed, Types.STRING()))
            place = f"{base}/{prefix}-{this.job}-{this.number:08d}"
            frame.write.mode("overwrite").text(place)

        return act


class FileSinkBuilder:
    """The settings of a `FileSink`."""

    def __init__(self, base_path: str) -> None:
        self._base = base_path
        self._prefix = "part"

    def with_bucket_check_interval(self, interval: int) -> FileSinkBuilder:
        """Take an interval of Flink's buckets, which are not needed here."""
        return self

    def with_bucket_assigner(self, bucket_assigner: Any) -> FileSinkBuilder:
        """Take a rule of Flink's buckets; each micro-batch has a directory of its own."""
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSinkBuilder:
        """Take a rule for new files; each micro-batch begins some."""
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSinkBuilder:
        """Set names of files."""
        self._prefix = output_file_config.prefix
        return self

    def build(self) -> FileSink:
        """Make the sink."""
        return FileSink(self._base, self._prefix)
