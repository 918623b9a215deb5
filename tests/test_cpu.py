"""The CPU time that ci/test.sh prints is that of all processes."""

import sys

from tests.processes import ran

BURN_S = 0.2
BURN = f"import time\nwhile time.process_time() < {BURN_S}: pass"
# Starts a process that outlives it.
LEAVE = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BURN!r}])\nsys.exit(3)"


def test_a_process_that_outlives_its_parent_counts(environment: dict[str, str]) -> None:
    measure = f"from tests.cpu import run; print(*run([{sys.executable!r}, '-c', {LEAVE!r}]))"
    status, spent = ran("-c", measure, env=environment).stdout.split(maxsplit=1)
    assert status == "3"
    user, system = (float(part.split("=")[1]) for part in spent.strip("Cpu()\n").split(", "))
    assert user + system >= BURN_S
