"""A program over a real broker: reads, counts, writes back, and is killed again and again.

FLINKISH_KILLS sets how many times; the default is short.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from examples.realtime.broker import Broker
from tests.spark.long.kafka.running import (
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

PROGRAM = Path(__file__).with_name("program.py")
STEP = 50  # numbers that are written while a program runs


def lines_of(folder: Path) -> list[tuple[str, int, int]]:
    """The totals in files of whole batches."""
    found = []
    for batch in folder.glob("*"):
        if (batch / "_SUCCESS").exists():
            for part in batch.glob("*.txt"):
                for line in part.read_text().splitlines():
                    key, count, total = line.split()
                    found.append((key, int(count), int(total)))
    return found


def test_nothing_is_lost_or_doubled_by_kills(
    kafka: Broker, environment: dict[str, str], tmp_path: Path
) -> None:
    """Files have each total once; of Kafka's records, at least once, none is wrong or missing."""
    known, log, checkpoint = settings(kafka, tmp_path), tmp_path / "log", tmp_path / "checkpoint"
    chance = random.Random(24)
    kafka.make(("numbers", "totals"))
    written = 0

    def send_more() -> None:
        nonlocal written
        more = numbers(written, written := written + STEP)
        send(kafka, "numbers", ((key, json.dumps({"key": key, "n": int(n)})) for key, n in more))

    for kill in range(KILLS):
        ended = batches_in(checkpoint)
        send_more()
        with started(PROGRAM, known, log, environment) as running:
            until_more(running, checkpoint, ended)
            assert running.poll() is None, log.read_text()[-6000:]
            send_more()
            if kill % 2:
                between_the_logs(checkpoint)
            else:
                time.sleep(chance.uniform(0, 4))
    with started(PROGRAM, known, log, environment) as running:
        end = time.monotonic() + LONGEST_S
        while len(lines_of(tmp_path / "files")) < written and time.monotonic() < end:
            assert running.poll() is None, log.read_text()[-6000:]
            time.sleep(0.5)
        time.sleep(2)
    records = [json.loads(value) for value in values(kafka, "totals")]
    lines = lines_of(tmp_path / "files")
    assert len(lines) == len(set(lines)) == written
    # Kafka's partitions interleave as they like, so the order of a key's numbers may differ.
    assert {(key, count) for key, count, _ in lines} == {(k, c) for k, c, _ in expected(written)}
    last = {key: max(one for one in lines if one[0] == key) for key, _, _ in lines}
    assert set(last.values()) == {
        max(one for one in expected(written) if one[0] == key) for key in last
    }
    assert {(one["key"], one["count"], one["sum"]) for one in records} == set(lines)
