"""The state of one partition of an operator: read as of a version, written as the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from flinkish._core.values.codec import CorruptFrame, NewerFrame
from flinkish.common.errors import (
    CorruptStateError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.common.formats import newer_format
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory, VersionWriter
from flinkish.spark.versions.manifest import (
    Group,
    Manifest,
    Piece,
    read_manifest,
    write_manifest,
)
from flinkish.spark.versions.names import VersionName, choices
from flinkish.spark.versions.progress import Progress

__all__ = ["PartitionState", "load", "read_version"]

HEAD = (-1,)
_CARRIED = 8 * 1024 * 1024  # bytes that a batch takes along


class PartitionState:
    """The key groups of a partition, each a head and pieces by number.

    `use` makes one current; `getValue`, `containsKey`, `updateValue` and `removeKey` are then those
    of Spark's map state, so that the same code keeps a log here and there.  Nothing counts before
    `commit`.
    """

    def __init__(
        self, directory: VersionDirectory, name: VersionName, held: Sequence[Manifest], parent: str
    ) -> None:
        self._directory = directory
        self._name = name
        self._parent = parent
        self._writer: VersionWriter = directory.create(name)
        self._open: dict[int, Any] = {}
        self._files: list[tuple[str, int]] = []
        self.groups: dict[int, Group] = {}
        self.progress = held[0].progress if held else Progress()
        for manifest in held:
            self._take(manifest)
        self._mine = len(self._files)  # the number of the file that is written
        self._current = Group()

    def _take(self, manifest: Manifest) -> None:
        """Take over those key groups of a manifest that belong to this partition."""
        numbers: dict[int, int] = {}

        def here(piece: Piece) -> Piece:
            if piece.file not in numbers:
                numbers[piece.file] = len(self._files)
                self._files.append(manifest.files[piece.file])
            return Piece(numbers[piece.file], piece.offset, piece.size, piece.more)

        for key_group, group in manifest.groups.items():
            if key_group % self._name.partitions == self._name.partition or key_group < 0:
                pieces = {sequence: here(piece) for sequence, piece in group.pieces.items()}
                self.groups[key_group] = Group(group.head, pieces)

    # --- as a map of Spark's

    def use(self, key_group: int) -> PartitionState:
        """Make a key group current."""
        self._current = self.groups.setdefault(key_group, Group())
        return self

    def containsKey(self, key: tuple[int]) -> bool:
        """Whether there is a head, or a piece of this number."""
        current = self._current
        return current.head is not None if key == HEAD else key[0] in current.pieces

    def getValue(self, key: tuple[int]) -> tuple[bytes, bool] | None:
        """A head or a piece, and whether the next piece belongs to it; None without one."""
        if key == HEAD:
            head = self._current.head
            return None if head is None else (head, False)
        piece = self._current.pieces.get(key[0])
        return None if piece is None else (self._read(piece), piece.more)

    def updateValue(self, key: tuple[int], value: tuple[bytes, bool]) -> None:
        """Write a head or a piece."""
        data, more = value
        if key == HEAD:
            self._current.head = data
        else:
            at = self._writer.write(data)
            self._current.pieces[key[0]] = Piece(self._mine, at, len(data), more)

    def removeKey(self, key: tuple[int]) -> None:
        """Forget a head or a piece."""
        if key == HEAD:
            self._current.head = None
        else:
            del self._current.pieces[key[0]]

    def _read(self, piece: Piece) -> bytes:
        path = f"{self._directory.path}/{self._files[piece.file][0]}"
        if piece.file not in self._open:
            try:
                self._open[piece.file] = self._directory.open(self._files[piece.file][0])
            except FileNotFoundError as error:
                raise CorruptStateError(
                    f"{path} is gone, and state is in it: put it back from a copy, or start the "
                    "query with a new checkpoint"
                ) from error
        data: bytes = self._open[piece.file].read_at(piece.size, piece.offset)
        if len(data) != piece.size:
            raise CorruptStateError(
                f"{path} has {len(data)} bytes at {piece.offset}, and {piece.size} were written: "
                "the file is damaged"
            )
        return data

    # --- the end

    def commit(self, oldest: int) -> None:
        """Write the manifest; from now on this attempt's state counts, if the batch does.

        ``oldest`` is the earliest version that may be asked for.
        """
        self._carry(oldest)
        self._close()
        files = [*self._files, (self._name.path, self._writer.size)]
        used = sorted(
            {piece.file for group in self.groups.values() for piece in group.pieces.values()}
        )
        numbers = {file: number for number, file in enumerate(used)}
        groups = {
            key_group: Group(
                group.head,
                {
                    sequence: Piece(numbers[piece.file], piece.offset, piece.size, piece.more)
                    for sequence, piece in group.pieces.items()
                },
            )
            for key_group, group in self.groups.items()
            if group.head is not None or group.pieces
        }
        manifest = Manifest(
            self._name.version,
            self._parent,
            self.progress.watermarks,
            [files[number] for number in used],
            groups,
            self.progress.watermark,
            self.progress.channels,
        )
        self._writer.write(write_manifest(manifest))
        self._writer.finish()

    def _carry(self, oldest: int) -> None:
        """Take what is left in files that are mostly dead along, so that these can go.

        Of files before ``oldest`` less than half is dead then, but for what is more than _CARRIED
        bytes at a time.
        """
        live: dict[int, int] = {}
        for group in self.groups.values():
            for piece in group.pieces.values():
                live[piece.file] = live.get(piece.file, 0) + piece.size
        dying = set()
        room = _CARRIED
        for number, (path, size) in enumerate(self._files):
            old = int(path.partition("/")[0]) < oldest
            if old and 0 < live.get(number, 0) * 2 < size and live[number] <= room:
                dying.add(number)
                room -= live[number]
        if not dying:
            return
        for group in self.groups.values():
            for sequence, piece in group.pieces.items():
                if piece.file in dying:
                    at = self._writer.write(self._read(piece))
                    group.pieces[sequence] = Piece(self._mine, at, piece.size, piece.more)

    def abandon(self) -> None:
        """Leave nothing that counts."""
        self._close()
        self._writer.abandon()

    def _close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()


def load(
    directory: VersionDirectory,
    batch: Batch,
    partitions: int,
    defined_ms: int,
    operator: str,
    definition: str,
) -> PartitionState:
    """The state before a batch of the partition that this task has, of so many.

    IllegalArgumentError if another operator of the query has this one's name, CorruptStateError
    for damaged files, IncompatibleStateError if there is no such version.
    """
    names: list[VersionName] = []
    found: Sequence[Mapping[int, list[VersionName]]] = [{}]
    if batch.number:
        names = directory.names(batch.number)
        assert batch.parent_tag is not None
        found = choices(names, batch.parent_tag, batch.run)
        if not found:
            raise _missing(directory, batch, operator)
    _check_alone(names, found[0], batch, operator, definition)
    name = VersionName(
        batch.number + 1,
        batch.tag,
        _epoch_of(directory, batch, names, defined_ms),
        batch.run,
        definition,
        batch.partition,
        partitions,
        batch.attempt,
    )
    failed: CorruptStateError | None = None
    for held in found:
        needed = _needed(held, batch, partitions, operator)
        try:
            read = [read_version(directory, held[number], operator)[1] for number in needed]
        except CorruptStateError as error:
            failed = failed or error
            continue
        return PartitionState(directory, name, read, held[needed[0]][0].path if read else "")
    assert failed is not None
    raise failed


def _needed(
    held: Mapping[int, list[VersionName]], batch: Batch, partitions: int, operator: str
) -> list[int]:
    """The partitions of a version that may hold key groups of this task's; IllegalStateError."""
    before = next(iter(held.values()))[0].partitions if held else 0
    needed = [number for number in range(before) if _meet(number, before, batch, partitions)]
    absent = [number for number in needed if number not in held]
    if absent:
        raise IllegalStateError(
            f"partition {absent[0]} of operator {operator!r} wrote no state in batch "
            f"{batch.number - 1}, though Spark went on: the sink of the query did not read all of "
            "the operator's output (a foreachBatch with limit or take, or without an action)"
        )
    return needed


def _check_alone(
    names: Sequence[VersionName],
    found: Mapping[int, list[VersionName]],
    batch: Batch,
    operator: str,
    definition: str,
) -> None:
    """IllegalArgumentError if two operators wrote files under this name in one run of the query."""
    runs = {batch.run: {definition}} | {
        one.run: {one.definition} for attempts in found.values() for one in attempts[:1]
    }
    for name in names:
        if name.tag == batch.parent_tag and name.definition not in runs.get(
            name.run, {name.definition}
        ):
            raise IllegalArgumentError(
                f"two operators of this query are called {operator!r} and write to one place; give "
                "each a name of its own with uid='...', and start with a new checkpoint"
            )


def _meet(number: int, before: int, batch: Batch, partitions: int) -> bool:
    """Whether a partition of another dealing may hold key groups of this task's."""
    if before == partitions:
        return number == batch.partition
    step = gcd(before, partitions)
    return number % step == batch.partition % step


def read_version(
    directory: VersionDirectory, names: Sequence[VersionName], operator: str
) -> tuple[VersionName, Manifest]:
    """The last attempt whose file is whole, and its manifest."""
    failed: Exception | None = None
    for name in names:
        try:
            with directory.open(name.path) as file:
                return name, read_manifest(file)
        except NewerFrame as error:
            what = f"the state of operator {operator!r} in {name.path}"
            raise newer_format(error, what) from error
        except CorruptFrame as error:
            failed = failed or error
    raise CorruptStateError(
        f"the state of operator {operator!r} cannot be read: {names[0].path}: {failed}"
    ) from failed


def _missing(directory: VersionDirectory, batch: Batch, operator: str) -> IncompatibleStateError:
    return IncompatibleStateError(
        f"there is no state of operator {operator!r} before batch {batch.number} in "
        f"{directory.path}: it is new in this checkpoint, had another name or another backend, or "
        "its files are gone; give it the name that it had with uid='...', or start the query with "
        "a new checkpoint",
        setting="uid",
        was=None,
        now=operator,
    )


def _epoch_of(
    directory: VersionDirectory, batch: Batch, names: Sequence[VersionName], defined_ms: int
) -> int:
    """The epoch of this run (V4): that which it has taken, or one above all others."""
    own = [name.epoch for name in names if name.run == batch.run]
    if own:
        return max(own)
    others = [*names, *directory.names(batch.number + 1)]
    return max([defined_ms, *(name.epoch + 1 for name in others if name.run != batch.run)])
