"""Errors that do what they can to be no errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flinkish.common.errors import (
    RemoteError,
)

# --- errors that resist


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


class Endless(Exception):
    def __str__(self) -> str:
        return str(self)

    __repr__ = __str__


class Closed(Exception):
    @property
    def args(self) -> Any:  # type: ignore[override]
        raise KeyboardInterrupt

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise MemoryError

    @property
    def __cause__(self) -> Any:  # type: ignore[override]
        raise GeneratorExit

    __class__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


TOLD = [
    *("__class__", "__dict__", "__traceback__", "__cause__", "args", "message", "type_name"),
    *("with_traceback", "add_note", "errno", "characters_written", "code", "", "a b", "fine"),
]


class Text(str):
    def __str__(self) -> str:
        raise OSError

    def encode(self, *_: Any) -> Any:
        raise OSError


class Wrapped(Exception):
    def __str__(self) -> str:
        return Text("subclass")


class NamedOddly(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__qualname__", "__name__", "__module__"):
            raise ValueError(name)
        return super().__getattribute__(name)


class Odd(Exception, metaclass=NamedOddly):
    pass


def with_attributes(**attributes: Any) -> Exception:
    error = ValueError("attributes")
    vars(error).update(attributes)
    return error


def cyclic() -> Exception:
    one, other, items = ValueError("one"), KeyError("other"), []  # type: ignore[var-annotated]
    items.append(items)
    one.__cause__, other.__context__, one.args = other, one, (items,)
    return one


def chained(length: int) -> Exception:
    error = first = ValueError("first")
    for n in range(length):
        error.__context__ = ValueError(n)
        error = error.__context__  # type: ignore[assignment]
    return first


def nested(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = (value,)
    return value


def surrogates() -> Exception:
    try:
        json.loads('{"\\udcff": \x01')
    except ValueError as error:
        return error
    raise AssertionError


def numbered() -> Exception:
    error = ValueError("a key that is no text")
    vars(error)[1] = 2  # type: ignore[index]
    return error


def deep() -> Exception:
    def fall() -> None:
        fall()

    try:
        fall()
    except RecursionError as error:
        return error
    raise AssertionError


RESISTING: dict[str, Callable[[], BaseException]] = {
    "file name": lambda: ValueError("cannot read file \udcff.csv"),
    "json": surrogates,
    "large attribute": lambda: with_attributes(size=1 << 64, small=-(1 << 64), fine=1),
    "odd attributes": lambda: with_attributes(
        name="\ud800", nan=float("nan"), text=Text("x"), long="y" * 100_000, **{"\udc00": 1}
    ),
    "number as key": numbered,
    "many attributes": lambda: with_attributes(**{f"a{n}": "x" * 10_000 for n in range(10_000)}),
    "text raises": lambda: Mute("a"),
    "text recurses": lambda: Endless("b"),
    "properties raise": lambda: Closed("c"),
    "text of a subclass": Wrapped,
    "name raises": Odd,
    "arguments of a subclass": lambda: ValueError(Text("x"), Mute("y"), object()),
    "long": lambda: ValueError("z" * 30_000_000),
    "cycles": cyclic,
    "a long chain": lambda: chained(20_000),
    "deep arguments": lambda: ValueError(nested(100_000)),
    "deep recursion": deep,
    "notes": lambda: with_attributes(__notes__=Mute("d")),
    "passed on": lambda: RemoteError(Mute("e"), type_name=Odd(), remote_traceback=7),  # type: ignore[arg-type]
}
