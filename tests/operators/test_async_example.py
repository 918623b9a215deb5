"""The example of the document runs and says what it says."""

import re
from pathlib import Path

import pytest

import tests

PAGE = Path(tests.__file__).resolve().parents[1] / "docs/async.md"


def test_the_example_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert code is not None
    expected = re.search(r"print\(.*?\) +# (.*)", code[1])
    assert expected is not None
    exec(compile(code[1], "docs/async.md", "exec"), {})
    assert capsys.readouterr().out.strip() == expected[1]
