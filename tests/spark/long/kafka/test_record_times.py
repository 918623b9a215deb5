"""Records of Kafka have timestamps before a strategy says any, over a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Producer

from examples.realtime.broker import broker, connector_jars
from tests.spark.long.kafka.record_times import LATER_MS, TOPIC, WINDOW_MS

PROGRAM = Path(__file__).with_name("record_times.py")
LONGEST_S = 300
FIRST = 1_700_000_000_000
RECORDS = 40
STEP_MS = 10


def test_they_are_event_times(environment: dict[str, str], tmp_path: Path) -> None:
    """Those of elements, of assigners, of windows; each partition has a watermark of its own."""
    times = {f"k{n}": FIRST + n * STEP_MS for n in range(RECORDS)}
    windows: dict[int, list[str]] = {}
    for text, time in times.items():
        windows.setdefault(time // WINDOW_MS * WINDOW_MS, []).append(text)
    content = [[start, ",".join(sorted(texts))] for start, texts in sorted(windows.items())]
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker", (TOPIC,)) as address:
        producer = Producer({"bootstrap.servers": address})
        for number, (text, time) in enumerate(times.items()):
            producer.produce(TOPIC, value=text, timestamp=time, partition=number % 2)
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
    assert found["none"] == sorted([text, time] for text, time in times.items())
    assert found["later"] == [[text, time + LATER_MS] for text, time in found["none"]]
    assert found["again"] == found["later"]
    assert found["bounded"] == content
    # The last window would be closed by what nobody has sent.
    assert found["unbounded"] == content[:-1]
