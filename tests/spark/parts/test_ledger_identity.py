"""Which function it is: what counts, what does not, what is refused."""

from __future__ import annotations

import copy
import functools
import os
import re
import socket
import subprocess
import sys
import textwrap
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish.common.errors import SerializationError
from flinkish.functions import AsyncFunction
from flinkish.spark.results import ResumeLedger, function_version
from tests.spark.parts.test_ledger import SCHEMA
from tests.spark.parts.test_ledger_bytecode import made, version

# --- values

PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=4),
        st.frozensets(PLAIN, max_size=4),
    ),
    max_leaves=8,
)


def typed(value: Any) -> Any:
    """What tells values apart: their types, too, and the order of what has one."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [typed(item) for item in value]
    if isinstance(value, dict):
        return "dict", [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, frozenset):
        return "set", sorted(map(repr, value))
    return type(value).__name__, repr(value)


def closing_over(value: Any) -> Callable[[Any], Any]:
    return lambda row: [(row, value)]


def with_default(value: Any) -> Callable[..., Any]:
    def ask(row: Any, *, model: Any = value) -> Any:
        return [(row, model)]

    return ask


class Model(AsyncFunction):
    def __init__(self, value: Any) -> None:
        self.value = value

    async def async_invoke(self, value: Any) -> Any:
        return [(value, self.value)]

    def plain(self, row: Any) -> Any:
        return [(row, self.value)]


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, row: Any) -> Any:
        return [(row, self.value)]


def ask(row: Any, model: Any = None) -> Any:
    return [(row, model)]


WAYS: list[Callable[[Any], Any]] = [
    closing_over,
    with_default,
    Model,
    Slotted,
    lambda value: Model(value).plain,
    lambda value: functools.partial(ask, value),
    lambda value: functools.partial(ask, model=value),
    lambda value: functools.partial(functools.partial(ask, model=value), 1),
    lambda value: functools.partial(closing_over(value), 1),
    lambda value: made("ask = lambda row: model", model=value),
    lambda value: made("def ask(row): return (lambda: model)()", model=value),
    lambda value: made(
        "def ask(row): return helper(row)\ndef helper(row): return model", model=value
    ),
]


@settings(max_examples=60)
@given(one=VALUES, other=VALUES, way=st.sampled_from(WAYS))
def test_values_count_wherever_a_function_has_them(one: Any, other: Any, way: Any) -> None:
    first = function_version(way(one))
    assert function_version(way(copy.deepcopy(one))) == first
    assert (function_version(way(other)) == first) == (typed(one) == typed(other))


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Settings:
    model: str = "small"
    limits: tuple[int, ...] = (1, 2)


class Lazy:
    def __init__(self, model: str) -> None:
        self.model = model

    @functools.cached_property
    def prompt(self) -> str:
        return f"as {self.model}"

    def __call__(self, row: Any) -> Any:
        return [self.prompt]


def cached(model: str) -> Any:
    @functools.lru_cache
    def prompt(row: Any) -> Any:
        return model

    return prompt


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Settings(), Settings("large")),
        (Colour.RED, Colour.BLUE),
        (re.compile("a"), re.compile("b")),
        (Decimal("1.0"), Decimal("1.00")),
        (datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=timezone.utc)),
        (Path("a"), Path("b")),
        (OrderedDict(a=1), {"a": 1}),
        ({1, "a"}, frozenset({1, "a"})),
        (SimpleNamespace(model="small"), SimpleNamespace(model="large")),
        (Lazy("small"), Lazy("large")),
        (Model("a"), Slotted("a")),
        (cached("small"), cached("large")),
        (Settings, Colour),
        (len, sorted),
        ("".join, ",".join),
    ],
)
def test_objects_count_by_class_and_state(one: Any, other: Any) -> None:
    twin = one if isinstance(one, type) or callable(one) else copy.deepcopy(one)
    assert function_version(closing_over(one)) == function_version(closing_over(twin))
    assert function_version(closing_over(one)) != function_version(closing_over(other))


def test_what_an_object_was_asked_for_before_does_not_count() -> None:
    path, other = Path("a/b"), Path("a/b")
    str(path), hash(path), path.parts
    assert function_version(closing_over(path)) == function_version(closing_over(other))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("answers = 3", "answers = 4"),
        ("return self", "return not self"),
        ("Ask(Base)", "Ask"),
        ("return cls", "return [cls]"),
        ("self.answers", "self.replies"),
        ("value: int", "value: str"),
    ],
)
def test_methods_attributes_and_bases_of_a_class_count(old: str, new: str) -> None:
    source = """
        class Base:
            def shared(self): return self
        class Ask(Base):
            answers = 3
            value: int
            @property
            def size(self): return self.answers
            @classmethod
            def make(cls): return cls
            @staticmethod
            def other(): return 1
            def __call__(self, row): return Ask.make().size
        ask = Ask()
    """
    assert version(source) != version(source.replace(old, new))
    assert version(source) == version(source)


def test_functions_that_name_each_other() -> None:
    source = "def ask(n): return other(n - 1)\ndef other(n): return ask(n - %d)"
    assert version(source % 1) == version(source % 1)
    assert version(source % 1) != version(source % 2)


# --- whose


def module(monkeypatch: pytest.MonkeyPatch, name: str, source: str, file: str | None) -> ModuleType:
    one = ModuleType(name)
    one.__file__ = file
    exec(source, vars(one))
    monkeypatch.setitem(sys.modules, name, one)
    return one


@pytest.mark.parametrize(
    ("source", "space"),
    [
        ("def ask(row): return helpers.prompt(row)", ("helpers",)),
        ("def ask(row): return prompt(row)", ("prompt",)),
        ("def ask(row):\n    import helpers\n    return helpers.prompt(row)", ()),
        ("def ask(row):\n    from helpers import prompt\n    return prompt(row)", ()),
    ],
)
def test_helpers_of_other_modules_count_unless_they_are_of_a_library(
    source: str, space: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))

    def of(answer: int, file: str) -> str:
        text = f"def prompt(row): return {answer}\ndef unused(row): return 0"
        (tmp_path / "helpers.py").write_text(text)
        helpers = module(monkeypatch, "helpers", text, file)
        helpers.__spec__ = SimpleNamespace(origin=file)  # type: ignore[assignment]
        given = {"helpers": helpers, "prompt": helpers.prompt}
        return version(source, **{name: given[name] for name in space})

    mine, installed = "/home/me/helpers.py", "/opt/lib/site-packages/helpers.py"
    assert of(1, mine) == of(1, mine) != of(2, mine)
    assert of(1, installed) == of(2, installed)


def test_what_is_installed_with_the_function_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(answer: int, top: str) -> str:
        file = f"/opt/lib/site-packages/{top}/prompts.py"
        text = f"def prompt(row): return {answer}"
        prompts = module(monkeypatch, f"{top}.prompts", text, file)
        source = "def ask(row): return prompts.prompt(row)"
        return version(source, __name__="acme.job", prompts=prompts)

    assert of(1, "acme") != of(2, "acme")
    assert of(1, "other") == of(2, "other")


def test_what_a_module_has_besides_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(text: str) -> str:
        helpers = module(monkeypatch, "helpers", text, "/home/me/helpers.py")
        return version("def ask(row): return helpers.prompt(row)", helpers=helpers)

    prompt = "def prompt(row): return 1\n"
    assert of(prompt) == of(prompt + "import threading\nlock = threading.Lock()")


def test_decorators_of_libraries_hide_nothing() -> None:
    from contextlib import contextmanager

    def wrapped(value: int) -> Any:
        @contextmanager
        def inner() -> Iterator[int]:
            yield value

        return inner

    assert function_version(wrapped(1)) == function_version(wrapped(1))
    assert function_version(wrapped(1)) != function_version(wrapped(2))


# --- what is refused


class Client:
    def __init__(self) -> None:
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("function", "path"),
    [
        (made("def ask(row): return client", client=Client()), r"ask \(global client\)\.lock"),
        (closing_over(Client()), r"\(closure over value\)\.lock, of type lock"),
        (functools.partial(ask, model=[Client()]), r"ask\(model=\)\[0\]\.lock"),
        (Model({"a": threading.local()}), r"Model\.value\['a'\], of type _local"),
        (with_default(i for i in "ab"), r"the default of model\), of type generator"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_advice(function: Any, path: str) -> None:
    with pytest.raises(SerializationError, match=path) as caught:
        function_version(function)
    assert "ledger_version=" in str(caught.value)


def test_an_open_socket_is_refused() -> None:
    with socket.socket() as opened, pytest.raises(SerializationError, match="type socket"):
        function_version(Model(opened))


def test_what_the_state_of_an_object_leaves_out_does_not_count() -> None:
    class Asks:
        def __init__(self) -> None:
            self.client = Client()
            self.model = "small"

        def __getstate__(self) -> dict[str, Any]:
            return {"model": self.model}

        def __call__(self, row: Any) -> Any:
            return []

    first, other = Asks(), Asks()
    assert function_version(first) == function_version(other)
    other.model = "large"
    assert function_version(first) != function_version(other)


# --- from process to process

SCRIPT = """
    import sys
    sys.path[:0] = {path!r}
    from tests.spark.parts import test_ledger_bytecode as code
    from tests.spark.parts import test_ledger_identity as here
    from flinkish.spark.results import function_version
    subjects = [code.made(code.ASK), here.Model({{1, "a", ("b", here.Colour.RED)}}), here.Settings]
    subjects += [here.closing_over(frozenset("abc")), here.typed, here.cached("small")]
    print(*(function_version(subject) for subject in subjects))
"""


def test_versions_are_those_of_every_process() -> None:
    script = textwrap.dedent(SCRIPT).format(path=sys.path)
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(found) == 1
    assert len(set(found.pop().split())) == 6


# --- settings


def test_settings_keep_the_names_that_ledgers_were_given(tmp_path: Path) -> None:
    """Written down in ledgers, so a release must not change them."""
    given = {"input": "struct<n:bigint>", "settings": {"model": "large", "n": [1, 2.5, None, True]}}
    book = ResumeLedger(str(tmp_path), "f", "1", SCHEMA, given)
    assert book.fingerprint == "d1caf509c6ac152daadd889e487d0364"


def test_settings_that_json_has_not_count_by_their_state(tmp_path: Path) -> None:
    def named(value: Any) -> str:
        return ResumeLedger(
            str(tmp_path), "f", "1", SCHEMA, {"settings": {"of": value}}
        ).fingerprint

    assert named(Settings()) == named(Settings()) != named(Settings("large"))
    assert named({1: "a"}) != named({"1": "a"})
    assert named(frozenset("abc")) == named(frozenset("cba"))
    with pytest.raises(SerializationError, match="one of the settings"):
        named(Client())


def test_functions_are_of_this_module() -> None:
    """What the other tests rest on: these count as a user's own."""
    assert isinstance(ask, FunctionType)
    assert function_version(ask) == function_version(copy.copy(ask))
