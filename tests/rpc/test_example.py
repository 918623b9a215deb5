"""The examples of docs/rpc.md, run as they stand."""

import re
from pathlib import Path

import pytest

import tests

PAGE = Path(tests.__file__).resolve().parents[1] / "docs/rpc.md"


def test_the_examples_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(examples) == 3
    for code in examples:
        exec(compile(code, "docs/rpc.md", "exec"), {"__name__": "example"})
        promised = re.findall(r"print\(.*\)  # (.*)", code)
        assert capsys.readouterr().out.splitlines() == promised
