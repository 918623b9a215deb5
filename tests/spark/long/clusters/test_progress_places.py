"""Live figures of async_map where the workers are somewhere else."""

import json
import os
from pathlib import Path

from tests.processes import ran
from tests.spark.conftest import worker_environment


def test_connect(tmp_path: Path) -> None:
    env = os.environ | worker_environment()
    ran("-W", "ignore", "-m", "tests.spark.long.clusters.progress_connect", str(tmp_path), env=env)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["session"].startswith("pyspark.sql.connect.")
    assert "a Spark Connect server may not reach a temporary directory" in found["refused"]
    before, after = found["before"], found["after"]
    assert (before["results"], before["failed"], before["in_flight"]) == (4, 1, 15)
    assert (after["rows"], after["results"], after["failed"]) == (20, 19, 1)
    assert (after["in_flight"], after["metrics.cents"]) == (0, 40)
