"""Spark Connect and a cluster give what a local session gives."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from flinkish.common import Row
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from tests.models.keyed_process import KeyedProcessModel
from tests.processes import ran
from tests.spark.conftest import worker_environment
from tests.spark.functions import Silence
from tests.spark.support import Outcome, Source, tuples
from tests.spark.traffic import SCHEMA, check, expected, feed, random_batches


@pytest.mark.parametrize("place", ["connect", "local-cluster[2,1,1024]"])
def test_places(tmp_path: Path, place: str) -> None:
    source = Source(None, tmp_path / "in", SCHEMA)  # type: ignore[arg-type]
    batches = random_batches(81, batches=2, rows=60, keys=15)
    feed(source, batches)
    env = os.environ | worker_environment()
    ran("-W", "ignore", "-m", "tests.spark.long.clusters.places", place, str(tmp_path), env=env)
    out = tmp_path / "out"
    found = Outcome(batches={int(file.stem): tuples(file) for file in out.glob("*.json")})
    model, given = expected(Silence(), batches, 1000)
    check(found, given, "late")
    counted = json.loads((tmp_path / "statistics.json").read_text())
    for name in ("rows", "late_rows", "timers_registered", "timers_deleted", "timers_fired"):
        assert counted[name] == model.counts[name], name

    batch = json.loads((tmp_path / "batch.json").read_text())
    rows = sorted((row for rows in batches for row in rows), key=lambda row: row["at"])
    wanted = KeyedProcessModel(Silence(), lambda row: row.key)
    elements = [(Row(key=row["key"], n=row["n"]), row["at"]) for row in rows]
    given_all = wanted.batch(elements, MIN_TIMESTAMP) + wanted.batch([], MAX_TIMESTAMP)
    assert Counter(map(tuple, batch["rows"])) == Counter(
        value for tag, value, _ in given_all if tag == ""
    )
    assert batch["statistics"]["rows"] == len(rows)

    tasks = json.loads((tmp_path / "tasks.json").read_text())
    good = [n for n in range(40) if n not in (3, 5, 7, 9)]
    assert sorted(tasks["called"]) == [[n, n * n] for n in good]
    assert (tasks["counted"]["rows"], tasks["counted"]["dropped"]) == (40, 4)
    called, *divided = tasks["failures"]
    assert "raised in picky for Row(n=3)" in called
    assert len(divided) == 2
    for said in divided:
        assert "explained_functions.py" in said.splitlines()[0]
        assert "\nZeroDivisionError: " in said
        assert said.splitlines()[-1].startswith("raised in operator 'shares' (Divides)")
    assert (tasks["even"], tasks["odd"]) == (20, 20)
