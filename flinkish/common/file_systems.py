"""File systems by path or URI: pyarrow's own, else those of fsspec."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from flinkish.common.errors import MissingDependencyError

__all__ = ["file_system_of"]


def file_system_of(path: str, use: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a local path or a URI, and the absolute path there.

    ``use`` says in MissingDependencyError what the directory is for: "a checkpoint directory".
    """
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path):
        return pafs.LocalFileSystem(), str(Path(path).absolute())
    try:
        file_system, directory = pafs.FileSystem.from_uri(path)
    except pa.ArrowInvalid:
        try:
            import fsspec.core
        except ImportError as error:
            raise MissingDependencyError.of("fsspec", feature=f"{use} like {path!r}") from error
        inner, directory = fsspec.core.url_to_fs(path)
        file_system = pafs.PyFileSystem(pafs.FSSpecHandler(inner))
    return file_system, directory.rstrip("/")
