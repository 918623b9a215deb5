"""File systems by path or URI: pyarrow's own, else those of fsspec.

What Spark calls a path is one of Hadoop's: it may begin as a URI does, but nothing in it is
encoded, so ``%``, ``?`` and ``#`` are ordinary characters.  `file_system_of_spark_path` is for
such paths, `file_system_of` for real URIs: places that only flinkish reads and writes.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from flinkish.common.errors import IllegalArgumentError, MissingDependencyError

__all__ = ["file_system_of", "file_system_of_spark_path"]

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# As in Hadoop's Path, a scheme is the part before the first slash, if that ends with a colon.
_SPARK_PATH = re.compile(r"([^:/]+):(?://([^/]*))?(.*)", re.DOTALL)
_ARROWS = {"file", "s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss"}


def file_system_of(path: str, use: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a local path or a URI, and the absolute path there.

    ``use`` says in MissingDependencyError what the directory is for: "a checkpoint directory".
    IllegalArgumentError for a URI with letters that must be encoded.
    """
    if not _URI.match(path):
        return pafs.LocalFileSystem(), str(Path(path).absolute())
    parts = urlsplit(path)
    if parts.scheme in _ARROWS and (parts.fragment or (parts.scheme == "file" and parts.query)):
        raise _not_encoded(path, "has a # or a ?, which begin another part of a URI")
    return _opened(path, path, use)


def file_system_of_spark_path(path: str, use: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path as Spark and Hadoop read it, and the absolute path there.

    ``use`` as for `file_system_of`.  Object stores find their settings in the environment.
    """
    found = _SPARK_PATH.fullmatch(path)
    if found is None:
        return pafs.LocalFileSystem(), normpath(Path(path).absolute().as_posix())
    scheme, authority, rest = found.groups()
    name = normpath(f"/{rest.lstrip('/')}")
    if scheme == "file":
        return pafs.LocalFileSystem(), name
    return _opened(f"{scheme}://{authority or ''}{quote(name)}", path, use)


def _opened(uri: str, path: str, use: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a URI, by pyarrow; else that of the ``path``, by fsspec."""
    try:
        file_system, directory = pafs.FileSystem.from_uri(uri)
    except pa.ArrowInvalid as error:
        if uri.partition(":")[0] in _ARROWS:
            raise _not_encoded(path, f"is not a URI ({error})") from error
        try:
            import fsspec.core
        except ImportError as missing:
            raise MissingDependencyError.of("fsspec", feature=f"{use} like {path!r}") from missing
        inner, directory = fsspec.core.url_to_fs(path)
        file_system = pafs.PyFileSystem(pafs.FSSpecHandler(inner))
    return file_system, directory.rstrip("/")


def _not_encoded(path: str, why: str) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"{path!r} {why}: write a space, #, ? and letters beyond ASCII in it as in "
        "urllib.parse.quote, or give a path of this machine without 'file:'"
    )
