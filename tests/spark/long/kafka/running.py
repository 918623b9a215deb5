"""The broker's topics, and programs that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from examples.realtime.broker import PARTITIONS, Broker, connector_jars
from tests.spark.patience import until

KILLS = int(os.environ.get("FLINKISH_KILLS", "4"))
LONGEST_S = 180.0
KEYS = 7


def numbers(first: int, last: int) -> Iterator[tuple[str, str]]:
    """Numbers with their keys."""
    return ((f"k{n % KEYS}", str(n)) for n in range(first, last))


def expected(many: int) -> set[tuple[str, int, int]]:
    """The counts and sums of each key, after each of so many numbers."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    found = set()
    for key, number in numbers(0, many):
        counts[key] += 1
        sums[key] += int(number)
        found.add((key, counts[key], sums[key]))
    return found


def settings(broker: Broker, folder: Path, **more: str) -> str:
    """A file of JSON for a program: where the broker is, jars, a folder of its own."""
    file = folder / "settings.json"
    known = {"broker": broker.address, "jars": connector_jars(), "folder": str(folder)}
    file.write_text(json.dumps(known | more))
    return str(file)


def send(
    broker: Broker, topic: str, records: Iterable[tuple[str, str]], partition: int = -1
) -> None:
    """Write records of keys and values, in order, to the partitions that Java's client takes."""
    known = {"bootstrap.servers": broker.address, "partitioner": "murmur2_random"}
    producer = Producer(known | {"enable.idempotence": True})
    for key, value in records:
        producer.produce(topic, key=key, value=value, partition=partition)
    assert producer.flush(LONGEST_S) == 0


def values(broker: Broker, topic: str) -> list[str]:
    """The values of all records that a topic has now.

    A broker that has just been started may not know its partitions yet, nor lead them, and a reader
    may keep what it was told then: another one asks again.
    """
    end = time.monotonic() + LONGEST_S
    while True:
        reader = Consumer({"bootstrap.servers": broker.address, "group.id": "tests"})
        try:
            return _read(reader, topic, end)
        except KafkaException:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        finally:
            reader.close()


def _read(reader: Consumer, topic: str, end: float) -> list[str]:
    parts = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
    many = sum(int(reader.get_watermark_offsets(part, LONGEST_S)[1]) for part in parts)
    reader.assign(parts)
    found: list[str] = []
    while len(found) < many:
        assert time.monotonic() < end, f"{len(found)} of {many} records"
        for record in reader.consume(many - len(found), timeout=1):
            assert record.error() is None, record.error()
            found.append((record.value() or b"").decode())
    return found


@contextmanager
def started(
    program: Path, known: str, log: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a program, and all that it starts, killed at the end."""
    with log.open("a") as out:
        process = subprocess.Popen(
            [sys.executable, str(program), known],
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def batches_in(checkpoint: Path, log: str = "commits") -> set[str]:
    """The numbers of the batches in a log of Spark's."""
    return {path.name for path in (checkpoint / log).glob("[0-9]*")}


def between_the_logs(checkpoint: Path) -> None:
    """Wait until a batch is in the offset log and not in the commit log."""
    end = time.monotonic() + LONGEST_S
    while not batches_in(checkpoint, "offsets") - batches_in(checkpoint):
        assert time.monotonic() < end, "no batch was planned"
        time.sleep(0.001)


def until_more(
    process: subprocess.Popen[bytes], checkpoint: Path, ended: set[str], more: int = 1
) -> None:
    """Wait until batches that are none of these have ended, or the process has."""
    until(lambda: process.poll() is not None or len(batches_in(checkpoint) - ended) >= more)
