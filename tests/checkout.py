"""The checkout that tests are of: its documents, and the examples in them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
