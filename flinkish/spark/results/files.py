"""The files of a ledger on whatever file system they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from flinkish._core.values.codec import NewerFrame
from flinkish.common.file_systems import file_system_of
from flinkish.common.formats import newer_format

__all__ = ["SUFFIX", "Place", "SegmentFile"]

SUFFIX = ".segment"

_AT_ONCE_NEAR = 64 << 10  # bytes; their results become values in a millisecond or two
_AT_ONCE_FAR = 1 << 20


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment as the directory lists it; times are s since the epoch."""

    path: str
    name: str
    size: int
    changed: float


class Place:
    """A directory of segments; it need not exist to be read."""

    def __init__(self, path: str | os.PathLike[str], below: str = "") -> None:
        self.path = os.fspath(path)
        self.file_system, root = file_system_of(self.path, "a ledger in a directory")
        self.directory = f"{root}/{below}" if below else root

    @property
    def appendable(self) -> bool:
        """Whether what was written to an open file survives the end of the process.

        Object stores show a file when it is closed, and not before.
        """
        return isinstance(self.file_system, (pafs.LocalFileSystem, pafs.HadoopFileSystem))

    @property
    def local(self) -> bool:
        """Whether files are on this machine."""
        return isinstance(self.file_system, pafs.LocalFileSystem)

    @property
    def at_once(self) -> int:
        """How many bytes to read at once: what costs little more than to read a few."""
        return _AT_ONCE_NEAR if self.local else _AT_ONCE_FAR

    def segments(self) -> list[SegmentFile]:
        """The segments that there are, the oldest names first."""
        selector = pafs.FileSelector(self.directory, allow_not_found=True)
        return sorted(
            (
                SegmentFile(found.path, found.base_name, found.size or 0, _seconds(found))
                for found in self.file_system.get_file_info(selector)
                if found.is_file and found.base_name.endswith(SUFFIX)
            ),
            key=lambda segment: segment.name,
        )

    def create(self, name: str) -> pa.NativeFile:
        """A new file to write to."""
        self.file_system.create_dir(self.directory, recursive=True)
        return self.file_system.open_output_stream(f"{self.directory}/{name}")

    @contextmanager
    def open(self, segment: SegmentFile) -> Iterator[pa.NativeFile]:
        """A segment to read from; IncompatibleStateError if a later flinkish wrote it."""
        with self.file_system.open_input_file(segment.path) as file:
            try:
                yield file
            except NewerFrame as error:
                what = f"segment {segment.name} of the ledger at {self.path}"
                raise newer_format(error, what) from error

    def rename(self, name: str, to: str) -> None:
        """Give a file of the directory another name."""
        self.file_system.move(f"{self.directory}/{name}", f"{self.directory}/{to}")

    def remove(self, segment: SegmentFile) -> bool:
        """Delete a segment; False if somebody else did."""
        try:
            self.file_system.delete_file(segment.path)
        except FileNotFoundError:
            return False
        return True


def _seconds(found: pafs.FileInfo) -> float:
    return (found.mtime_ns or 0) / 1e9
