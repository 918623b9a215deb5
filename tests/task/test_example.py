"""The example of docs/tasks.md runs, and again from its checkpoint."""

import re
import subprocess
import sys
from pathlib import Path

import tests

ROOT = Path(tests.__file__).resolve().parents[1]


def test_the_example_of_the_documentation_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "docs/tasks.md").read_text(), re.S)
    assert found is not None
    command = [sys.executable, "-W", "error", "-c", found[1], str(tmp_path)]
    for expected in ("{0: 3000, 1: 3000, 2: 3000}\n", ""):
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.endswith(expected)
