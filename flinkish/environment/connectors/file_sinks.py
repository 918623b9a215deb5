"""Sinks to files by Spark's own writers, under PyFlink's names."""

from __future__ import annotations

from typing import Any

from flinkish.common.bulk import BulkWriterFactory
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.serialization import Encoder
from flinkish.common.typeinfo import TypeInformation, Types
from flinkish.environment.connectors.base import Sink
from flinkish.environment.nodes import Act
from flinkish.environment.texts import printed

__all__ = [
    "BucketAssigner",
    "FileCompactStrategy",
    "FileCompactor",
    "FileSink",
    "OutputFileConfig",
    "RollingPolicy",
]


class OutputFileConfig:
    """Names of files; `builder` makes it."""

    def __init__(self, part_prefix: str = "part", part_suffix: str = "") -> None:
        self.part_prefix = part_prefix
        self.part_suffix = part_suffix

    def get_part_prefix(self) -> str:
        """The beginning of the names of the directories of rounds."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """The end of names that was asked for."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """The settings of names."""

        def __init__(self) -> None:
            self._config = OutputFileConfig()

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the beginning of the names of the directories of rounds."""
            self._config.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Take an end of names; files end as their format has it, such as ``.txt``."""
            self._config.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Make the description."""
            return self._config

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
        return _OnCheckpoint()


class _OnCheckpoint(RollingPolicy):
    pass


class BucketAssigner:
    """Which directory an element goes to: here that of its micro-batch, whatever is asked for."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """The base path, in PyFlink."""
        return BucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """One an hour, in PyFlink."""
        return BucketAssigner()


class FileCompactStrategy:
    """When files are put together: a micro-batch writes one a task, which Spark leaves so."""

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Begin with no settings."""
        return FileCompactStrategy.Builder()

    class Builder:
        """The settings of a strategy."""

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Take a number of checkpoints."""
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Take a size."""
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Take a number of threads."""
            return self

        def build(self) -> FileCompactStrategy:
            """Make the strategy."""
            return FileCompactStrategy()


class FileCompactor:
    """How files are put together."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One after the other."""
        return FileCompactor()

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Each on its own."""
        return FileCompactor()


class FileSink(Sink):
    """Writes elements to files; `for_row_format` and `for_bulk_format` begin it.

    Each sink and micro-batch has a separate directory under the base path, whose files never
    change.  It is hidden in ``.inprogress`` until the batch is committed, as Flink's part files are
    until a checkpoint is complete.  So elements are written exactly once, and several sinks and
    jobs may share a base path.  A `FileSource` reads the base path; readers of Spark take
    ``base_path/*``.
    """

    def __init__(self, base_path: str, prefix: str, factory: BulkWriterFactory | None) -> None:
        self._base = base_path
        self._prefix = prefix
        self._factory = factory

    class BaseBuilder:
        """The settings of a `FileSink`."""

        def __init__(self, base_path: str, factory: BulkWriterFactory | None) -> None:
            self._base = base_path
            self._factory = factory
            self._prefix = "part"

        def with_bucket_check_interval(self, interval: int) -> Any:
            """Take an interval of Flink's buckets, which are not needed here."""
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Any:
            """Take a rule of Flink's buckets; each micro-batch has a directory of its own."""
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Any:
            """Set names of files."""
            self._prefix = output_file_config.part_prefix
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
            """Take a rule for new files; each micro-batch begins some."""
            return self

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Any:
            """Take a way to put files together; the files of a micro-batch stay as they are."""
            return self

        def disable_compact(self) -> Any:
            """Leave files as they are."""
            return self

        def build(self) -> FileSink:
            """Make the sink."""
            return FileSink(self._base, self._prefix, self._factory)

    class RowFormatBuilder(BaseBuilder):
        """The settings of a sink of lines."""

    class BulkFormatBuilder(BaseBuilder):
        """The settings of a sink of a bulk format."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
            """Take a rule for new files.

            ArgumentTypeError for another one than that of checkpoints, as in PyFlink.
            """
            if not isinstance(rolling_policy, _OnCheckpoint):
                raise ArgumentTypeError(
                    "the files of a bulk format end with a checkpoint: give "
                    "RollingPolicy.on_checkpoint_rolling_policy(), or none"
                )
            return self

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Begin a sink of lines to files in a directory."""
        if not isinstance(encoder, Encoder):
            raise ArgumentTypeError(
                f"the encoder is Encoder.simple_string_encoder(), not {encoder!r}"
            )
        return FileSink.RowFormatBuilder(base_path, None)

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> FileSink.BulkFormatBuilder:
        """Begin a sink of Parquet, ORC, Avro or CSV to files in a directory."""
        if not isinstance(writer_factory, BulkWriterFactory):
            raise ArgumentTypeError(
                "the writers are those such as ParquetBulkWriters.for_row_type(...), not "
                f"{writer_factory!r}"
            )
        return FileSink.BulkFormatBuilder(base_path, writer_factory)

    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that writes the elements of a round.

        ArgumentTypeError for elements of another type than the writers'.
        """
        base, prefix, factory = self._base, self._prefix, self._factory
        if factory is not None:
            factory.check(kind)

        def act(this: Any, stream: Any) -> None:
            if factory is None:
                frame = this.columns_of(stream.map(printed, Types.STRING()))
                this.write_files(frame.write.format("text"), base, prefix)
                return
            frame = this.columns_of(stream)
            frame = frame.selectExpr(*factory.expressions(frame.columns))
            writer = frame.write.format(factory.format).options(**factory.options)
            this.write_files(writer, base, prefix)

        return act
