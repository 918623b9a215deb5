"""The example of docs/tasks.md runs, and again from its checkpoint."""

import re
from pathlib import Path

import tests
from tests.processes import ran

ROOT = Path(tests.__file__).resolve().parents[1]


def test_the_example_of_the_documentation_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "docs/tasks.md").read_text(), re.S)
    assert found is not None
    for expected in ("{0: 3000, 1: 3000, 2: 3000}\n", ""):
        run = ran("-W", "error", "-c", found[1], str(tmp_path), env=environment)
        assert run.stderr == ""
        assert run.stdout.endswith(expected)
