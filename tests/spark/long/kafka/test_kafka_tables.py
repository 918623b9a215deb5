"""Tables of topics, over a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.realtime.broker import Broker
from tests.processes import ran
from tests.spark.long.kafka.running import settings

PROGRAM = Path(__file__).with_name("tables.py")

# As Flink's formats write and read them.
RECORDS = {
    "json": '{"k":"k,\\"0","n":0,"t":"2024-01-01 00:00:00.000000"}',
    "csv": '"k,""0",0,2024-01-01 00:00:00.000000',
}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_rows_go_to_topics_and_come_back(
    kafka: Broker, environment: dict[str, str], tmp_path: Path, form: str
) -> None:
    kafka.make((f"numbers-{form}", f"copies-{form}"))
    done = ran(str(PROGRAM), settings(kafka, tmp_path), form, env=environment)
    found, records = json.loads(done.stdout.splitlines()[-1])
    wanted = [[f'k,"{n % 3}', n, f"2024-01-01 00:00:{n:02}"] for n in range(0, 30, 2)]
    assert sorted(found, key=lambda row: row[1]) == wanted
    assert len(records) == 15
    assert records[0] == RECORDS[form]
