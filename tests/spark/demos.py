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
from tests.processes import LONGEST_S
from tests.spark.support import ATTEMPTS, TOO_BUSY

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
    """Run a demonstration to its end; what it writes goes to the folder behind ``--out``."""
    out = Path(options[options.index("--out") + 1]) if "--out" in options else None
    return run_script(EXAMPLES / name / "main.py", *options, env=environment, out=out)


def run_script(
    script: Path, *options: str, env: dict[str, str], out: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program that begins from nothing, with a log in ``out`` or none, to its end.

    It is run again where Spark says, there or here, that a worker kept it waiting too long.
    """
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            [sys.executable, str(script), *options],
            env=env,
            capture_output=True,
            text=True,
            timeout=3 * LONGEST_S,
        )
        logs = [] if out is None else [out / "log", out / "spark.log"]
        said = [done.stdout, done.stderr, *(log.read_text() for log in logs if log.exists())]
        if done.returncode == 0 or not any(TOO_BUSY in text for text in said):
            break
    return done
