"""A program over a real broker: reads, counts, writes back, and is killed again and again.

FLINKISH_KILLS sets how many times; the default is short.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from examples.realtime.broker import broker, connector_jars
from tests.spark.long.kafka.program import KEYS

PROGRAM = Path(__file__).with_name("program.py")
KILLS = int(os.environ.get("FLINKISH_KILLS", "8"))
STEP = 50  # numbers that are written while a program runs
LONGEST_S = 180


def expected(numbers: int) -> set[tuple[str, int, int]]:
    """The totals of each number's key as far as that number."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    found = set()
    for number in range(numbers):
        key = f"k{number % KEYS}"
        counts[key] += 1
        sums[key] += number
        found.add((key, counts[key], sums[key]))
    return found


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


def test_nothing_is_lost_or_doubled_by_kills(environment: dict[str, str], tmp_path: Path) -> None:
    """Files have each total once; of Kafka's records, at least once, none is wrong or missing."""
    settings = tmp_path / "settings.json"
    log = tmp_path / "log"
    chance = random.Random(24)
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker", ("numbers", "totals")) as address:
        known = {"broker": address, "jars": connector_jars(), "folder": str(tmp_path)}
        settings.write_text(json.dumps(known | {"goes_on": "yes"}))

        def start(*arguments: str) -> subprocess.Popen[str]:
            with log.open("w") as errors:
                return subprocess.Popen(
                    [sys.executable, str(PROGRAM), str(settings), *arguments],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    start_new_session=True,
                )

        def done(*arguments: str) -> str:
            process = start(*arguments)
            out, _ = process.communicate(timeout=LONGEST_S)
            assert process.returncode == 0
            return out

        done("produce", "0", str(STEP))
        written, kills = STEP, 0
        while kills < KILLS:
            running = start("run")
            time.sleep(chance.uniform(4, 9))
            assert running.poll() is None, log.read_text()[-6000:]
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            kills += 1
            if kills % 2 == 0:
                done("produce", str(written), str(written + STEP))
                written += STEP
        running = start("run")
        end = time.monotonic() + LONGEST_S
        while len(lines_of(tmp_path / "files")) < written and time.monotonic() < end:
            assert running.poll() is None, log.read_text()[-6000:]
            time.sleep(0.5)
        time.sleep(2)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        records = json.loads(done("read", "totals").splitlines()[-1])
    lines = lines_of(tmp_path / "files")
    assert len(lines) == len(set(lines)) == written
    # Kafka's partitions interleave as they like, so the order of a key's numbers may differ.
    assert {(key, count) for key, count, _ in lines} == {(k, c) for k, c, _ in expected(written)}
    last = {key: max(one for one in lines if one[0] == key) for key, _, _ in lines}
    assert set(last.values()) == {
        max(one for one in expected(written) if one[0] == key) for key in last
    }
    assert {tuple(record) for record in records} == set(lines)
