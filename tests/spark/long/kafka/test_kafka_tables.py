"""Tables of topics, over a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from examples.realtime.broker import broker, connector_jars

PROGRAM = Path(__file__).with_name("tables.py")
LONGEST_S = 240


# As Flink's formats write and read them.
RECORDS = {
    "json": '{"k":"k,\\"0","n":0,"t":"2024-01-01 00:00:00.000000"}',
    "csv": '"k,""0",0,2024-01-01 00:00:00.000000',
}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_rows_go_to_topics_and_come_back(
    environment: dict[str, str], tmp_path: Path, form: str
) -> None:
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker", (f"numbers-{form}", f"copies-{form}")) as address:
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"broker": address, "jars": connector_jars()}))
        command = [sys.executable, str(PROGRAM), str(settings), form]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LONGEST_S
        )
    assert done.returncode == 0, done.stderr[-8000:]
    found, records = json.loads(done.stdout.splitlines()[-1])
    wanted = [[f'k,"{n % 3}', n, f"2024-01-01 00:00:{n:02}"] for n in range(0, 30, 2)]
    assert sorted(found, key=lambda row: row[1]) == wanted
    assert len(records) == 15
    assert records[0] == RECORDS[form]
