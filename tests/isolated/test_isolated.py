"""Every script beside this file runs alone in a fresh interpreter and must end well.

A script is for what only a whole process shows: what an import drags in, memory that must
come back, state that must not survive a fork.  It asserts, and prints why.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(
    path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "__"))
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{script.name} failed:\n{done.stdout}{done.stderr}"
