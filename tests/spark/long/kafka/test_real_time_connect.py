"""Real-time mode by a client of Spark Connect, where Java code of ours is out of reach."""

from __future__ import annotations

import json
import time
from pathlib import Path

from examples.realtime.broker import Broker
from tests.spark.long.kafka.real_time_connect import RESULTS, ROWS
from tests.spark.long.kafka.real_time_operators import NUMBERS
from tests.spark.long.kafka.running import LONGEST_S, numbers, send, settings, started, values
from tests.spark.long.kafka.test_real_time_operators import windows
from tests.waiting import until

PROGRAM = Path(__file__).with_name("real_time_connect.py")


def test_an_operator_after_another(
    kafka: Broker, environment: dict[str, str], tmp_path: Path
) -> None:
    """Event time passes through the first, whose tasks the driver has counted."""
    wanted, log = windows(), tmp_path / "log"
    kafka.make((ROWS, RESULTS))
    send(kafka, ROWS, numbers(0, NUMBERS))
    with started(PROGRAM, settings(kafka, tmp_path), log, environment) as running:

        def have_come() -> bool:
            time.sleep(0.5)
            return running.poll() is not None or len(values(kafka, RESULTS)) >= len(wanted)

        until(have_come, "all windows", LONGEST_S)
        assert running.poll() is None, log.read_text()[-6000:]
    found = [json.loads(value) for value in values(kafka, RESULTS)]
    assert {(row["key"], row["a"]): row["b"] for row in found} == {
        window: len(ns) for window, ns in wanted.items()
    }
