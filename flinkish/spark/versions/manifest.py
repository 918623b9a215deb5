"""Manifests: what a version file says of all key groups of its partition.

A file is the pieces that the batch wrote, then the manifest as a sealed frame, then its size and
MAGIC.  The manifest names every piece of every key group, in this file or in earlier ones, so a
reader needs no file but those that still hold something.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from flinkish._core.values.codec import CorruptFrame, seal, unseal
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.versions.progress import Progress, Seen

__all__ = ["Group", "Manifest", "Piece", "read_manifest", "write_manifest"]

MAGIC = b"FLKV"
KIND_MANIFEST = 12
MANIFEST_FORMAT = 1

_END = struct.Struct("<Q4s")
_AT_ONCE = 64 * 1024  # bytes read of the end of a file, in the hope that the manifest is in them


class Piece(msgspec.Struct, array_like=True, frozen=True):
    """Where a piece of a log is: the file by its number in the manifest, the place, the size.

    ``more``: the next piece belongs to the same frame.
    """

    file: int
    offset: int
    size: int
    more: bool


class Group(msgspec.Struct, array_like=True):
    """A key group: its head, and its pieces by sequence number."""

    head: bytes | None = None
    pieces: dict[int, Piece] = {}


class Manifest(msgspec.Struct, array_like=True):
    """The state of a partition as of a version.

    ``watermarks`` are those of the inputs (ms), ``watermark`` that of the operator, ``channels``
    what the inputs have of theirs: the last two are not in files of the first versions.  ``files``
    are the paths of the files with pieces, and their sizes.  ``parent`` is the path of the file
    that the batch began with, which nothing reads.
    """

    version: int
    parent: str
    watermarks: list[int]
    files: list[tuple[str, int]]
    groups: dict[int, Group]
    watermark: int | None = None
    channels: list[dict[int, Seen]] = msgspec.field(default_factory=lambda: [{}, {}])

    @property
    def progress(self) -> Progress:
        """How far the operator had come."""
        before = self.watermark
        if before is None:
            before = min(
                (time for time in self.watermarks if time > MIN_TIMESTAMP), default=MIN_TIMESTAMP
            )
        return Progress(before, list(self.watermarks), self.channels)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Manifest).decode


def write_manifest(manifest: Manifest) -> bytes:
    """The end of a version file."""
    frame = seal(KIND_MANIFEST, MANIFEST_FORMAT, 0, _encode(manifest))
    return frame + _END.pack(len(frame), MAGIC)


def read_manifest(file: Any) -> Manifest:
    """The manifest of an open file; CorruptFrame if it has none, or NewerFrame."""
    size = file.size()
    end = file.read_at(min(size, _AT_ONCE), max(size - _AT_ONCE, 0))
    if len(end) < _END.size:
        raise _torn(f"{size} bytes")
    length, magic = _END.unpack(end[-_END.size :])
    if magic != MAGIC or length + _END.size > size:
        raise _torn("another end")
    start = size - _END.size - length
    frame = (
        end[-_END.size - length : -_END.size]
        if length + _END.size <= len(end)
        else file.read_at(length, start)
    )
    body = bytes(unseal(frame, KIND_MANIFEST, 0, version=MANIFEST_FORMAT))
    try:
        return _decode(body)
    except msgspec.MsgspecError as error:
        raise _torn(str(error)) from error


def _torn(found: str) -> CorruptFrame:
    return CorruptFrame("it does not end as a version file does", found, "a manifest", "version")
