"""Real-time mode over a real broker: state is exact, however often the query is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from examples.realtime.broker import broker, connector_jars
from tests.spark.long.kafka.real_time import KEYS, LATER_MS, NUMBERS, RESULTS, STEP_MS
from tests.spark.patience import until

PROGRAM = Path(__file__).with_name("real_time.py")
KILLS = int(os.environ.get("FLINKISH_KILLS", "4"))
STEP = 70
LONGEST_S = 180


def expected(numbers: int) -> set[tuple[str, int, int]]:
    """Each key's counts and sums, number by number."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    found = set()
    for number in range(numbers):
        key = f"k{number % KEYS}"
        counts[key] += 1
        sums[key] += number
        found.add((key, counts[key], sums[key]))
    return found


class Client:
    """The process that writes and reads topics."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, *command: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, command)) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def rows(self, kind: str) -> set[tuple[Any, ...]]:
        """The distinct results of a kind; none of them contradicts another."""
        found = {
            (row["key"], row["count"], row.get("sum"))
            for row in self("read")
            if row["kind"] == kind
        }
        if kind != "wait":
            assert len(found) == len({row[:2] for row in found})
        return found


@contextmanager
def started(
    settings: Path, log: Path, environment: dict[str, str], command: str
) -> Iterator[subprocess.Popen[str]]:
    """A process of the program, and all that it starts, killed at the end."""
    with log.open("a") as out:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(settings), command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def workers_of(session: int) -> list[int]:
    """The Python workers of a session of processes: the children of the daemon that forks them."""
    command = ["ps", "-o", "pid=,ppid=,args=", "-s", str(session)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [line.split(None, 2) for line in listed.splitlines() if "pyspark.daemon" in line]
    daemons = {pid for pid, _, _ in found}
    return [int(pid) for pid, parent, _ in found if parent in daemons]


def batches_in(checkpoint: Path, log: str = "commits") -> set[str]:
    """The numbers of the batches in a log of Spark's."""
    return {path.name for path in (checkpoint / log).glob("[0-9]*")}


def between_the_logs(checkpoint: Path) -> None:
    """Wait until a batch is in the offset log and not in the commit log."""
    end = time.monotonic() + LONGEST_S
    while not batches_in(checkpoint, "offsets") - batches_in(checkpoint):
        assert time.monotonic() < end, "no batch was planned"
        time.sleep(0.001)


def test_state_is_exact_after_kills(environment: dict[str, str], tmp_path: Path) -> None:
    """Of rows and timers each shows in state once, in Kafka at least once (R.5, R.17)."""
    settings = tmp_path / "settings.json"
    chance = random.Random(17)
    (tmp_path / "broker").mkdir()
    log = tmp_path / "log"
    with broker(tmp_path / "broker", (NUMBERS, RESULTS)) as address:
        known = {"broker": address, "jars": connector_jars(), "folder": str(tmp_path)}
        settings.write_text(json.dumps(known))
        with started(settings, log, environment, "client") as process:
            client = Client(process)
            written = client("send", 0, STEP)
            checkpoint = tmp_path / "checkpoint"

            def ended_more(batches: int) -> bool:
                return len(batches_in(checkpoint) - ended) >= batches

            for kill in range(KILLS):
                ended = batches_in(checkpoint)
                with started(settings, log, environment, "run") as running:
                    until(lambda: ended_more(1) or running.poll() is not None)
                    assert running.poll() is None, log.read_text()[-3000:]
                    written = client("send", written, written + STEP)
                    if kill % 3 == 0:
                        between_the_logs(checkpoint)
                    else:
                        time.sleep(chance.uniform(0, 6))
                    if kill % 3 == 1 and (workers := workers_of(running.pid)):
                        ended = batches_in(checkpoint)
                        os.kill(chance.choice(workers), signal.SIGKILL)
                        # Between two batches a worker has no task, and the query goes on.
                        until(lambda: running.poll() is not None or ended_more(2))
            with started(settings, log, environment, "run") as running:
                wanted = expected(written)
                end = time.monotonic() + LONGEST_S
                while client.rows("row") != wanted:
                    assert time.monotonic() < end, client.rows("row") ^ wanted
                    assert running.poll() is None, log.read_text()[-3000:]
                    time.sleep(1)
                # Of each partition the last number holds the timers after it back.
                passed = (written - 2 * KEYS) * STEP_MS - LATER_MS
                due = [n for n in range(written) if n * STEP_MS <= passed - LATER_MS]
                while not set(Counter(f"k{n % KEYS}" for n in due).items()) <= {
                    row[:2] for row in client.rows("event")
                }:
                    assert time.monotonic() < end, client.rows("event")
                    time.sleep(1)
                events = client.rows("event")
    fired = Counter(key for key, _, _ in events)
    assert all(
        {count for one, count, _ in events if one == key} == set(range(1, n + 1))
        for key, n in fired.items()
    )
    at = {(key, time) for key, _, time in events}
    assert len(at) == len(events), "each timer has fired once"
    assert at <= {(f"k{n % KEYS}", n * STEP_MS + LATER_MS) for n in range(written)}
