"""Manifests: what a version file says of all key groups of its partition.

A file is the pieces, pages and nodes that the batch wrote, then the manifest as a sealed frame,
then its size and MAGIC.  The manifest has a record of a fixed size for each key group: where its
node is, in this file or in an earlier one, and what was noted of it.  So a reader needs one
manifest, no chain of them, and what a batch writes follows what it changed.

Invariants:
  M1  A manifest names its owner: the operator, and the file itself, whose name says version, tag,
      epoch, run, definition, partition and attempt.  No content of a file is used unless all of
      these are as expected.
  M2  References to a node, a page or a piece have its CRC-32, so a read from an earlier file gives
      what was written there, or an error.
  M3  ``files`` has all files that anything is read from, and ``live`` the bytes of pieces and pages
      in each that are still referenced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from flinkish import __version__
from flinkish._core.values.codec import CorruptFrame, frame_header, seal, unseal
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.versions.groups import Group, Piece
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.progress import Progress, Seen

__all__ = [
    "NO_LABEL",
    "NO_TIMER",
    "RECORD",
    "DataFile",
    "Manifest",
    "MisplacedFile",
    "read_manifest",
    "write_manifest",
]

MAGIC = b"FLKV"
KIND_MANIFEST = 12
MANIFEST_FORMAT = 2

# A key group: its node and the node's CRC-32, and its note.  The label is a number among labels.
RECORD = np.dtype(
    [
        *(("group", "<i4"), ("file", "<u4"), ("offset", "<u8"), ("size", "<u4")),
        *(("checksum", "<u4"), ("label", "<i4"), ("timer", "<i8"), ("counts", "<i8", (5,))),
    ]
)
NO_TIMER = MIN_TIMESTAMP  # in a record; no timer is that early
NO_LABEL = -1  # the label of a key group without a note

_END = Struct("<Q4s")
_AT_ONCE = 64 * 1024  # bytes read of the end of a file, in the hope that the manifest is in them


class MisplacedFile(ValueError):
    """A version file that is intact but belongs to another place."""


class DataFile(msgspec.Struct, array_like=True):
    """A file that is still read from: its path, and the bytes of its pieces and pages.

    ``size`` counts those that were written, ``live`` those that are still referenced.
    """

    path: str
    size: int
    live: int


@dataclass
class Manifest:
    """The state of a partition as of a version.

    ``parents`` are the paths of the files that the batch began with, which nothing reads.
    ``files`` are by the numbers that pieces have for them, ``number`` is that of this file.
    ``groups`` are key groups without a record: those of a file of format 1.
    """

    operator: str
    name: VersionName
    parents: list[str]
    progress: Progress
    number: int
    files: dict[int, DataFile]
    labels: list[str] = field(default_factory=list)
    records: NDArray[Any] = field(default_factory=lambda: np.empty(0, RECORD))
    groups: dict[int, Group] = field(default_factory=dict)

    @property
    def written(self) -> list[int]:
        """The key groups that have data in this file."""
        found: list[int] = self.records["group"][self.records["file"] == self.number].tolist()
        return found + [
            number
            for number, group in self.groups.items()
            if any(piece.file == self.number for piece in (group.pieces or {}).values())
        ]


class _Form(msgspec.Struct, array_like=True):
    """A manifest as it is written."""

    operator: str
    path: str
    flinkish: str
    parents: list[str]
    watermark: int
    watermarks: list[int]
    channels: list[dict[int, Seen]]
    number: int
    files: dict[int, DataFile]
    labels: list[str]
    records: bytes


class _FirstGroup(msgspec.Struct, array_like=True):
    head: bytes | None = None
    pieces: dict[int, tuple[int, int, int, bool]] = {}


class _First(msgspec.Struct, array_like=True):
    """A manifest of format 1, which lists all pieces; the first such files end after ``groups``."""

    version: int
    parent: str
    watermarks: list[int]
    files: list[tuple[str, int]]
    groups: dict[int, _FirstGroup]
    watermark: int | None = None
    channels: list[dict[int, Seen]] = msgspec.field(default_factory=lambda: [{}, {}])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Form).decode
_decode_first = msgspec.msgpack.Decoder(_First).decode


def write_manifest(manifest: Manifest) -> bytes:
    """The end of a version file."""
    progress = manifest.progress
    form = _Form(
        manifest.operator,
        manifest.name.path,
        __version__,
        manifest.parents,
        progress.watermark,
        progress.watermarks,
        progress.channels,
        manifest.number,
        manifest.files,
        manifest.labels,
        manifest.records.tobytes(),
    )
    frame = seal(KIND_MANIFEST, MANIFEST_FORMAT, 0, _encode(form))
    return frame + _END.pack(len(frame), MAGIC)


def read_manifest(file: Any, operator: str, name: VersionName) -> Manifest:
    """The manifest of an open file.

    CorruptFrame if it has none, MisplacedFile if it has another operator or name, NewerFrame if
    a later flinkish wrote it.
    """
    frame = _frame(file)
    body = bytes(unseal(frame, KIND_MANIFEST, 0, version=MANIFEST_FORMAT))
    first = frame_header(frame).version < MANIFEST_FORMAT
    try:
        manifest = _read_first(body, operator, name) if first else _read(body, operator, name)
    except MisplacedFile:
        raise
    except (msgspec.MsgspecError, LookupError, ValueError) as error:
        raise _torn(str(error)) from error
    strange = [*manifest.groups, *manifest.records["group"].tolist()]
    strange = [one for one in strange if one >= 0 and one % name.partitions != name.partition]
    if strange:
        raise MisplacedFile(
            f"{name.path} has key group {strange[0]}, which is not of partition {name.partition} "
            f"of {name.partitions}"
        )
    return manifest


def _frame(file: Any) -> bytes:
    size = file.size()
    end = file.read_at(min(size, _AT_ONCE), max(size - _AT_ONCE, 0))
    if len(end) < _END.size:
        raise _torn(f"{size} bytes")
    length, magic = _END.unpack(end[-_END.size :])
    if magic != MAGIC or length + _END.size > size:
        raise _torn("another end")
    frame: bytes = (
        end[-_END.size - length : -_END.size]
        if length + _END.size <= len(end)
        else file.read_at(length, size - _END.size - length)
    )
    return frame


def _read(body: bytes, operator: str, name: VersionName) -> Manifest:
    form = _decode(body)
    if (form.operator, form.path) != (operator, name.path):
        raise MisplacedFile(
            f"{name.path} of operator {operator!r} says that it is {form.path} of operator "
            f"{form.operator!r}"
        )
    records = np.frombuffer(form.records, RECORD)
    labels = records["label"]
    if (
        not np.isin(records["file"], list(form.files)).all()
        or not ((labels >= NO_LABEL) & (labels < len(form.labels))).all()
    ):
        raise ValueError("a record of a file or label that there is not")
    return Manifest(
        form.operator,
        name,
        form.parents,
        Progress(form.watermark, form.watermarks, form.channels),
        form.number,
        form.files,
        form.labels,
        records,
    )


def _read_first(body: bytes, operator: str, name: VersionName) -> Manifest:
    form = _decode_first(body)
    if form.version != name.version:
        raise MisplacedFile(f"{name.path} says that it is of version {form.version}")
    before = form.watermark
    if before is None:
        before = min(
            (time for time in form.watermarks if time > MIN_TIMESTAMP), default=MIN_TIMESTAMP
        )
    files = {number: DataFile(path, size, 0) for number, (path, size) in enumerate(form.files)}
    own = [number for number, file in files.items() if file.path == name.path]
    groups = {}
    for number, group in form.groups.items():
        pieces = {sequence: Piece(*place, None) for sequence, place in group.pieces.items()}
        groups[number] = Group(number, group.head, pieces=pieces, loose=True, changed=True)
        for piece in pieces.values():
            files[piece.file].live += piece.size
    return Manifest(
        operator,
        name,
        [form.parent] if form.parent else [],
        Progress(before, list(form.watermarks), form.channels),
        own[0] if own else len(files),
        files,
        groups=groups,
    )


def _torn(found: str) -> CorruptFrame:
    return CorruptFrame("it does not end as a version file does", found, "a manifest", "version")
