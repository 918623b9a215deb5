"""Key groups in version files: a head, and pieces of a log by their sequence numbers.

A key group that a batch changes gets a new *node* in the batch's file: its head, its latest pieces,
and the places of *pages*, each of which lists PAGE earlier pieces.  So a node stays short however
long the log is, and a key group that is not changed costs nothing: its node stays where it is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from flinkish.common.errors import CorruptStateError

__all__ = ["PAGE", "Group", "Note", "Piece", "decode_node", "pack_pieces", "unpack_pieces"]

PAGE = 16  # pieces

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
    """The facts of a head that a later batch needs without reading the head.

    ``timer`` is when (ms) the key group is to be called, None if never; ``counts`` are added up
    over the key groups that have the same ``label``.
    """

    timer: int | None
    label: str
    counts: tuple[int, int, int, int, int]


@dataclass
class Group:
    """A key group that was read.

    ``latest`` lists its latest pieces and ``pages`` the pages before them, both encoded as in the
    node, since most batches only append a piece to a log.  ``pieces`` are all pieces, None until
    they are needed; if the group is ``loose``, only they count, and the lists are empty.
    ``changed``: it needs a new node.
    """

    number: int
    head: bytes | None = None
    pages: bytes = b""
    latest: bytes = b""
    pieces: dict[int, Piece] | None = None
    loose: bool = False
    note: Note | None = None
    changed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        return self.head is None and not self.latest and not (self.loose and self.pieces)

    @property
    def last(self) -> int:
        """The highest sequence number; -1 without a piece."""
        if self.loose:
            return max(self.pieces or (), default=-1)
        if not self.latest:
            return -1
        sequence: int = _PIECE.unpack_from(self.latest, len(self.latest) - _PIECE.size)[0]
        return sequence

    @property
    def page_places(self) -> list[Piece]:
        """Where the pages are."""
        return list(unpack_pieces(self.pages).values())

    def append(self, sequence: int, piece: Piece) -> None:
        """Add a piece after all others."""
        if not self.loose:
            self.latest += pack_pieces({sequence: piece})
        if self.pieces is not None:
            self.pieces[sequence] = piece

    def encode(self, write: Callable[[bytes], Piece]) -> bytes:
        """The node, after full pages have been written."""
        latest = (
            pack_pieces(dict(sorted((self.pieces or {}).items()))) if self.loose else self.latest
        )
        pages = self.pages
        while len(latest) > PAGE * _PIECE.size:
            page, latest = latest[: PAGE * _PIECE.size], latest[PAGE * _PIECE.size :]
            pages += pack_pieces({len(pages) // _PIECE.size: write(page)})
        return _encode((self.number, self.head, pages, latest))


def decode_node(data: bytes, number: int) -> Group:
    """The key group of this number, read from its node; CorruptStateError for other bytes."""
    try:
        found, head, pages, latest = _decode(data)
    except msgspec.MsgspecError as error:
        raise _damaged(str(error), number) from error
    if found != number or len(pages) % _PIECE.size or len(latest) % _PIECE.size:
        raise _damaged(
            f"key group {found} with lists of {len(pages)} and {len(latest)} bytes", number
        )
    return Group(number, head, pages, latest)


def pack_pieces(pieces: Mapping[int, Piece]) -> bytes:
    """A list of pieces by their sequence numbers."""
    return b"".join(
        _PIECE.pack(
            sequence,
            piece.file,
            piece.offset,
            piece.size,
            piece.more * _MORE | (piece.checksum is not None) * _CHECKED,
            piece.checksum or 0,
        )
        for sequence, piece in pieces.items()
    )


def unpack_pieces(data: bytes) -> dict[int, Piece]:
    """The pieces of such a list, or of a page; CorruptStateError for other bytes."""
    if len(data) % _PIECE.size:
        raise _damaged(f"a list of pieces has {len(data)} bytes")
    return {
        sequence: Piece(
            file, offset, size, bool(flags & _MORE), checksum if flags & _CHECKED else None
        )
        for sequence, file, offset, size, flags, checksum in _PIECE.iter_unpack(data)
    }


def _damaged(found: str, key_group: int | None = None) -> CorruptStateError:
    return CorruptStateError(f"the state of a key group is damaged: {found}", key_group=key_group)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bytes | None, bytes, bytes]).decode
