"""README.md tells the truth: its Python blocks run, and print the text block that follows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tests

pytestmark = pytest.mark.spark

README = Path(tests.__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)
MARK = "=== end of block ==="


def test_the_examples_run_and_print_what_is_shown(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    blocks = BLOCK.findall(README.read_text())
    codes = [text for kind, text in blocks if kind == "python"]
    shown = [text for kind, text in blocks if kind == "text"]
    assert [kind for kind, _ in blocks] == ["python", "text"] * len(codes)
    assert len(codes) == 5

    script = tmp_path / "readme.py"
    script.write_text(f"\nprint({MARK!r}, flush=True)\n".join(codes))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-8000:]
    printed = [text.strip() for text in done.stdout.split(MARK)]
    assert printed == [text.strip() for text in shown]
