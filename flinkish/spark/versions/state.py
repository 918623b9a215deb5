"""The state of one partition of an operator: read as of a version, written as the next one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish._core.values.codec import CorruptFrame, NewerFrame
from flinkish.common.errors import CorruptStateError
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.spark.versions.directory import VersionDirectory, VersionWriter
from flinkish.spark.versions.emptying import files_to_empty
from flinkish.spark.versions.groups import Group, Note, Piece, decode_node, unpack_pieces
from flinkish.spark.versions.manifest import (
    NO_LABEL,
    NO_TIMER,
    RECORD,
    DataFile,
    Manifest,
    MisplacedFile,
    read_manifest,
    write_manifest,
)
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.progress import Progress

__all__ = ["HEAD", "PartitionState"]

HEAD = (-1,)
_NODES_AT_ONCE = 64 * 1024  # bytes per read from a file, in which nodes lie side by side


class PartitionState:
    """The key groups of a partition, each a head and pieces by number, and a note.

    `use` makes one current; `getValue`, `containsKey`, `updateValue` and `removeKey` are then those
    of Spark's map state, so that the same code keeps a log here and there.  Nothing counts before
    `commit`.

    Complexity: an unused key group costs only its record, which numpy copies.  A changed key
    group costs its node, however long its log is.
    """

    def __init__(
        self, directory: VersionDirectory, name: VersionName, held: Sequence[Manifest] = ()
    ) -> None:
        self._directory = directory
        self._name = name
        self._writer: VersionWriter = directory.create(name)
        self._parents = [manifest.name.path for manifest in held]
        self._open: dict[int, Any] = {}
        self._nodes: dict[int, tuple[int, bytes]] = {}  # by file: the last read, offset and bytes
        self._files: dict[int, DataFile] = {}
        self._labels: list[str] = []
        self._records: NDArray[Any] = np.empty(0, RECORD)
        self._groups: dict[int, Group] = {}
        self.progress = held[0].progress if held else Progress()
        if len(held) == 1 and _same_partition(held[0].name, name):
            self._take(held[0])
        else:
            for manifest in held:
                self._take_some(manifest)
        self._places = {group: place for place, group in enumerate(self._records["group"].tolist())}
        self._mine = max([-1, *self._files, *(manifest.number for manifest in held)]) + 1
        self._own = DataFile(name.path, 0, 0)
        self._files[self._mine] = self._own
        self._current = Group(0)

    # --- earlier versions

    def _take(self, manifest: Manifest) -> None:
        """Go on from a manifest of this partition."""
        self._files = dict(manifest.files)
        self._labels = list(manifest.labels)
        self._records = manifest.records
        self._groups = dict(manifest.groups)

    def _take_some(self, manifest: Manifest) -> None:
        """Take over those key groups of another partition's manifest that belong to this one."""
        other = PartitionState(self._directory, manifest.name, [manifest])
        first = max(self._files, default=-1) + 1

        def here(piece: Piece) -> Piece:
            return piece._replace(file=first + piece.file)

        try:
            for number, file in manifest.files.items():
                self._files[first + number] = DataFile(file.path, file.size, 0)
            for key_group in other.key_groups:
                if key_group % self._name.partitions == self._name.partition or key_group < 0:
                    found = other._group(key_group)
                    pieces = other._pieces(found).items()
                    own = {sequence: here(piece) for sequence, piece in pieces}
                    self._groups[key_group] = Group(
                        key_group, found.head, pieces=own, loose=True, note=found.note, changed=True
                    )
                    for piece in own.values():
                        self._count(piece, 1)
        finally:
            other._close()

    @property
    def key_groups(self) -> list[int]:
        """The key groups that are not empty, ascending."""
        gone = {number for number, group in self._groups.items() if group.is_empty}
        return sorted({*self._places, *self._groups} - gone)

    def _pieces(self, group: Group) -> dict[int, Piece]:
        """All pieces of a key group; reads its pages if necessary."""
        if group.pieces is None:
            group.pieces = {}
            for page in group.page_places:
                group.pieces.update(unpack_pieces(self._read(page)))
            group.pieces.update(unpack_pieces(group.latest))
        return group.pieces

    def _group(self, key_group: int) -> Group:
        """A key group, read if necessary."""
        group = self._groups.get(key_group)
        if group is None:
            place = self._places.get(key_group)
            group = Group(key_group) if place is None else self._read_node(self._records[place])
            self._groups[key_group] = group
        return group

    def _read_node(self, record: Any) -> Group:
        number, offset, size = (int(record[name]) for name in ("file", "offset", "size"))
        start, data = self._nodes.get(number, (0, b""))
        if not start <= offset <= offset + size <= start + len(data):
            start, data = offset, self._bytes(number, offset, max(size, _NODES_AT_ONCE))
            self._nodes[number] = start, data
        node = data[offset - start : offset - start + size]
        self._check(Piece(number, offset, size, False, int(record["checksum"])), node)
        group = decode_node(node, int(record["group"]))
        if record["label"] != NO_LABEL:
            timer = int(record["timer"])
            label = self._labels[record["label"]]
            group.note = Note(None if timer == NO_TIMER else timer, label, _five(record["counts"]))
        return group

    # --- as a map of Spark's

    def use(self, key_group: int) -> PartitionState:
        """Make a key group current."""
        self._current = self._group(key_group)
        return self

    @property
    def sequences(self) -> list[int]:
        """The numbers of the current key group's pieces, ascending."""
        return sorted(self._pieces(self._current))

    def containsKey(self, key: tuple[int]) -> bool:
        """Whether there is a head, or a piece of this number."""
        group = self._current
        return group.head is not None if key == HEAD else key[0] in self._pieces(group)

    def getValue(self, key: tuple[int]) -> tuple[bytes, bool] | None:
        """A head or a piece, and whether the next piece belongs to it; None without one."""
        if key == HEAD:
            head = self._current.head
            return None if head is None else (head, False)
        piece = self._pieces(self._current).get(key[0])
        return None if piece is None else (self._read(piece), piece.more)

    def updateValue(self, key: tuple[int], value: tuple[bytes, bool]) -> None:
        """Write a head or a piece."""
        data, more = value
        group = self._current
        group.changed = True
        if key == HEAD:
            group.head, group.note = data, None
            return
        if key[0] > group.last:
            group.append(key[0], self._write(data, more))
            return
        pieces = self._loosen(group)
        if key[0] in pieces:
            self._count(pieces[key[0]], -1)
        pieces[key[0]] = self._write(data, more)

    def removeKey(self, key: tuple[int]) -> None:
        """Forget a head or a piece."""
        self._current.changed = True
        if key == HEAD:
            self._current.head = self._current.note = None
        else:
            self._count(self._loosen(self._current).pop(key[0]), -1)

    def _loosen(self, group: Group) -> dict[int, Piece]:
        """The pieces of a key group, for any change: its encoded lists are dropped."""
        pieces = self._pieces(group)
        for page in group.page_places:
            self._count(page, -1)
        group.pages, group.latest, group.loose, group.changed = b"", b"", True, True
        return pieces

    # --- notes

    def note(self, note: Note) -> None:
        """Note what a later batch needs of the current key group; a new head removes the note."""
        self._current.note = note
        self._current.changed = True

    @property
    def without_note(self) -> list[int]:
        """The key groups that have a head but no note; those below 0 need no note."""
        groups, labels = self._records["group"], self._records["label"]
        found = set(groups[(labels == NO_LABEL) & (groups >= 0)].tolist())
        for number, group in self._groups.items():
            found.discard(number)
            if number >= 0 and group.head is not None and group.note is None:
                found.add(number)
        return sorted(found)

    def timers(self, until: int = MAX_TIMESTAMP) -> dict[int, int]:
        """The timers (ms) of key groups by what is noted of them, up to a time."""
        records = self._records
        timers = records["timer"]
        due = records[(timers != NO_TIMER) & (timers <= min(until, MAX_TIMESTAMP))]
        found = dict(zip(due["group"].tolist(), due["timer"].tolist(), strict=True))
        for number, group in self._groups.items():
            found.pop(number, None)
            timer = None if group.note is None else group.note.timer
            if timer is not None and timer <= until:
                found[number] = timer
        return found

    def counted(self, label: str, without: Iterable[int]) -> tuple[int, list[int]]:
        """How many other key groups have notes with a label, and the sums of their counts."""
        records = self._records
        others = {*without}
        number = self._labels.index(label) if label in self._labels else len(self._labels)
        rest = ~np.isin(records["group"], [*others, *self._groups])
        counts = records["counts"][rest & (records["label"] == number)]
        total = np.array(counts.sum(axis=0), np.int64)
        read = [
            group.note.counts
            for group in self._groups.values()
            if group.note is not None and group.note.label == label and group.number not in others
        ]
        for own in read:
            total += own
        return len(counts) + len(read), total.tolist()

    # --- bytes

    def _file(self, number: int) -> DataFile:
        try:
            return self._files[number]
        except KeyError as error:
            raise CorruptStateError(
                f"a file before {self._name.path} refers to a file {number} that it does not list"
            ) from error

    def _path(self, number: int) -> str:
        return f"{self._directory.path}/{self._file(number).path}"

    def _bytes(self, number: int, offset: int, size: int) -> bytes:
        if number not in self._open:
            try:
                self._open[number] = self._directory.open(self._file(number).path)
            except FileNotFoundError as error:
                raise CorruptStateError(
                    f"{self._path(number)} is gone, and state is in it: put it back from a copy, "
                    "or start the query with a new checkpoint"
                ) from error
        data: bytes = self._open[number].read_at(size, offset)
        return data

    def _read(self, piece: Piece) -> bytes:
        data = self._bytes(piece.file, piece.offset, piece.size)
        self._check(piece, data)
        return data

    def _check(self, piece: Piece, data: bytes) -> None:
        if len(data) != piece.size:
            raise CorruptStateError(
                f"{self._path(piece.file)} has {len(data)} bytes at {piece.offset}, and "
                f"{piece.size} were written: the file is damaged"
            )
        if piece.checksum is not None and (found := zlib.crc32(data)) != piece.checksum:
            raise CorruptStateError(
                f"{self._path(piece.file)} has other bytes at {piece.offset} than were written "
                f"there, whose checksum is {piece.checksum:#010x}: the file is damaged, or another "
                "is in its place; put it back from a copy, or start the query with a new "
                "checkpoint",
                checksum=found,
            )

    def _write(self, data: bytes, more: bool) -> Piece:
        piece = Piece(self._mine, self._writer.write(data), len(data), more, zlib.crc32(data))
        self._own.size += piece.size
        self._count(piece, 1)
        return piece

    def _count(self, piece: Piece, sign: int) -> None:
        self._file(piece.file).live += sign * piece.size

    # --- the end

    def commit(self, oldest: int) -> None:
        """Write the manifest; from now on this attempt's state counts, if the batch does.

        ``oldest`` is the earliest version that may be asked for.
        """
        for number in files_to_empty(self._files, oldest):
            self._empty(number)
        records = self._new_records()
        self._close()
        nodes = set(np.unique(records["file"]).tolist())
        files = {
            number: file for number, file in self._files.items() if file.live > 0 or number in nodes
        }
        manifest = Manifest(
            self._directory.operator,
            self._name,
            self._parents,
            self.progress,
            self._mine,
            files,
            self._labels,
            records,
        )
        self._writer.write(write_manifest(manifest))
        self._writer.finish()

    def _new_records(self) -> NDArray[Any]:
        """The records, after new nodes have been written for what has changed."""
        changed = [group for group in self._groups.values() if group.changed]
        kept = [group for group in changed if not group.is_empty]
        nodes = [group.encode(lambda page: self._write(page, False)) for group in kept]
        offset = self._writer.write(b"".join(nodes)) if nodes else 0
        rows = []
        for group, node in zip(kept, nodes, strict=True):
            place = (group.number, self._mine, offset, len(node), zlib.crc32(node))
            rows.append((*place, *self._noted(group.note)))
            offset += len(node)
        untouched = ~np.isin(self._records["group"], [group.number for group in changed])
        records = np.concatenate([self._records[untouched], np.array(rows, RECORD)])
        return records[np.argsort(records["group"])]

    def _noted(self, note: Note | None) -> tuple[int, int, tuple[int, ...]]:
        if note is None:
            return NO_LABEL, NO_TIMER, (0,) * 5
        if note.label not in self._labels:
            self._labels.append(note.label)
        timer = NO_TIMER if note.timer is None else max(note.timer, NO_TIMER + 1)
        return self._labels.index(note.label), timer, note.counts

    # --- files to be removed

    def _empty(self, number: int) -> None:
        """Copy the live data out of a file, so that it can be removed.

        A file whose manifest cannot be read stays as it is.
        """
        path = self._files[number].path
        version, _, name = path.partition("/")
        parsed = VersionName.parse(int(version), name)
        try:
            assert parsed is not None
            with self._directory.open(path) as file:
                written = read_manifest(file, self._directory.operator, parsed).written
        except (CorruptFrame, MisplacedFile, NewerFrame, OSError):
            return
        for key_group in written:
            if key_group in self._places or key_group in self._groups:
                group = self._group(key_group)
                places = [*group.page_places, *self._pieces(group).values()]
                if any(piece.file == number for piece in places):
                    pieces = self._loosen(group)
                    for sequence, piece in pieces.items():
                        if piece.file == number:
                            pieces[sequence] = self._write(self._read(piece), piece.more)
                            self._count(piece, -1)
                group.changed = True

    def abandon(self) -> None:
        """Leave nothing that counts."""
        self._close()
        self._writer.abandon()

    def _close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()


def _same_partition(one: VersionName, other: VersionName) -> bool:
    return (one.partition, one.partitions) == (other.partition, other.partitions)


def _five(counts: Any) -> tuple[int, int, int, int, int]:
    one, two, three, four, five = counts.tolist()
    return one, two, three, four, five
