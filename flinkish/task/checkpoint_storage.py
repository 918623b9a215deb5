"""Checkpoints in a directory of any file system: one file each, whole or not there.

A checkpoint is written under a temporary name, flushed to the disk, and renamed.  So a kill at
any moment leaves either the whole file or one that nobody looks for.  A file is a row of
frames of ``_core.values.codec``: a manifest (which states, how long), then a frame for each state,
every one with its version and checksums; what a disk or a hand has changed is told from what was
written.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from flinkish._core.values.codec import CorruptFrame, NewerFrame, frame_header, seal, unseal
from flinkish.common.errors import (
    ArgumentTypeError,
    CheckpointStorageError,
    CorruptStateError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.file_systems import file_system_of
from flinkish.common.formats import newer_format, writer

__all__ = [
    "CheckpointStorage",
    "DamagedCheckpointWarning",
    "FileSystemCheckpointStorage",
    "StoredCheckpoint",
]

_LOG = logging.getLogger(__name__)

FORMAT_VERSION = 1
KIND_MANIFEST = 4
KIND_STATE = 5

_HEADER = 32  # bytes of a frame before its body
_NAME = re.compile(r"checkpoint-(\d{20})")
_UNFINISHED = ".unfinished-"
_MAX_ID = 2**63 - 1


class DamagedCheckpointWarning(UserWarning):
    """A checkpoint could not be read, and an older one was taken."""


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint as it was saved: its id, and the state of each name."""

    checkpoint_id: int
    state: dict[str, bytes]


class CheckpointStorage(ABC):
    """Where tasks and coordinators keep checkpoints; derive from it to keep them elsewhere.

    What it raises when it cannot keep one should be a CheckpointStorageError.

    Threading: one call of ``save``, ``discard`` and ``keep`` at a time, from any thread.
    """

    @abstractmethod
    def save(self, checkpoint_id: int, state: Mapping[str, bytes]) -> None:
        """Keep a checkpoint, whole or not at all; once this returns it survives the process."""

    @abstractmethod
    def load_latest(self) -> StoredCheckpoint | None:
        """The newest checkpoint that was saved and not discarded; None when there is none."""

    def discard(self, checkpoint_id: int) -> None:
        """Remove a checkpoint that was aborted while it was saved; one that is not there is none.

        A storage that cannot do that raises, and the tasks fail: else they would be told that a
        checkpoint was aborted, and start from it later.
        """
        raise UnsupportedOperationError(
            f"{type(self).__name__} cannot discard checkpoint {checkpoint_id}, which was aborted "
            "while it was saved: define CheckpointStorage.discard"
        )

    def keep(self, checkpoint_id: int) -> None:  # noqa: B027
        """This is the newest complete checkpoint: do not remove it before another one is.

        For storages that remove old checkpoints; others have nothing to do.
        """


class FileSystemCheckpointStorage(CheckpointStorage):
    """Keeps the newest checkpoints in a directory, which is made when it is missing.

    ``path`` is a local path or a URI: those of pyarrow (``file:``, ``s3:``, ``gs:``, ``hdfs:`` …),
    else those of fsspec, if it is installed.  ``retain`` newest checkpoints stay, at least one.

    One writer at a time; two would not tear a file but remove one another's.  Threads may share
    a storage if they do not save at once.

    Raises CheckpointStorageError, here and in ``save``, when the directory cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], *, retain: int = 3) -> None:
        if not isinstance(retain, int) or retain < 1:
            raise IllegalArgumentError(
                f"retain must be an int of at least 1, not {retain!r}: the newest is always kept"
            )
        self._retain = retain
        self._kept: int | None = None
        self._path = os.fspath(path)
        self._fs, self._directory = file_system_of(self._path, "a checkpoint directory")
        try:
            self._fs.create_dir(self._directory, recursive=True)
            probe = f"{self._directory}/{_UNFINISHED}{secrets.token_hex(8)}"
            with self._fs.open_output_stream(probe):
                pass
            self._fs.delete_file(probe)
        except OSError as error:
            raise CheckpointStorageError(
                f"checkpoints cannot be written into {self._path!r}: {error}; give a directory "
                "that this user may write, or one that can be made",
                path=self._path,
            ) from error

    def save(self, checkpoint_id: int, state: Mapping[str, bytes]) -> None:
        """Keep a checkpoint; once this returns it survives the end of the process.

        A checkpoint of the same id is replaced.  Older ones than the ``retain`` newest go, and so
        do the remains of attempts that ended early.
        """
        _check(checkpoint_id, state)
        frames = [
            seal(KIND_STATE, FORMAT_VERSION, number, blob)
            for number, blob in enumerate(state.values())
        ]
        manifest = writer() | {
            "checkpoint_id": checkpoint_id,
            "states": [(name, len(frame)) for name, frame in zip(state, frames, strict=True)],
        }
        text = json.dumps(manifest).encode()
        frames.insert(0, seal(KIND_MANIFEST, FORMAT_VERSION, 0, text, compress=False))
        unfinished = f"{self._directory}/{_UNFINISHED}{secrets.token_hex(8)}"
        try:
            with self._fs.open_output_stream(unfinished) as stream:
                for frame in frames:
                    stream.write(frame)
            self._flush(unfinished)
            self._fs.move(unfinished, f"{self._directory}/checkpoint-{checkpoint_id:020d}")
            self._flush(self._directory)
        except OSError as error:
            raise CheckpointStorageError(
                f"checkpoint {checkpoint_id} could not be written into {self._path!r}: {error}; "
                "older checkpoints are as they were",
                path=self._path,
            ) from error
        self._remove_old()

    def discard(self, checkpoint_id: int) -> None:
        """Remove the file of a checkpoint that was aborted; nothing happens if it is not there.

        CheckpointStorageError if it cannot be removed.
        """
        path = f"{self._directory}/checkpoint-{checkpoint_id:020d}"
        try:
            if self._fs.get_file_info(path).type == pafs.FileType.File:
                self._fs.delete_file(path)
                self._flush(self._directory)
        except OSError as error:
            raise CheckpointStorageError(
                f"checkpoint {checkpoint_id} was aborted and could not be removed from "
                f"{self._path!r}: {error}; remove it before you start from that directory",
                path=self._path,
            ) from error

    def keep(self, checkpoint_id: int) -> None:
        """Do not remove this checkpoint before another one is complete.

        It stays beside the ``retain`` newest, for those may yet be discarded.
        """
        before, self._kept = self._kept, checkpoint_id
        if before is not None:
            self._remove_old()

    def load_latest(self) -> StoredCheckpoint | None:
        """The newest checkpoint that is whole; None when there never was one.

        One that is damaged is passed over with a DamagedCheckpointWarning that names it.
        CorruptStateError when there are checkpoints and none can be read, and
        IncompatibleStateError when a later flinkish wrote the newest that is whole: starting
        without state would lose it in silence.
        """
        found = sorted(self._checkpoints(), reverse=True)
        reasons = []
        for checkpoint_id in found:
            try:
                loaded = self._load(checkpoint_id)
            except NewerFrame as error:
                raise newer_format(
                    error, f"checkpoint {checkpoint_id} in {self._path!r}"
                ) from error
            except (CorruptFrame, OSError) as error:
                reasons.append(f"checkpoint {checkpoint_id}: {error}")
                continue
            for reason in reasons:
                warnings.warn(
                    f"{reason}. Checkpoint {checkpoint_id} in {self._path!r} was taken instead",
                    DamagedCheckpointWarning,
                    stacklevel=2,
                )
            return loaded
        if reasons:
            raise CorruptStateError(
                f"none of the {len(found)} checkpoints in {self._path!r} can be read; put back a "
                f"copy, or start from an empty directory to go without. {'; '.join(reasons)}",
                version=FORMAT_VERSION,
            )
        return None

    # --- files

    def _checkpoints(self) -> list[int]:
        names = (_NAME.fullmatch(info.base_name) for info in self._entries())
        return [int(name[1]) for name in names if name]

    def _entries(self) -> list[Any]:
        return [
            info
            for info in self._fs.get_file_info(pafs.FileSelector(self._directory))
            if info.type == pafs.FileType.File
        ]

    def _load(self, checkpoint_id: int) -> StoredCheckpoint:
        path = f"{self._directory}/checkpoint-{checkpoint_id:020d}"
        with self._fs.open_input_stream(path) as stream:
            blob = memoryview(stream.read())
        size = frame_header(blob[:_HEADER]).size
        at = _HEADER + size
        manifest = json.loads(bytes(unseal(blob[:at], KIND_MANIFEST, 0, version=FORMAT_VERSION)))
        if manifest["checkpoint_id"] != checkpoint_id:
            raise CorruptFrame(
                "checkpoint id",
                str(manifest["checkpoint_id"]),
                str(checkpoint_id),
                "the file was renamed",
            )
        state = {}
        for number, (name, length) in enumerate(manifest["states"]):
            frame = blob[at : at + length]
            state[name] = bytes(unseal(frame, KIND_STATE, number, version=FORMAT_VERSION))
            at += length
        if at != len(blob):
            raise CorruptFrame("size", f"{len(blob)} bytes", str(at), "the file was added to")
        return StoredCheckpoint(checkpoint_id, state)

    def _remove_old(self) -> None:
        """Remove what is not needed any more; what cannot be removed now is looked at again."""
        try:
            kept = {self._kept, *sorted(self._checkpoints())[-self._retain :]}
            for info in self._entries():
                name = _NAME.fullmatch(info.base_name)
                if info.base_name.startswith(_UNFINISHED) or (name and int(name[1]) not in kept):
                    self._fs.delete_file(info.path)
        except OSError as error:  # the new checkpoint is kept, and that is what matters
            _LOG.warning("old checkpoints could not be removed from %r: %s", self._path, error)

    def _flush(self, path: str) -> None:
        """Have the system put a file, or the names in a directory, on the disk."""
        if isinstance(self._fs, pafs.LocalFileSystem):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _check(checkpoint_id: int, state: Mapping[str, bytes]) -> None:
    if not isinstance(checkpoint_id, int) or not 0 <= checkpoint_id <= _MAX_ID:
        raise IllegalArgumentError(
            f"a checkpoint id is an int from 0 to {_MAX_ID}, not {checkpoint_id!r}"
        )
    for name, blob in state.items():
        if not isinstance(name, str) or not isinstance(blob, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(
                f"state of a checkpoint is bytes by name, not {type(blob).__name__} by {name!r}"
            )
