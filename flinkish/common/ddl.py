"""Spark's DDL read as type information, and back, without Spark.

``to_ddl`` of the types is the other direction.  The way there and back keeps the DDL, but for
``NOT NULL``, comments, the lengths of ``char(n)`` and ``varchar(n)`` and the precision of
``time(n)``, for which the types have no place.
"""

from __future__ import annotations

import re

from flinkish.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from flinkish.common._composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import did_you_mean, quote_name

__all__ = ["in_sql", "schema_ddl", "type_from_ddl"]

_TOKEN = re.compile(
    r"""\s*(?:
        `(?:[^`]|``)+`                      # a quoted name
        | '(?:[^'\\]|\\.|'')*'              # a string, only in comments
        | "(?:[^"\\]|\\.)*"
        | \w+
        | [<>(),:]
    )""",
    re.VERBOSE,
)

_STRING = BasicTypeInfo(BasicType.STRING)
_NAMES: dict[str, TypeInformation] = {
    "boolean": BasicTypeInfo(BasicType.BOOLEAN),
    "tinyint": BasicTypeInfo(BasicType.BYTE),
    "byte": BasicTypeInfo(BasicType.BYTE),
    "smallint": BasicTypeInfo(BasicType.SHORT),
    "short": BasicTypeInfo(BasicType.SHORT),
    "int": BasicTypeInfo(BasicType.INT),
    "integer": BasicTypeInfo(BasicType.INT),
    "bigint": BasicTypeInfo(BasicType.LONG),
    "long": BasicTypeInfo(BasicType.LONG),
    "float": BasicTypeInfo(BasicType.FLOAT),
    "real": BasicTypeInfo(BasicType.FLOAT),
    "double": BasicTypeInfo(BasicType.DOUBLE),
    "string": _STRING,
    "binary": PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)),
    "date": DateTypeInfo(),
    "time": TimeTypeInfo(),
    "timestamp": TimestampTypeInfo(zoned=True),
    "timestamp_ltz": TimestampTypeInfo(zoned=True),
    "timestamp_ntz": TimestampTypeInfo(wall_clock=True),
}
_DECIMALS = ("decimal", "dec", "numeric")
_STRINGS = ("char", "character", "varchar")
_NESTED = ("array", "map", "struct")


class _Reader:
    """Recursive descent over the tokens of one text; `at` is the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        self.at = 0
        end = 0
        body = text.rstrip()
        while end < len(body):
            token = _TOKEN.match(body, end)
            if token is None:
                raise self.error(f"{body[end:].strip()[:10]!r} is not part of a type")
            self.tokens.append(token.group().strip())
            end = token.end()

    def error(self, why: str) -> IllegalArgumentError:
        return IllegalArgumentError(
            f"{self.text!r} is not a type or schema in Spark's DDL: {why}; write for instance "
            "'bigint', 'array<string>' or 'id bigint, name string'"
        )

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if wanted and token.lower() not in wanted:
            found = repr(token) if token else "the end"
            raise self.error(f"{' or '.join(wanted)} expected, not {found}")
        if not token:
            raise self.error("it ends too early")
        self.at += 1
        return token

    def numbers(self) -> list[int]:
        """The numbers in brackets after a type: `(10, 2)`; nothing is an empty list."""
        found: list[int] = []
        if self.peek() == "(":
            self.take("(")
            while not found or self.take(",", ")") == ",":
                number = self.take()
                if not number.isdecimal():
                    raise self.error(f"a number expected, not {number!r}")
                found.append(int(number))
        return found

    def type(self) -> TypeInformation:
        word = self.take()
        name = word.lower()
        if name in _NESTED:
            return self.nested(name)
        if name in _DECIMALS:
            given = self.numbers()
            if len(given) > 2:
                raise self.error(f"{name} takes a precision and a scale, not {given}")
            precision, scale = (*given, 0)[:2] if given else (10, 0)
            return DecimalTypeInfo(precision, scale)
        if name in _STRINGS or name == "time":
            self.numbers()
        if name in _STRINGS:
            return _STRING
        if name not in _NAMES:
            known = (*_NAMES, *_DECIMALS, *_STRINGS, *_NESTED)
            raise self.error(
                f"{word!r} is none of the types that can be used here ({', '.join(known)})"
                + did_you_mean(word, known)
            )
        return _NAMES[name]

    def nested(self, name: str) -> TypeInformation:
        self.take("<")
        result: TypeInformation
        if name == "array":
            result = ListTypeInfo(self.type())
        elif name == "map":
            key = self.type()
            self.take(",")
            result = MapTypeInfo(key, self.type())
        else:
            result = RowTypeInfo((), ()) if self.peek() == ">" else self.fields()
        self.take(">")
        return result

    def fields(self) -> RowTypeInfo:
        names: list[str] = []
        types: list[TypeInformation] = []
        while True:
            name = self.take()
            if name in "<>(),:" or name[0] in "'\"":
                raise self.error(f"a field name expected, not {name!r}")
            names.append(name[1:-1].replace("``", "`") if name.startswith("`") else name)
            if self.peek() == ":":
                self.take(":")
            types.append(self.type())
            if self.peek().lower() == "not":
                self.take("not")
                self.take("null")
            if self.peek().lower() == "comment":
                self.take("comment")
                self.take()
            if self.peek() != ",":
                return RowTypeInfo(types, names)
            self.take(",")

    def is_done(self) -> bool:
        return self.at == len(self.tokens)


def type_from_ddl(ddl: str) -> TypeInformation:
    """The type that a DDL text names.

    A list of fields (``"id bigint, name string"``) is a row with these names; anything else is
    one type (``"array<string>"``).  ``binary`` is an array of bytes.  IllegalArgumentError says
    where the text stops to make sense, and for types without a Python value here, such as intervals
    and variants.
    """
    if not isinstance(ddl, str):
        raise ArgumentTypeError(f"a DDL text must be a str, not {ddl!r}")
    reader = _Reader(ddl)
    second = reader.tokens[1] if len(reader.tokens) > 1 else ""
    is_one_type = second in ("", "<", "(")
    result = reader.type() if is_one_type else reader.fields()
    if not reader.is_done():
        raise reader.error(f"{reader.peek()!r} is too much")
    return result


def schema_ddl(type_info: TypeInformation, column: str = "value") -> str:
    """The DDL of a whole table of such values.

    A row or tuple gives one column a field, any other type the one column ``column``.
    """
    if isinstance(type_info, TupleTypeInfo):
        type_info = RowTypeInfo(type_info.field_types)
    if isinstance(type_info, RowTypeInfo):
        names, types = type_info.get_field_names(), type_info.field_types
    else:
        names, types = [column], (type_info,)
    fields = zip(names, types, strict=True)
    return ", ".join(f"{quote_name(name)} {kind.to_ddl()}" for name, kind in fields)


_IN_SQL: dict[TypeInformation, TypeInformation] = {
    BasicTypeInfo(BasicType.BIG_DEC): DecimalTypeInfo(38, 18),
    BasicTypeInfo(BasicType.BIG_INT): DecimalTypeInfo(38, 0),
}


def in_sql(type_: TypeInformation) -> TypeInformation:
    """The type of a column for such values in tables and files.

    BIG_DEC and BIG_INT, which may have more digits than any column of numbers, become the widest
    decimals there, as in Flink's tables.
    """
    if isinstance(type_, RowTypeInfo):
        return RowTypeInfo(map(in_sql, type_.field_types), type_.field_names)
    if isinstance(type_, TupleTypeInfo):
        return TupleTypeInfo(map(in_sql, type_.field_types))
    if isinstance(type_, MapTypeInfo):
        return MapTypeInfo(in_sql(type_.key_type_info), in_sql(type_.value_type_info))
    if isinstance(type_, (ListTypeInfo, ObjectArrayTypeInfo)):
        return type(type_)(in_sql(type_.elem_type))
    return _IN_SQL.get(type_, type_)
