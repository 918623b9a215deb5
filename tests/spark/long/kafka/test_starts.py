"""Where reading begins and ends, over a real broker: by times, offsets, groups and strategies."""

from __future__ import annotations

import json
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from examples.realtime.broker import Broker
from tests.processes import ran
from tests.spark.long.kafka.running import settings
from tests.waiting import PATIENCE, until

PROGRAM = Path(__file__).with_name("starts.py")
# An hour ago: Kafka deletes records whose timestamps are a week old.
BASE = (int(time.time()) - 3600) * 1000
FIRST = [f"a{n}" for n in range(6)]
SECOND = [f"b{n}" for n in range(3)]


def committed(group: Consumer, place: TopicPartition) -> bool:
    """Whether an offset is committed; a broker that has just started may not know groups yet."""
    try:
        group.commit(offsets=[place], asynchronous=False)
    except KafkaException:
        return False
    return True


def filled(kafka: Broker) -> None:
    """Six records, a second apart, of which two are deleted, beside three of the first second."""
    kafka.make(("starts", "empty"))
    servers = {"bootstrap.servers": kafka.address}
    producer = Producer(servers)
    for n, value in enumerate(FIRST):
        producer.produce("starts", value=value, timestamp=BASE + 1000 * n, partition=0)
    for value in SECOND:
        producer.produce("starts", value=value, timestamp=BASE, partition=1)
    assert producer.flush(PATIENCE) == 0
    del producer
    kept = TopicPartition("starts", 0, 2)
    admin = AdminClient(servers)
    for deleted in admin.delete_records([kept]).values():
        deleted.result(PATIENCE)
    group = Consumer(servers | {"group.id": "g"})
    until(lambda: committed(group, TopicPartition("starts", 0, 4)), seconds=PATIENCE)
    group.close()


def test_starts_and_ends(kafka: Broker, environment: dict[str, str], tmp_path: Path) -> None:
    filled(kafka)
    done = ran(str(PROGRAM), settings(kafka, tmp_path), str(BASE), env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    assert "partition 1 of the topic 'starts', and the reset strategy is NONE" in found.pop("none")
    assert found == {
        "earliest": FIRST[2:] + SECOND,
        "time": FIRST[4:],
        "all times": FIRST[2:] + SECOND,
        "future": [],
        "until a time": FIRST[2:4] + SECOND,
        "empty": [],
        "some offsets": FIRST[3:] + SECOND,
        "deleted": [],
        "committed": FIRST[4:] + SECOND,
        "pattern": SECOND[1:],
        "partitions": SECOND[1:],
        "until offsets": FIRST[2:4],
        "until before": SECOND,
        "unbounded": FIRST[5:] + SECOND,
    }
