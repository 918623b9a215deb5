"""Programs that are killed now and then until they are done."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TypeVar

from flinkish.common.timestamps import MIN_TIMESTAMP
from tests.processes import LONGEST_S
from tests.spark.conftest import worker_environment
from tests.spark.killed import written
from tests.waiting import until

T = TypeVar("T")


def kill_now_and_then(
    program: Sequence[str],
    work: Path,
    chance: random.Random,
    kills: int,
    longest_s: float,
    most: int = 2,
) -> int:
    """Run a module and its arguments until WORK/done is there; how often it was killed.

    It writes a file into WORK/out for each micro-batch, as killed.py does.  It is killed, `kills`
    times, when 1 to ``most`` more have been seen than were there before, up to ``longest_s`` after
    the last of them: behind it, or anywhere in the next up to its own file, for which the program
    waits.  So it must have more than ``kills * most`` files to write, and up to ``kills`` of those
    may fall away, since Spark makes one micro-batch of two when it was killed between them.
    """
    out, log = work / "out", work / "log"
    deaths = 0
    sessions: list[int] = []
    while not (work / "done").exists():
        goal = written(out) + chance.randint(1, most)
        if deaths < kills:
            (work / "most").write_text(str(goal))
        else:
            (work / "most").unlink(missing_ok=True)
            # What the last workers of the killed leave behind, this run can tidy up.
            until(lambda: not any(map(processes_of, sessions)), "the workers end", LONGEST_S)
        driver = begin(program, log)
        sessions.append(driver.pid)
        try:
            if deaths < kills:
                wait(driver, out, goal)
                time.sleep(chance.random() * longest_s)
            else:
                wait(driver, out)
            assert driver.poll() in (None, 0), log.read_text()[-8000:]
        finally:
            deaths += driver.poll() is None
            kill_session(driver)
    return deaths


def begin(program: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a module and its arguments in a session of its own."""
    with log.open("a") as stderr:
        return subprocess.Popen(
            [sys.executable, "-m", *program],
            env=os.environ | worker_environment(),
            stdout=stderr,
            stderr=stderr,
            start_new_session=True,
        )


def cut(
    checkpoint: Path, inputs: Path, batches: Sequence[Sequence[T]], source: int = 0
) -> list[list[T]]:
    """What a source gave to each micro-batch, the trailing one too.

    The batches are the files of a directory, ``source`` says which of the query's sources it is.
    Killed between writing the source's own log and the query's, Spark puts that file and the next
    one into one micro-batch when it is started again, and the larger one first.  Killed after the
    last micro-batch with rows, it plans no trailing one when it is started again.
    """
    sizes = [file.stat().st_size for file in sorted(inputs.glob("*.json"))]
    planned = _planned(checkpoint)
    ends = [0, *(json.loads(lines[2 + source])["logOffset"] + 1 for lines in planned)]
    assert ends[-1] == len(batches), "the query has read its source to the end"
    return [
        [
            row
            for number in sorted(range(start, stop), key=lambda number: -sizes[number])
            for row in batches[number]
        ]
        for start, stop in pairwise(ends)
    ]


def marks(checkpoint: Path) -> list[int]:
    """The watermark (Flink's, ms) that each micro-batch saw.

    When it is started again, Spark forgets how far each of several streams had come; the lower of
    them may then rise later than it would have.
    """
    seen = [json.loads(lines[1])["batchWatermarkMs"] for lines in _planned(checkpoint)]
    assert seen == sorted(seen)
    return [mark - 1 if mark else MIN_TIMESTAMP for mark in seen]


def _planned(checkpoint: Path) -> list[list[str]]:
    """What Spark planned for each micro-batch: a version, settings, the end of each source."""
    logs = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda log: int(log.name))
    return [log.read_text().splitlines() for log in logs]


def wait(driver: "subprocess.Popen[bytes]", out: Path, goal: float = inf) -> None:
    """Until the driver has written so many files, or has ended."""
    seen, deadline = -1, 0.0
    while driver.poll() is None and (now := written(out)) < goal:
        if now > seen:
            seen, deadline = now, time.monotonic() + LONGEST_S
        assert time.monotonic() < deadline, "the driver makes no progress"
        time.sleep(0.02)


def processes_of(session: int) -> list[int]:
    """The processes that are left of a program, which began a session of its own."""
    found = []
    for process in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, its_session, *_ = process.read_text().rsplit(")", 1)[1].split()
            if int(its_session) == session and state not in "ZX":
                found.append(int(process.parent.name))
    return found


def signal_all(processes: Sequence[int], what: signal.Signals) -> None:
    """Send a signal to processes, of which some may be gone."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, what)


def kill_session(driver: "subprocess.Popen[bytes]") -> None:
    """Kill the driver and its JVM at once; workers find out by themselves."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
