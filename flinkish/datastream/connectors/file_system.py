"""PyFlink's module of sources and sinks of files."""

from flinkish.common.lazy import refused_names
from flinkish.environment.connectors.file_sinks import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from flinkish.environment.connectors.files import (
    BulkFormat,
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)

__getattr__ = refused_names(
    __name__, "StreamingFileSink", "Flink has deprecated it: take FileSink, and sink_to(...)"
)

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
]
