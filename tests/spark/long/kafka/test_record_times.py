"""Records of Kafka have timestamps before a strategy says any, over a real broker."""

from __future__ import annotations

import json
import time
from pathlib import Path

from confluent_kafka import Producer

from examples.realtime.broker import Broker
from tests.processes import ran
from tests.spark.long.kafka.record_times import LATER_MS, TOPIC, WINDOW_MS
from tests.spark.long.kafka.running import settings
from tests.waiting import PATIENCE

PROGRAM = Path(__file__).with_name("record_times.py")
# An hour ago: Kafka deletes records whose timestamps are a week old.
FIRST = (int(time.time()) - 3600) * 1000
RECORDS = 40
STEP_MS = 10


def test_they_are_event_times(kafka: Broker, environment: dict[str, str], tmp_path: Path) -> None:
    """Those of elements, of assigners, of windows; each partition has a watermark of its own."""
    times = {f"k{n}": FIRST + n * STEP_MS for n in range(RECORDS)}
    windows: dict[int, list[str]] = {}
    for text, at in times.items():
        windows.setdefault(at // WINDOW_MS * WINDOW_MS, []).append(text)
    content = [[start, ",".join(sorted(texts))] for start, texts in sorted(windows.items())]
    kafka.make((TOPIC,))
    producer = Producer({"bootstrap.servers": kafka.address})
    for number, (text, at) in enumerate(times.items()):
        producer.produce(TOPIC, value=text, timestamp=at, partition=number % 2)
    assert producer.flush(PATIENCE) == 0
    del producer
    closed = str(len(content) - 1)
    done = ran(str(PROGRAM), settings(kafka, tmp_path), closed, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["none"] == sorted([text, at] for text, at in times.items())
    assert found["later"] == [[text, at + LATER_MS] for text, at in found["none"]]
    assert found["again"] == found["later"]
    assert found["bounded"] == content
    # The last window would be closed by what nobody has sent.
    assert found["unbounded"] == content[:-1]
