"""Code by what it does: layout does not count, everything else does."""

from __future__ import annotations

import ast
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish.spark.results import function_version
from flinkish.spark.results.bytecode import code_digest, digest_of


def made(source: str, name: str = "ask", **space: Any) -> Any:
    """What a source defines, as a module of the user's own would."""
    given: dict[str, Any] = {"__name__": "job", **space}
    exec(compile(textwrap.dedent(source), "job.py", "exec", dont_inherit=True), given)
    return given[name]


def version(source: str, **space: Any) -> str:
    return function_version(made(source, **space))


# --- layout

ASK = """
    def ask(row):
        found = helper(row, limit=3)
        if found and row.n in {"a", "b", 3}:
            return [found]
        while True:
            try:
                return [x for x in found if x and x.b]
            except (KeyError, ValueError) as error:
                print(error)
    def helper(row, limit):
        class Inner:
            size = limit
        return Inner
"""

ASK_AGAIN = '''
    """A module."""


    def helper(row, limit):  # first now
        """Say more."""

        class Inner:
            """And more."""

            size = (
                limit
            )

        return Inner


    def ask(row: object) -> list:
        """What the model says."""
        found = helper(
            row,
            limit=3,
        )
        if (
            found
            # any of these
            and row.n in {"a",
                          "b", 3}
        ):
            return [
                found
            ]
        while True:
            try:
                return [
                    x
                    for x in found
                    if x
                    and x.b
                ]
            except (
                KeyError, ValueError,
            ) as error:
                print(
                    error
                )
'''


def test_comments_docstrings_layout_and_annotations_do_not_count() -> None:
    assert version(ASK) == version(ASK_AGAIN)
    assert version(ASK) == version("\n" * 400 + textwrap.dedent(ASK))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("limit=3", "limit=4"),
        ('{"a", "b", 3}', '{"a", "c", 3}'),
        ('{"a", "b", 3}', '{"a", "b", 3.0}'),
        ("x.b", "x.c"),
        ("x and x", "x or x"),
        ("found and row", "not found and row"),
        ("KeyError, ", "OSError, "),
        ("size = limit", "length = limit"),
        ("return Inner", "return Inner()"),
        ("def ask(row)", "def ask(row, more=None)"),
        ("def ask(row)", "async def ask(row)"),
    ],
)
def test_what_the_code_does_counts_and_that_of_its_helpers(old: str, new: str) -> None:
    assert ASK.count(old) >= 1
    assert version(ASK) != version(ASK.replace(old, new))


SOURCES = sorted(
    str(path)
    for name in ("*.py", "asyncio/*.py", "email/*.py", "json/*.py", "unittest/*.py")
    for path in Path(sysconfig.get_path("stdlib")).glob(name)
    if path.stat().st_size < 40_000
)


def functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from functions(constant)


def of_constant(value: Any) -> bytes:
    if isinstance(value, CodeType):
        return code_digest(value, of_constant)
    if isinstance(value, frozenset):
        return digest_of("set", *sorted(map(of_constant, value)))
    if isinstance(value, tuple):
        return digest_of("tuple", *map(of_constant, value))
    return digest_of(type(value).__name__, repr(value))


def digests(tree: ast.Module) -> list[tuple[str, bytes]]:
    found = functions(compile(tree, "source", "exec", dont_inherit=True))
    return [(code.co_name, code_digest(code, of_constant)) for code in found]


@settings(max_examples=25)
@given(path=st.sampled_from(SOURCES), seed=st.integers(0, 1 << 16))
def test_lines_do_not_count_wherever_they_are_broken(path: str, seed: int) -> None:
    """Of all functions of a module of Python's, its nodes laid out on lines at random."""
    random = Random(seed)
    text = Path(path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    line = 1
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            line += random.choice((0, 0, 0, 1, 2))
            node.lineno = node.end_lineno = line
            # The compiler keeps only one of two equal functions of one place.
            node.col_offset = node.end_col_offset = random.randrange(1 << 30)
    expected = digests(ast.parse(text))
    assert digests(tree) == expected
    assert digests(ast.parse(ast.unparse(ast.parse(text)))) == expected
