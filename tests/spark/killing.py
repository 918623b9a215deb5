"""Programs that are killed now and then until they are done."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from flinkish.common.elements import MIN_TIMESTAMP
from tests.processes import LONGEST_S
from tests.spark.conftest import worker_environment
from tests.spark.killed import written

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
    while not (work / "done").exists():
        goal = written(out) + chance.randint(1, most)
        if deaths < kills:
            (work / "most").write_text(str(goal))
        else:
            (work / "most").unlink(missing_ok=True)
        with log.open("a") as stderr:
            driver = subprocess.Popen(
                [sys.executable, "-m", *program],
                env=os.environ | worker_environment(),
                stdout=stderr,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            if deaths < kills:
                wait(driver, lambda goal=goal: written(out) >= goal)
                time.sleep(chance.random() * longest_s)
            else:
                wait(driver, lambda: False)
            assert driver.poll() in (None, 0), log.read_text()[-8000:]
        finally:
            deaths += driver.poll() is None
            kill_session(driver)
    return deaths


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


def wait(driver: "subprocess.Popen[bytes]", until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_S
    while driver.poll() is None and not until():
        assert time.monotonic() < deadline, "the driver makes no progress"
        time.sleep(0.02)


def kill_session(driver: "subprocess.Popen[bytes]") -> None:
    """Kill the driver and its JVM at once; workers find out by themselves."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
