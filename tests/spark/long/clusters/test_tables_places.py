"""Tables of programs give on Spark Connect what they give in a local session."""

import json
import os
from pathlib import Path

from tests.processes import ran
from tests.spark.conftest import worker_environment


def test_tables_on_connect(tmp_path: Path) -> None:
    """Without Spark's plan a table that changes becomes a stream in streaming mode, too."""
    env = os.environ | worker_environment()
    ran("-W", "ignore", "-m", "tests.spark.long.clusters.tables_connect", str(tmp_path), env=env)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found.pop("views") == []
    assert set(found) == {"STREAMING", "BATCH"}
    for joined, sums, said in found.values():
        assert joined == [["a", 1], ["a", 1], ["a", 3], ["a", 3], ["b", 2]]
        assert sums == [2, 4]
        assert "`nope` cannot be resolved" in said
