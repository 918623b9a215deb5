"""README.md tells the truth: its Python blocks run, and print the text block that follows.

They do so again where they have run before, as when a reader runs them a second time.
"""

import re
from pathlib import Path

import pytest

import tests
from tests.spark import demos

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
    somewhere_new = f"import os, tempfile\nos.chdir(tempfile.mkdtemp(dir={str(tmp_path)!r}))\n"
    script.write_text(somewhere_new + f"\nprint({MARK!r}, flush=True)\n".join(codes * 2))
    done = demos.run_script(script, env=environment)
    assert done.returncode == 0, done.stderr[-8000:]
    printed = [text.strip() for text in done.stdout.split(MARK)]
    assert printed == [text.strip() for text in shown * 2]
