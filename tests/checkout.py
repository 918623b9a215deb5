"""The checkout that tests are of: its documents, and the examples in them."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def of_each(cases: Sequence[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Make a rule of files, or of packages, one test, which names all that break it."""

    def decorate(rule: Callable[[Any], None]) -> Callable[[], None]:
        def test() -> None:
            assert cases
            broken = []
            for case in cases:
                try:
                    rule(case)
                except AssertionError as error:
                    name = case.relative_to(ROOT) if isinstance(case, Path) else case
                    broken.append(f"{name}: {error}")
            assert not broken, "\n".join(broken)

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return decorate


def examples(page: str) -> list[str]:
    """The Python blocks of a document, which is named as from the checkout."""
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M)


def run_example(page: str, code: str) -> None:
    """Run a block of a document."""
    exec(compile(code, page, "exec"), {"__name__": "example"})


def says_what_it_says(page: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a block that has, behind each print, a comment with what it prints."""
    run_example(page, code)
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\) +# (.*)", code)
