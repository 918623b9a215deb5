"""The cells of a line of CSV, cut as Jackson cuts them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.numbers import BLANKS

__all__ = ["CsvDialect", "text_of_csv"]

_ENDS = "\r\n"
_ESCAPED = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}


def text_of_csv(record: bytes) -> str:
    """The text of a record, in UTF-8 or in UTF-16 or UTF-32 as its first bytes tell."""
    charset = json.detect_encoding(record)
    try:
        return record.decode(charset)
    except UnicodeDecodeError as error:
        name = charset.removesuffix("-sig").upper()
        raise RecordError(f"byte {error.start} is not {name}: {error.reason}") from error


@dataclass(frozen=True)
class CsvDialect:
    """The special characters of a CSV format; None for those that it does not have."""

    separator: str = ","
    quote: str | None = '"'
    escape: str | None = None
    comments: bool = False

    def first_line(self, text: str) -> list[str]:
        """The cells of the first line that is not a comment.

        What comes after that line is ignored.  RecordError for an unclosed quote, for text after a
        closing quote, and if there is no line.
        """
        start = self._after_comments(text) if self.comments else 0
        if start == len(text):
            raise RecordError("the record is empty")
        plain = self.escape is None and (self.quote is None or self.quote not in text)
        if plain and "\n" not in text and "\r" not in text:
            return text[start:].split(self.separator)
        return self._cut(text, start)

    def _after_comments(self, text: str) -> int:
        """The index of the first cell, after comments, empty lines and spaces."""
        index = 0
        while index < len(text) and text[index] in " \r\n#":
            if text[index] != "#":
                index += 1
                continue
            while index < len(text) and text[index] not in _ENDS:
                index += 1
        return index

    def _cut(self, text: str, index: int) -> list[str]:
        cells = []
        while True:
            if self.quote is not None and text.startswith(self.quote, index):
                cell, index = self._quoted(text, index + 1)
            else:
                cell, index = self._unquoted(text, index)
            cells.append(cell)
            if index >= len(text) or text[index] in _ENDS:
                return cells
            index += 1  # the separator

    def _unquoted(self, text: str, index: int) -> tuple[str, int]:
        parts: list[str] = []
        while index < len(text):
            char = text[index]
            if char == self.separator or char in _ENDS:
                break
            if char == self.escape:
                char, index = _unescaped(text, index + 1)
            parts.append(char)
            index += 1
        return "".join(parts), index

    def _quoted(self, text: str, index: int) -> tuple[str, int]:
        parts: list[str] = []
        while index < len(text):
            char = text[index]
            if char == self.quote:
                if not text.startswith(char, index + 1):
                    return "".join(parts), self._after_quote(text, index + 1)
                index += 1
            elif char == self.escape:
                char, index = _unescaped(text, index + 1)
            parts.append(char)
            index += 1
        raise RecordError(f"a cell begins with {self.quote} and does not end with it")

    def _after_quote(self, text: str, index: int) -> int:
        """The index of the separator or line end after a quoted cell; blanks may be between."""
        while index < len(text) and text[index] != self.separator and text[index] not in _ENDS:
            if text[index] not in BLANKS:
                raise RecordError(
                    f"{text[index]!r} follows the {self.quote} that ends a cell, where "
                    f"{self.separator!r} or the end of the line is needed"
                )
            index += 1
        return index


def _unescaped(text: str, index: int) -> tuple[str, int]:
    if index == len(text):
        raise RecordError("the record ends with an escape character")
    return _ESCAPED.get(text[index], text[index]), index
