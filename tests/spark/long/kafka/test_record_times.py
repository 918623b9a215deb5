"""Records of Kafka have timestamps before a strategy says any, over a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import Producer

from examples.realtime.broker import broker, connector_jars
from tests.spark.long.kafka.record_times import LATER_MS, TOPIC, WINDOW_MS

PROGRAM = Path(__file__).with_name("record_times.py")
LONGEST_S = 300
# An hour ago: Kafka deletes records whose timestamps are a week old.
FIRST = (int(time.time()) - 3600) * 1000
RECORDS = 40
STEP_MS = 10


def test_they_are_event_times(environment: dict[str, str], tmp_path: Path) -> None:
    """Those of elements, of assigners, of windows; each partition has a watermark of its own."""
    times = {f"k{n}": FIRST + n * STEP_MS for n in range(RECORDS)}
    windows: dict[int, list[str]] = {}
    for text, at in times.items():
        windows.setdefault(at // WINDOW_MS * WINDOW_MS, []).append(text)
    content = [[start, ",".join(sorted(texts))] for start, texts in sorted(windows.items())]
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker", (TOPIC,)) as address:
        producer = Producer({"bootstrap.servers": address})
        for number, (text, at) in enumerate(times.items()):
            producer.produce(TOPIC, value=text, timestamp=at, partition=number % 2)
        producer.flush()
        del producer
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"broker": address, "jars": connector_jars()}))
        done = subprocess.run(
            [sys.executable, str(PROGRAM), str(settings), str(len(content) - 1)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr.rpartition("Traceback (most recent call")[2][:6000]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["none"] == sorted([text, at] for text, at in times.items())
    assert found["later"] == [[text, at + LATER_MS] for text, at in found["none"]]
    assert found["again"] == found["later"]
    assert found["bounded"] == content
    # The last window would be closed by what nobody has sent.
    assert found["unbounded"] == content[:-1]
