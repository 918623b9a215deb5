"""The directory of an operator's version files, on whatever file system it is.

Object stores show a file when it is closed, and then all of it.  Elsewhere a file is written under
another name and renamed (V1), on this machine after it has reached the disk.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pyarrow.fs as pafs

from flinkish.common.errors import CheckpointStorageError
from flinkish.common.file_systems import file_system_of_spark_path
from flinkish.spark.versions.names import VersionName, folder_of, version_of

__all__ = ["VersionDirectory", "VersionWriter"]

_HOME = "flinkish"
_UNFINISHED = ".tmp"


class VersionDirectory:
    """The version files of an ``operator``, by its uid, below a checkpoint."""

    def __init__(self, checkpoint: str, operator: str) -> None:
        self.operator = operator
        self.file_system, root = file_system_of_spark_path(checkpoint, "a checkpoint")
        self.path = f"{root}/{_HOME}/{quote(operator, safe='')}"

    def names(self, version: int) -> list[VersionName]:
        """The finished files of a version."""
        found = (VersionName.parse(version, name) for name in self._list(folder_of(version)))
        return [name for name in found if name is not None]

    def versions(self) -> list[int]:
        """The versions that have a folder."""
        found = (version_of(name) for name in self._list(""))
        return sorted(version for version in found if version is not None)

    def files(self, version: int) -> list[str]:
        """All that lies in the folder of a version, finished or not: paths as in names."""
        folder = folder_of(version)
        return [f"{folder}/{name}" for name in self._list(folder)]

    def _list(self, folder: str) -> list[str]:
        selector = pafs.FileSelector(f"{self.path}/{folder}".rstrip("/"), allow_not_found=True)
        return [found.base_name for found in self.file_system.get_file_info(selector)]

    def open(self, path: str) -> Any:
        """A file to read from, at any place."""
        return self.file_system.open_input_file(f"{self.path}/{path}")

    def create(self, name: VersionName) -> VersionWriter:
        """A file to write; it counts once it is finished."""
        return VersionWriter(self, name)

    def remove(self, path: str) -> bool:
        """Delete a file; False if it is gone already."""
        try:
            self.file_system.delete_file(f"{self.path}/{path}")
        except FileNotFoundError:
            return False
        return True

    def remove_folder(self, version: int) -> None:
        """Delete the folder of a version, if nothing is in it."""
        if not self._list(folder_of(version)):
            self.file_system.delete_dir(f"{self.path}/{folder_of(version)}")


class VersionWriter:
    """A version file that is being written; `finish` or `abandon` it."""

    def __init__(self, directory: VersionDirectory, name: VersionName) -> None:
        self._file_system = directory.file_system
        self._path = f"{directory.path}/{name.path}"
        self._local = isinstance(self._file_system, pafs.LocalFileSystem)
        renames = self._local or isinstance(self._file_system, pafs.HadoopFileSystem)
        self._written = self._path + _UNFINISHED if renames else self._path
        self._file: Any = None
        self.size = 0

    def write(self, data: bytes) -> int:
        """Append; where it begins.  CheckpointStorageError if the file system refuses."""
        at = self.size
        try:
            if self._file is None:
                self._begin()
            self._file.write(data)
        except OSError as error:
            raise self._refused(error) from error
        self.size += len(data)
        return at

    def _begin(self) -> None:
        folder = self._path.rpartition("/")[0]
        self._file_system.create_dir(folder, recursive=True)
        self._file = (
            open(self._written, "wb")  # noqa: SIM115
            if self._local
            else self._file_system.open_output_stream(self._written)
        )

    def finish(self) -> None:
        """Close the file and give it its name; CheckpointStorageError."""
        try:
            if self._local:
                self._file.flush()
                os.fsync(self._file.fileno())
            self._file.close()
            if self._written != self._path:
                self._file_system.move(self._written, self._path)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> CheckpointStorageError:
        return CheckpointStorageError(
            f"the state file {self._path} could not be written: {error}. Nothing of this attempt "
            "counts, and the state before it is whole: make room there, or let the workers write "
            "there, and start the query again with the same checkpoint",
            path=self._path,
        )

    def abandon(self) -> None:
        """Remove what was written; what a file system keeps all the same has no manifest."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            self._file_system.delete_file(self._written)
