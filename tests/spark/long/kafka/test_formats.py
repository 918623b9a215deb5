"""Formats of records over a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from examples.realtime.broker import broker, connector_jars
from tests.spark.long.avro.test_avro import avro_jar

PROGRAM = Path(__file__).with_name("formats.py")
LONGEST_S = 300


def test_each_format_comes_back(environment: dict[str, str], tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker", ("avro", "odd", "even", "fields", "one")) as address:
        given = f"{connector_jars()},{avro_jar()}"
        settings.write_text(json.dumps({"broker": address, "jars": given}))
        done = subprocess.run(
            [sys.executable, str(PROGRAM), str(settings)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "done" in done.stdout
