"""Real-time mode over a real broker: state is exact, however often the query is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from examples.realtime.broker import Broker
from tests.spark.long.kafka.real_time import LATER_MS, NUMBERS, RESULTS, STEP_MS
from tests.spark.long.kafka.running import (
    KEYS,
    KILLS,
    LONGEST_S,
    batches_in,
    between_the_logs,
    expected,
    numbers,
    send,
    settings,
    started,
    until_more,
    values,
)
from tests.spark.sessions import JAVA

PROGRAM = Path(__file__).with_name("real_time.py")
STEP = 70


def results(kafka: Broker, kind: str) -> set[tuple[Any, ...]]:
    """The distinct results of a kind; none of them contradicts another."""
    read = [json.loads(value) for value in values(kafka, RESULTS)]
    rows = [row for row in read if row["kind"] == kind]
    found = {(row["key"], row["count"], row.get("sum")) for row in rows}
    if kind != "wait":
        assert len(found) == len({row[:2] for row in found})
    return found


def workers_of(session: int) -> list[int]:
    """The Python workers of a session of processes: the children of the daemon that forks them."""
    command = ["ps", "-o", "pid=,ppid=,args=", "-s", str(session)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [line.split(None, 2) for line in listed.splitlines() if "pyspark.daemon" in line]
    daemons = {pid for pid, _, _ in found}
    return [int(pid) for pid, parent, _ in found if parent in daemons]


def test_state_is_exact_after_kills(
    kafka: Broker, environment: dict[str, str], tmp_path: Path
) -> None:
    """Of rows and timers each shows in state once, in Kafka at least once (R.5, R.17)."""
    known, log, checkpoint = settings(kafka, tmp_path), tmp_path / "log", tmp_path / "checkpoint"
    chance = random.Random(17)
    kafka.make((NUMBERS, RESULTS))
    send(kafka, NUMBERS, numbers(0, written := STEP))

    for kill in range(KILLS):
        ended = batches_in(checkpoint)
        with started(PROGRAM, known, log, environment) as running:
            until_more(running, checkpoint, ended)
            assert running.poll() is None, log.read_text()[-3000:]
            send(kafka, NUMBERS, numbers(written, written := written + STEP))
            if kill % 3 == 0:
                between_the_logs(checkpoint)
            else:
                time.sleep(chance.uniform(0, 6))
            if kill % 3 == 1 and (workers := workers_of(running.pid)):
                ended = batches_in(checkpoint)
                os.kill(chance.choice(workers), signal.SIGKILL)
                # Between two batches a worker has no task, and the query goes on.
                until_more(running, checkpoint, ended, 2)
    with started(PROGRAM, known, log, environment) as running:
        wanted = expected(written)
        end = time.monotonic() + LONGEST_S
        while (found := results(kafka, "row")) != wanted:
            assert time.monotonic() < end, found ^ wanted
            assert running.poll() is None, log.read_text()[-3000:]
            time.sleep(1)
        # Of each partition the last number holds the timers after it back.
        passed = (written - 2 * KEYS) * STEP_MS - LATER_MS
        due = [n for n in range(written) if n * STEP_MS <= passed - LATER_MS]
        fired = set(Counter(f"k{n % KEYS}" for n in due).items())
        while not fired <= {row[:2] for row in results(kafka, "event")}:
            assert time.monotonic() < end, results(kafka, "event") ^ fired
            time.sleep(1)
        events = results(kafka, "event")
    many = Counter(key for key, _, _ in events)
    assert all(
        {count for one, count, _ in events if one == key} == set(range(1, n + 1))
        for key, n in many.items()
    )
    at = {(key, time) for key, _, time in events}
    assert len(at) == len(events), "each timer has fired once"
    assert at <= {(f"k{n % KEYS}", n * STEP_MS + LATER_MS) for n in range(written)}


def test_a_broker_that_is_killed(environment: dict[str, str], tmp_path: Path) -> None:
    """The query waits for it, or ends and goes on from its checkpoint; state is exact."""
    kafka, log = Broker(tmp_path / "broker", JAVA.split()), tmp_path / "log"
    known = settings(kafka, tmp_path)
    try:
        kafka.start()
        kafka.make((NUMBERS, RESULTS))
        with ExitStack() as running:
            for stop in range(4):
                if stop:
                    kafka.kill()
                    time.sleep(2 * stop)
                    kafka.start()
                else:
                    query = running.enter_context(started(PROGRAM, known, log, environment))
                send(kafka, NUMBERS, numbers(stop * STEP, (stop + 1) * STEP))
                end, wanted = time.monotonic() + LONGEST_S, expected((stop + 1) * STEP)
                while (found := results(kafka, "row")) != wanted:
                    assert time.monotonic() < end, found ^ wanted
                    if query.poll() is not None:
                        query = running.enter_context(started(PROGRAM, known, log, environment))
                    time.sleep(1)
    finally:
        kafka.kill()
