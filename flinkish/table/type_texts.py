"""Types as Flink's SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Callable

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import did_you_mean
from flinkish.table.types import DataType, DataTypes, RowField

__all__ = ["parse_type", "type_of"]

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+|[<>(),]|'(?:[^']|'')*')")
_WORDS: dict[str, Callable[[], DataType]] = {
    "BOOLEAN": DataTypes.BOOLEAN,
    "TINYINT": DataTypes.TINYINT,
    "SMALLINT": DataTypes.SMALLINT,
    "INT": DataTypes.INT,
    "INTEGER": DataTypes.INT,
    "BIGINT": DataTypes.BIGINT,
    "FLOAT": DataTypes.FLOAT,
    "DOUBLE": DataTypes.DOUBLE,
    "STRING": DataTypes.STRING,
    "BYTES": DataTypes.BYTES,
    "DATE": DataTypes.DATE,
}
_SIZED: dict[str, Callable[[int], DataType]] = {
    "CHAR": DataTypes.CHAR,
    "VARCHAR": DataTypes.VARCHAR,
    "BINARY": DataTypes.BINARY,
    "VARBINARY": DataTypes.VARBINARY,
    "TIME": DataTypes.TIME,
    "TIMESTAMP": DataTypes.TIMESTAMP,
    "TIMESTAMP_LTZ": DataTypes.TIMESTAMP_LTZ,
}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_DEFAULT_SIZES = {"TIME": 0, "TIMESTAMP": 6, "TIMESTAMP_LTZ": 6}
_PARTS = ("ARRAY", "MAP", "ROW")


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        end = 0
        while end < len(text.rstrip()):
            token = _TOKEN.match(text, end)
            if token is None:
                raise self.error(f"{text[end:].strip()[:10]!r} is no part of one")
            self.tokens.append(token[1])
            end = token.end()

    def error(self, why: str) -> IllegalArgumentError:
        return IllegalArgumentError(
            f"{self.text!r} is no type of Flink's SQL: {why}; write for instance BIGINT, "
            "DECIMAL(10, 2), TIMESTAMP(3) or ARRAY<STRING>"
        )

    def next(self) -> str:
        return self.tokens[0].upper() if self.tokens else ""

    def has(self, *words: str) -> bool:
        """Whether these words come next; they are taken then."""
        found = [one.upper() for one in self.tokens[: len(words)]] == [*words]
        if found:
            del self.tokens[: len(words)]
        return found

    def take(self, word: str = "") -> str:
        if not self.tokens or (word and self.next() != word):
            raise self.error(f"{word or 'a name'} expected, not {self.next() or 'the end'}")
        return self.tokens.pop(0)

    def sizes(self) -> list[int]:
        found: list[int] = []
        if self.has("("):
            while not self.has(")"):
                token = self.take()
                if token != ",":
                    if not token.isdecimal():
                        raise self.error(f"a number expected, not {token}")
                    found.append(int(token))
        return found

    def type(self) -> DataType:
        found = self.bare(self.take().upper())
        if self.has("NOT", "NULL"):
            return found.not_null()
        self.has("NULL")
        return found

    def bare(self, word: str) -> DataType:
        if word in _PARTS:
            return self.parts(word)
        if word in _DECIMALS:
            sizes = self.sizes() or [10]
            return DataTypes.DECIMAL(sizes[0], sizes[1] if len(sizes) > 1 else 0)
        if word in _SIZED:
            size = (*self.sizes(), _DEFAULT_SIZES.get(word, 1))[0]
            if word == "TIMESTAMP" and self.has("WITH", "LOCAL", "TIME", "ZONE"):
                word = "TIMESTAMP_LTZ"
            self.has("WITHOUT", "TIME", "ZONE")
            return _SIZED[word](size)
        if word not in _WORDS:
            known = (*_WORDS, *_SIZED, "DECIMAL", *_PARTS)
            raise self.error(f"{word} is none of {', '.join(known)}{did_you_mean(word, known)}")
        if word == "DOUBLE":
            self.has("PRECISION")
        return _WORDS[word]()

    def parts(self, word: str) -> DataType:
        closing = ")" if word == "ROW" and self.next() == "(" else ">"
        self.take("(" if closing == ")" else "<")
        if word == "ROW":
            fields: list[RowField] = []
            while not fields or self.has(","):
                name = self.take()
                fields.append(RowField(name.strip("`"), self.type()))
                if self.next().startswith("'"):
                    self.take()
            found: DataType = DataTypes.ROW(fields)
        elif word == "ARRAY":
            found = DataTypes.ARRAY(self.type())
        else:
            key = self.type()
            self.take(",")
            found = DataTypes.MAP(key, self.type())
        self.take(closing)
        return found


def parse_type(text: str) -> DataType:
    """The type that a text of Flink's SQL names, such as ``DECIMAL(10, 2)`` or ``ROW<a INT>``.

    IllegalArgumentError says where it stops to make sense.
    """
    reader = _Reader(text)
    found = reader.type()
    if reader.tokens:
        raise reader.error(f"{reader.tokens[0]} is too much")
    return found


def type_of(given: DataType | str) -> DataType:
    """A type, or that which a text of Flink's SQL names; ArgumentTypeError for anything else."""
    if isinstance(given, DataType):
        return given
    if isinstance(given, str):
        return parse_type(given)
    raise ArgumentTypeError(
        f"the type of a column is one such as DataTypes.INT() or 'INT', not {given!r}"
    )
