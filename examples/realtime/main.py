"""Signals of devices through Kafka and a dead-man switch in milliseconds, killed half-way.

    bash ci/demo.sh realtime [--rate N] [--seconds N]

A broker of Kafka is started on loopback from its jars on Maven Central.  This process sends signals
and reads what the query makes of them; it shows how long that takes while it runs.  Half-way the
query's driver, JVM and workers are killed and it is started again.  Exits with 0 if all signals
were numbered and all silences found as a plain computation has them; of a result that was written
twice each copy has to be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import report
from broker import broker, connector_jars
from confluent_kafka import Consumer, Producer
from rich.console import Console

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEVICES = 200
SILENCE_MS = 3000
LONGEST_S = 180


def arguments(given: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rate", type=int, default=500, metavar="N", help="signals a second")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="of signals")
    parser.add_argument("--batch", default="1 minute", help="the trigger's duration")
    parser.add_argument("--out", type=Path, default=ROOT / "out/realtime", metavar="DIR")
    asked = parser.parse_args(given)
    for name in ("rate", "seconds"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return asked


class Signals(threading.Thread):
    """Sends signals of random devices; some fall silent for a while."""

    def __init__(self, address: str, rate: int) -> None:
        super().__init__(name="signals", daemon=True)
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
        self._rate = rate
        self._stopping = threading.Event()
        self.sent: dict[str, list[int]] = {}

    def run(self) -> None:
        """Send until `stop`; then two signals to each partition end every silence before them."""
        chance = random.Random(7)
        began, number = time.monotonic(), 0
        while not self._stopping.is_set():
            quiet = int(time.monotonic() - began) // 5 % 4  # a quarter of them, in turns
            device = chance.randrange(DEVICES)
            if device % 4 != quiet:
                self._send(f"d{device}")
            number += 1
            if (ahead := began + number / self._rate - time.monotonic()) > 0:
                time.sleep(ahead)
        time.sleep(2 * SILENCE_MS / 1000)
        for device in range(DEVICES):
            self._send(f"end{device}")
        self._producer.flush()

    def _send(self, device: str) -> None:
        # Two signals of a device never have one time, so a time names a signal.
        times = self.sent.setdefault(device, [])
        now = max(time.time_ns() // 1_000_000, times[-1] + 1 if times else 0)
        times.append(now)
        self._producer.produce("signals", key=device, value=str(now))
        self._producer.poll(0)

    def stop(self) -> None:
        """Send no more, but what ends the silences; wait for that."""
        self._stopping.set()
        self.join()


class Results:
    """Reads what the query writes: results by what they are of, and how long they took (ms)."""

    def __init__(self, address: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": "demonstration",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 5,
            }
        )
        self._consumer.subscribe(["results"])
        self.signals: dict[tuple[str, int], int] = {}
        self.silences: dict[tuple[str, int], int] = {}
        self.latencies: list[tuple[float, float]] = []
        self._seen: set[tuple[str, int, str]] = set()
        self.copies = 0
        self.contradictions = 0

    def read(self, seconds: float) -> None:
        """Take what comes within so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            message = self._consumer.poll(left)
            if message is not None and message.error() is None:
                self._take(json.loads(message.value()), time.time())

    def _take(self, row: dict[str, Any], now: float) -> None:
        held = self.signals if row["kind"] == "signal" else self.silences
        known = held.setdefault((row["device"], row["n"]), row["at"])
        if (row["device"], row["n"], row["kind"]) in self._seen:
            self.copies += 1
            self.contradictions += known != row["at"]
        elif row["kind"] == "signal":
            self.latencies.append((now, now * 1000 - row["at"]))
        self._seen.add((row["device"], row["n"], row["kind"]))

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()


def expected(
    sent: dict[str, list[int]],
) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]]:
    """Numbers of signals, and silences, by a plain computation."""
    signals = {(device, n): at for device, all_ in sent.items() for n, at in enumerate(all_, 1)}
    silences = {}
    for device, times in sent.items():
        if not device.startswith("end"):
            later = [*times[1:], None]
            for n, (at, then) in enumerate(zip(times, later, strict=True), 1):
                if then is None or then > at + SILENCE_MS:
                    silences[device, n] = at
    return signals, silences


def started(settings: Path, log: Path) -> subprocess.Popen[bytes]:
    """The query, with its JVM and workers in a session of its own."""
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, str(HERE / "job.py"), str(settings)],
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def kill(job: subprocess.Popen[bytes]) -> None:
    """Kill every process of the query: driver, JVM and Python workers."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == job.pid:
                os.kill(int(stat.parent.name), 9)
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    job.wait()


def main(given: list[str] | None = None) -> int:
    """Run the demonstration; 0 if its results are right."""
    asked = arguments(given)
    console = Console() if sys.stdout.isatty() else Console(width=100)
    out = asked.out.resolve()
    shutil.rmtree(out / "run", ignore_errors=True)
    (out / "run").mkdir(parents=True)
    console.print("starting a broker of Kafka on loopback …")
    with broker(out / "run", ("signals", "results")) as address:
        known = {
            "broker": address,
            "jars": connector_jars(),
            "folder": str(out / "run"),
            "silence_ms": SILENCE_MS,
            "batch": asked.batch,
        }
        settings = out / "run" / "settings.json"
        settings.write_text(json.dumps(known))
        return run(asked, address, settings, out, console)


def run(
    asked: argparse.Namespace, address: str, settings: Path, out: Path, console: Console
) -> int:
    """Send, read, kill, and compare."""
    signals, results = Signals(address, asked.rate), Results(address)
    log = out / "run" / "spark.log"
    signals.start()
    job = started(settings, log)
    try:
        with report.Live(console) as live:

            def watch(seconds: float, note: str) -> None:
                end = time.monotonic() + seconds
                while time.monotonic() < end and job.poll() is None:
                    results.read(0.5)
                    live.show(results.latencies, note)

            while not results.latencies and job.poll() is None:
                watch(1, "the query starts")
            watch(asked.seconds / 2, "first half")
            kill(job)
            killed = time.time()
            job = started(settings, log)
            before = len(results.latencies)
            while len(results.latencies) == before and job.poll() is None:
                watch(1, "killed; it starts again and reads what it had not committed")
            watch(asked.seconds / 2, "second half")
            signals.stop()
            wanted = expected(signals.sent)
            end = time.monotonic() + LONGEST_S
            while (results.signals, results.silences) != wanted and time.monotonic() < end:
                watch(1, "the last results")
                if job.poll() is not None:
                    break
    finally:
        if job.poll() is None:
            kill(job)
        results.close()
    found = (results.signals, results.silences)
    report.picture(results.latencies, killed, out / "latency.png")
    right = found == wanted and not results.contradictions
    report.verdict(console, results, found, wanted, killed, out, right=right)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
