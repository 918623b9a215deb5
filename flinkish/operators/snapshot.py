"""Snapshots of keyed operators: sealed bytes that can be cut and joined by key group.

A snapshot is a row of frames of ``_core.values.codec``: first a manifest (JSON, not compressed),
then one frame for each key group that holds anything.  Every frame has a version and checksums, and
that of a key group its number, so bytes that are damaged or of another origin are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flinkish._core.values.codec import (
    CorruptFrame,
    FrameHeader,
    NewerFrame,
    frame_header,
    seal,
    unseal,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    CorruptStateError,
    IllegalArgumentError,
    IncompatibleStateError,
)
from flinkish.common.formats import newer_format, writer
from flinkish.state.backend import StateDeclaration
from flinkish.time.internal_timer_service import merge_services

__all__ = ["FORMAT_VERSION", "OperatorSnapshot", "SnapshotPart"]

FORMAT_VERSION = 1
KIND_MANIFEST = 2
KIND_KEY_GROUP = 3
_HEADER = 32  # bytes of a frame before its body


@dataclass
class SnapshotPart:
    """Key groups that one subtask wrote: their sealed bytes, and the states that these name."""

    states: list[StateDeclaration]
    groups: dict[int, bytes] = field(default_factory=dict)


@dataclass
class OperatorSnapshot:
    """State and timers of the key groups of one or more subtasks of an operator.

    ``services`` are the timer services by number: name to name of the namespaces' serializer.
    """

    operator: str
    max_parallelism: int
    key_type: str
    services: dict[str, str]
    parts: list[SnapshotPart]
    checkpoint_id: int = 0

    @property
    def key_groups(self) -> list[int]:
        """The key groups that hold anything, in ascending order."""
        return sorted(group for part in self.parts for group in part.groups)

    # --- bytes

    @staticmethod
    def seal_group(key_group: int, whole: bytes) -> bytes:
        """The frame of a key group's state."""
        return seal(KIND_KEY_GROUP, FORMAT_VERSION, key_group, whole)

    @staticmethod
    def open_group(key_group: int, frame: bytes) -> bytes:
        """The state in the frame of a key group; CorruptStateError."""
        try:
            return bytes(unseal(frame, KIND_KEY_GROUP, key_group, version=FORMAT_VERSION))
        except NewerFrame as error:
            raise newer_format(error, f"key group {key_group} of the snapshot") from error
        except CorruptFrame as error:
            raise _corrupt(error, frame, key_group) from error

    def to_bytes(self) -> bytes:
        """The snapshot as one row of frames."""
        manifest = writer() | {
            "operator": self.operator,
            "max_parallelism": self.max_parallelism,
            "key_type": self.key_type,
            "services": list(self.services.items()),
            "checkpoint_id": self.checkpoint_id,
            "parts": [
                {
                    "states": [state.to_dict() for state in part.states],
                    "groups": [(group, len(frame)) for group, frame in part.groups.items()],
                }
                for part in self.parts
            ],
        }
        text = json.dumps(manifest).encode()
        frames = [seal(KIND_MANIFEST, FORMAT_VERSION, 0, text, compress=False)]
        frames += [frame for part in self.parts for frame in part.groups.values()]
        return b"".join(frames)

    @classmethod
    def from_bytes(cls, blob: bytes) -> OperatorSnapshot:
        """The snapshot in these bytes.  CorruptStateError for any others.

        IncompatibleStateError for those of a later flinkish.  Frames of key groups are
        looked at when they are opened.
        """
        if not isinstance(blob, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(
                f"a snapshot is of type bytes, not {type(blob).__name__}: give what snapshot() gave"
            )
        blob = bytes(blob)
        try:
            size = frame_header(blob[:_HEADER]).size
            text = unseal(blob[: _HEADER + size], KIND_MANIFEST, 0, version=FORMAT_VERSION)
        except NewerFrame as error:
            raise newer_format(error, "the snapshot") from error
        except CorruptFrame as error:
            raise _corrupt(error, blob, 0) from error
        manifest = json.loads(bytes(text))
        parts = [
            SnapshotPart([StateDeclaration(**state) for state in part["states"]])
            for part in manifest["parts"]
        ]
        at = _HEADER + size
        for part, written in zip(parts, manifest["parts"], strict=True):
            for group, length in written["groups"]:
                part.groups[group] = blob[at : at + length]
                at += length
        if at != len(blob):
            raise CorruptStateError(
                f"the snapshot should have {at} bytes and has {len(blob)}; it was cut or added to",
                version=FORMAT_VERSION,
            )
        return cls(
            manifest["operator"],
            manifest["max_parallelism"],
            manifest["key_type"],
            dict(manifest["services"]),
            parts,
            manifest["checkpoint_id"],
        )

    # --- cutting and joining

    def keep(self, key_groups: Iterable[int]) -> OperatorSnapshot:
        """The same with these key groups only."""
        kept = set(key_groups)
        parts = [
            SnapshotPart(part.states, {g: f for g, f in part.groups.items() if g in kept})
            for part in self.parts
        ]
        return OperatorSnapshot(
            self.operator,
            self.max_parallelism,
            self.key_type,
            self.services,
            [part for part in parts if part.groups] or parts[:1],
            self.checkpoint_id,
        )

    @classmethod
    def join(cls, snapshots: Iterable[OperatorSnapshot]) -> OperatorSnapshot:
        """One snapshot of several subtasks, no key group of which may be in two."""
        first, *others = snapshots
        joined = cls(
            first.operator,
            first.max_parallelism,
            first.key_type,
            first.services,
            list(first.parts),
            first.checkpoint_id,
        )
        for other in others:
            other.check_setting("operator", joined.operator)
            other.check_setting("max_parallelism", joined.max_parallelism)
            other.check_setting("key_type", joined.key_type)
            twice = set(joined.key_groups).intersection(other.key_groups)
            if twice:
                raise IllegalArgumentError(
                    f"key group {min(twice)} is in two of the snapshots; each must be of another "
                    "subtask of one checkpoint"
                )
            joined.services = merge_services(joined.services, other.services)
            joined.parts += other.parts
        return joined

    def check_setting(self, setting: str, now: Any) -> None:
        """IncompatibleStateError unless the snapshot was written with this setting."""
        was = getattr(self, setting)
        if was != now:
            raise IncompatibleStateError(
                f"the snapshot was written with {setting} {was!r} and is used with {now!r}; set "
                f"it back to {was!r} or start without the snapshot",
                setting=setting,
                was=was,
                now=now,
            )

    def states_of(self) -> Iterator[tuple[list[StateDeclaration], Mapping[int, bytes]]]:
        """(states, opened key groups) of each part."""
        for part in self.parts:
            yield part.states, {g: self.open_group(g, frame) for g, frame in part.groups.items()}


def _corrupt(error: CorruptFrame, frame: bytes, key_group: int) -> CorruptStateError:
    header: FrameHeader | None
    try:
        header = frame_header(frame)
    except CorruptFrame:
        header = None
    return CorruptStateError(
        f"snapshot refused: {error}",
        version=header.version if header else None,
        key_group=header.key_group if header else key_group,
        checksum=int.from_bytes(frame[28:_HEADER], "little") if len(frame) >= _HEADER else None,
    )
