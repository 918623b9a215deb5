"""Every script beside this file runs alone in a fresh interpreter and must end well.

A script is for what only a whole process shows: what an import drags in, memory that must
come back, state that must not survive a fork.  It asserts, and prints why.
"""

from pathlib import Path

import pytest

from tests.processes import ran

SCRIPTS = sorted(
    path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "__"))
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script: Path, environment: dict[str, str]) -> None:
    ran("-W", "error", "-X", "faulthandler", str(script), env=environment)
