"""The examples of docs/joins.md."""

import re
from pathlib import Path

import pytest

import tests

PAGE = Path(tests.__file__).resolve().parents[1] / "docs/joins.md"


def test_the_example_in_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(compile(blocks[1], str(PAGE), "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "[]",
        "[StreamRecord(value=('ann', 30), timestamp=3601000), Watermark(timestamp=3700000)]",
    ]


def test_the_example_of_broadcast_state(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(compile(blocks[2], str(PAGE), "exec"), {})
    assert capsys.readouterr().out.splitlines() == ["[('ann', 60, 50)]"]


def test_the_example_on_a_stream_is_python() -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)[0]
    compile(block, str(PAGE), "exec")
