"""Formats of records over a real broker."""

from __future__ import annotations

from pathlib import Path

from examples.realtime.broker import Broker, connector_jars
from tests.processes import ran
from tests.spark.long.avro.test_avro import avro_jar
from tests.spark.long.kafka.running import settings

PROGRAM = Path(__file__).with_name("formats.py")


def test_each_format_comes_back(kafka: Broker, environment: dict[str, str], tmp_path: Path) -> None:
    kafka.make(("avro", "odd", "even", "fields", "one"))
    known = settings(kafka, tmp_path, jars=f"{connector_jars()},{avro_jar()}")
    assert "done" in ran(str(PROGRAM), known, env=environment).stdout
