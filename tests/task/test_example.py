"""The example of docs/guides/tasks.md runs, and again from its checkpoint."""

from pathlib import Path

from tests.checkout import examples
from tests.processes import ran


def test_the_example_of_the_documentation_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    first, *_ = examples("docs/guides/tasks.md")
    for expected in ("{0: 3000, 1: 3000, 2: 3000}\n", ""):
        run = ran("-W", "error", "-c", first, str(tmp_path), env=environment)
        assert run.stderr == ""
        assert run.stdout.endswith(expected)
