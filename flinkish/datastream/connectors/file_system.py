"""PyFlink's module of sources and sinks of files."""

from flinkish.environment.connectors.files import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)

__all__ = [
    "FileSink",
    "FileSource",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
]
