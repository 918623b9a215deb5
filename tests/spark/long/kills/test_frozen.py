"""Programs that stand still while another one goes on with their checkpoint, and then wake up."""

import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.processes import LONGEST_S
from tests.spark.functions import Silence
from tests.spark.killed import written
from tests.spark.long.kills.killing import (
    begin,
    cut,
    kill_session,
    processes_of,
    signal_all,
    wait,
)
from tests.spark.support import Source, by_key, tuples
from tests.spark.traffic import SCHEMA, expected, feed, random_batches
from tests.waiting import until

BATCHES = 9


def check(work: Path, batches: list[Any]) -> None:
    """What all programs wrote is what one would have written."""
    found = [tuples(file) for file in sorted((work / "out").glob("*.json"))]
    seen = cut(work / "checkpoint", work / "in", batches)
    assert len(found) == len(seen)
    _, given = expected(Silence(), seen, 1000)
    for tag in ("", "late"):
        wanted = ((value for name, value, _ in outputs if name == tag) for outputs in given)
        rows = by_key(row for batch in found for row in batch[tag])
        assert rows == by_key(row for batch in wanted for row in batch), tag


@pytest.mark.stress
def test_a_driver_that_wakes_up_after_another_went_on(tmp_path: Path) -> None:
    """Two drivers have one checkpoint; all processes of the first were frozen in a batch."""
    source = Source(None, tmp_path / "in", SCHEMA)  # type: ignore[arg-type]
    batches = random_batches(53, batches=BATCHES, rows=50, keys=20)
    feed(source, batches)
    program = ["tests.spark.long.kills.kill_driver", str(tmp_path), "versioned"]
    first = begin(program, tmp_path / "first.log")
    second = None
    try:
        wait(first, tmp_path / "out", 2)
        time.sleep(random.Random(53).random())
        signal_all(processes_of(first.pid), signal.SIGSTOP)
        done = written(tmp_path / "out")
        assert done < BATCHES
        second = begin(program, tmp_path / "second.log")
        wait(second, tmp_path / "out", done + 2)
        signal_all(processes_of(first.pid), signal.SIGCONT)
        assert first.wait(LONGEST_S) != 0
        assert second.wait(LONGEST_S) == 0, (tmp_path / "second.log").read_text()[-8000:]
    finally:
        signal_all(processes_of(first.pid), signal.SIGCONT)
        for driver in (first, second):
            if driver is not None:
                kill_session(driver)
    assert "CONCURRENT_STREAM_LOG_UPDATE" in (tmp_path / "first.log").read_text()
    check(tmp_path, batches)


@pytest.mark.stress
def test_workers_that_wake_up_after_their_driver_has_died(tmp_path: Path) -> None:
    """They have rows in their sockets still, and then an end that is none."""
    source = Source(None, tmp_path / "in", SCHEMA)  # type: ignore[arg-type]
    batches = random_batches(59, batches=BATCHES + 2, rows=50, keys=20)
    feed(source, batches[:BATCHES])
    program = ["tests.spark.long.kills.kill_driver", str(tmp_path), "versioned"]
    first = begin(program, tmp_path / "first.log")
    workers: list[int] = []
    try:
        wait(first, tmp_path / "out", 2)
        time.sleep(random.Random(59).random())
        java = {first.pid, *_group(first.pid)}
        workers = [one for one in processes_of(first.pid) if one not in java]
        signal_all(workers, signal.SIGSTOP)
        assert workers
        kill_session(first)
        second = begin(program, tmp_path / "second.log")
        assert second.wait(LONGEST_S) == 0, (tmp_path / "second.log").read_text()[-8000:]
    finally:
        kill_session(first)
        signal_all(workers, signal.SIGCONT)
    until(lambda: not processes_of(first.pid), "the workers end", LONGEST_S)
    (tmp_path / "done").unlink()
    feed(source, batches[BATCHES:])
    third = begin(program, tmp_path / "third.log")
    assert third.wait(LONGEST_S) == 0, (tmp_path / "third.log").read_text()[-8000:]
    check(tmp_path, batches)


def _group(leader: int) -> set[int]:
    """The processes of a group: the driver and its JVM; workers have groups of their own."""
    found = set()
    for process in processes_of(leader):
        stat = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        if int(stat[2]) == leader:
            found.add(process)
    return found
