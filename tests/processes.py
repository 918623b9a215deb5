"""Python processes that tests start: run to their end, talked to, frozen."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STARTUP = Path(__file__).with_name("startup")
LONGEST_S = 600  # none takes a fifth of it, wherever the machine is not busy


def python_path() -> str:
    """PYTHONPATH with which a Python process imports as this one does; see startup/."""
    return os.pathsep.join([str(STARTUP), *filter(None, sys.path)])


def ran(
    *arguments: str, env: Mapping[str, str], status: int = 0, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run Python to its end; what it wrote.  Fails, and shows that, at any other status."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        **options,
    )
    assert done.returncode == status, (
        f"it ended with {done.returncode}:\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    )
    return done


@contextmanager
def piped(
    *arguments: str, env: Mapping[str, str], text: bool = True
) -> "Iterator[subprocess.Popen[Any]]":
    """Python with pipes to its standard input and output, which is killed in the end."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=text,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def freeze(process: "subprocess.Popen[Any]") -> None:
    """Stop all its threads: one alone hears the signal, and the others go on until it acts."""
    process.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"the process has ended with {status}"


def thaw(process: "subprocess.Popen[Any]") -> None:
    """Have it go on."""
    process.send_signal(signal.SIGCONT)
