"""Key groups in version files: a head, and pieces of a log by their sequence numbers.

A key group that a batch changes gets a new *node* in the batch's file: its head, its latest pieces,
and the places of *pages*, each of which lists PAGE earlier pieces.  So a node stays short however
long the log is, and a key group that is not changed costs nothing: its node stays where it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from flinkish.common.errors import CorruptStateError

__all__ = ["PAGE", "Group", "Note", "Piece", "decode_node", "decode_page", "encode_page"]

PAGE = 32  # pieces

_PIECE = struct.Struct("<IIQIBI")
_MORE, _CHECKED = 1, 2  # flags


class Piece(NamedTuple):
    """Where bytes are: the number of the file, the offset, the size, and their CRC-32.

    ``more``: the next piece belongs to the same frame.  ``checksum`` is None for a piece that was
    written into a file of format 1.
    """

    file: int
    offset: int
    size: int
    more: bool
    checksum: int | None


class Note(NamedTuple):
    """The facts of a head that its writer wants to know without reading it.

    ``timer`` is when (ms) the key group is to be called, None if never; ``counts`` are added up
    over the key groups that have the same ``label``.
    """

    timer: int | None
    label: str
    counts: tuple[int, int, int, int, int]


@dataclass
class Group:
    """A key group that was read.

    ``older`` are the pieces of its ``pages``, None as long as these have not been read; ``recent``
    are those after them.  ``changed``: it needs a new node.
    """

    number: int
    head: bytes | None = None
    pages: list[Piece] = field(default_factory=list)
    older: dict[int, Piece] | None = None
    recent: dict[int, Piece] = field(default_factory=dict)
    note: Note | None = None
    changed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        return self.head is None and not self.recent and not self.pages

    def encode(self) -> bytes:
        """The node."""
        pages = _pack(enumerate(self.pages))
        return _encode((self.number, self.head, pages, _pack(self.recent.items())))


def encode_page(pieces: Mapping[int, Piece]) -> bytes:
    """A page that lists these pieces."""
    return _pack(pieces.items())


def decode_page(data: bytes) -> dict[int, Piece]:
    """The pieces that a page lists; CorruptStateError for other bytes."""
    return dict(_unpack(data))


def decode_node(data: bytes, number: int) -> Group:
    """The key group of this number out of its node; CorruptStateError for other bytes."""
    try:
        found, head, pages, recent = _decode(data)
    except msgspec.MsgspecError as error:
        raise _damaged(str(error), number) from error
    if found != number:
        raise _damaged(f"it is of key group {found}", number)
    return Group(number, head, [page for _, page in _unpack(pages)], None, dict(_unpack(recent)))


def _pack(pieces: Iterable[tuple[int, Piece]]) -> bytes:
    return b"".join(
        _PIECE.pack(
            sequence,
            piece.file,
            piece.offset,
            piece.size,
            piece.more * _MORE | (piece.checksum is not None) * _CHECKED,
            piece.checksum or 0,
        )
        for sequence, piece in pieces
    )


def _unpack(data: bytes) -> Iterator[tuple[int, Piece]]:
    if len(data) % _PIECE.size:
        raise _damaged(f"a list of pieces has {len(data)} bytes")
    for sequence, file, offset, size, flags, checksum in _PIECE.iter_unpack(data):
        known = checksum if flags & _CHECKED else None
        yield sequence, Piece(file, offset, size, bool(flags & _MORE), known)


def _damaged(found: str, key_group: int | None = None) -> CorruptStateError:
    return CorruptStateError(f"the state of a key group is damaged: {found}", key_group=key_group)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bytes | None, bytes, bytes]).decode
