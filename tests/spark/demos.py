"""What tests of the demonstrations share: their modules, and a run of one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tests

EXAMPLES = Path(tests.__file__).resolve().parents[1] / "examples"


@contextmanager
def parts(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Import modules of a demonstration, whose names are too common to keep."""
    folder = EXAMPLES / name
    monkeypatch.syspath_prepend(folder)
    names = {path.stem for path in folder.glob("*.py")}
    assert not names & set(sys.modules)
    yield import_module
    for module in names:
        sys.modules.pop(module, None)


def run(name: str, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run a demonstration to its end."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name / "main.py"), *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
