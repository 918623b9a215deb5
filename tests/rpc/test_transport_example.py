"""The example of docs/rpc-transport.md runs, and its tables name what there is."""

import inspect
import re
from pathlib import Path

import pytest

import tests
from flinkish._core.framing import FrameKind
from flinkish.rpc.transport import Transport

PAGE = Path(tests.__file__).resolve().parents[1] / "docs/rpc-transport.md"


def test_the_example_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert code is not None
    expected = re.search(r"print\(.*?\) +# (.*)", code[1])
    assert expected is not None
    exec(compile(code[1], "docs/rpc-transport.md", "exec"), {})
    assert capsys.readouterr().out.strip() == expected[1]


def test_all_options_and_kinds_are_described() -> None:
    text = PAGE.read_text()
    for name in inspect.signature(Transport).parameters:
        assert name in ("name", "handler") or f"`{name}`" in text, name
    for kind in FrameKind:
        assert kind.name in text
        assert kind < FrameKind.HELLO or f"{int(kind)} {kind.name}" in text
