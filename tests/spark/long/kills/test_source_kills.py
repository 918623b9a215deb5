"""Kills of the driver neither lose nor double what a source function gives."""

import json
import random
from pathlib import Path

from tests.spark.long.kills.killing import kill_now_and_then


def test_killed_drivers(tmp_path: Path) -> None:
    chance, count, kills = random.Random(5), 10_000, 2
    program = ["tests.spark.long.kills.kill_source", str(tmp_path), str(count)]
    deaths = kill_now_and_then(program, tmp_path, chance, kills, 1.0)
    batches = [json.loads(file.read_text()) for file in sorted((tmp_path / "out").glob("*.json"))]
    assert [number for batch in batches for number in batch] == list(range(count))
    assert deaths == kills
