"""Bytes decoded to texts as in Java."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import clean_text
from flinkish.common.typeinfo import Types

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LinesDecoder", "TextDecoder", "charset_of", "decoded", "is_wide", "lines_of"]

# Java's UTF-16 without a byte order mark is big-endian, Python's is the machine's.
_BIG_ENDIAN = {"utf-16": "utf-16-be", "utf-32": "utf-32-be"}
_MARKS = {
    "utf-16": {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"},
    "utf-32": {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"},
}

# Java replaces the bytes of a surrogate by one U+FFFD, Python replaces each byte.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "\ufffd".encode()


def charset_of(name: str) -> str:
    """Python's name of a charset; IllegalArgumentError for one that Python does not know."""
    try:
        found = codecs.lookup(name)
    except (LookupError, TypeError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise IllegalArgumentError(f"a charset is a name such as UTF-8, not {name!r}")
    return found.name


def is_wide(charset: str) -> bool:
    """Whether characters of a charset have two bytes or more, so that files are read whole."""
    return charset.startswith(("utf-16", "utf-32"))


def decoded(data: bytes, charset: str) -> str:
    """The text of bytes; U+FFFD replaces what the charset cannot decode."""
    for mark, order in _MARKS.get(charset, {}).items():
        if data.startswith(mark):
            data, charset = data[len(mark) :], order
    if charset == "utf-8" and b"\xed" in data:
        data = _SURROGATE.sub(_REPLACEMENT, data)
    text = data.decode(_BIG_ENDIAN.get(charset, charset), "replace")
    return text if text.isascii() else clean_text(text)


def lines_of(text: str) -> list[str]:
    r"""The lines of a text, whose ends are ``\n``, ``\r`` and both, as in Java's readLine."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


class TextDecoder(RecordDecoder):
    """The text of a record, as SimpleStringSchema reads it."""

    def __init__(self, charset: str) -> None:
        super().__init__(Types.STRING())
        self.charset = charset_of(charset)

    def decode(self, record: bytes | None) -> list[Any]:
        """The text; RecordError for a tombstone."""
        if record is None:
            raise RecordError("the record has no value (a tombstone)")
        return [decoded(record, self.charset)]

    def decode_column(self, records: pa.Array) -> pa.Array | None:
        """A column of valid UTF-8 without tombstones is already a column of texts."""
        if self.charset != "utf-8" or records.null_count:
            return None
        import pyarrow as pa

        try:
            return records.cast(pa.string())
        except pa.ArrowInvalid:
            return None


class LinesDecoder(TextDecoder):
    r"""The lines of what lies between two ``\n`` of a file, or of a whole one."""

    def decode(self, record: bytes | None) -> list[Any]:
        r"""The lines: an ``\r`` ends one, too."""
        assert record is not None
        if is_wide(self.charset):
            return lines_of(decoded(record, self.charset))
        text = decoded(record.removesuffix(b"\r"), self.charset)
        return text.split("\r")

    def decode_column(self, records: pa.Array) -> pa.Array | None:
        r"""The column of texts, unless there are ``\r`` in them."""
        import pyarrow.compute as pc

        texts = super().decode_column(records)
        if texts is None or pc.any(pc.match_substring(texts, "\r")).as_py():
            return None
        return texts
