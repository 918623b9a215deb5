"""A checkpoint of an older version goes on: same keys, state and timers."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.kept_checkpoint import IDS, QUERIES, SCHEMA, rows, unpack
from tests.spark.support import Outcome, Source, by_key, run


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kept")
    unpack(root)
    return root


def go_on(spark: SparkSession, kept: Path, tmp_path: Path, name: str) -> Outcome:
    """The query with another row for each key, long after all timers, then one of a new key."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    source.add(rows(3, 30))
    source.add(rows(4, 31, (77,)))
    return run(QUERIES[name](source, tmp_path / "tables"), kept / name)


def test_state_and_timers_of_a_function(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    outcome = go_on(spark, kept, tmp_path, "process")
    found = by_key(outcome.rows())
    tags = [("t1", 1_000), ("t2", 2_000), ("t3", 30_000)]
    wanted: dict[int, list[tuple[Any, ...]]] = {
        one: [
            (one, 3, repr(tags), "[1, 2, 3]"),
            *((one, 3, repr(tags), f"timer {at}") for at in (11_000, 12_000)),
        ]
        for one in IDS
    }
    wanted[77] = [(77, 1, repr([("t4", 31_000)]), "[4]")]
    assert found == wanted
    assert outcome.statistics["timers_fired"] == 2 * len(IDS)


def test_windows_by_columns(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    found = go_on(spark, kept, tmp_path, "windows").rows()
    assert sorted((row[0], *row[3:]) for row in found) == [(one, 2, 3) for one in sorted(IDS)]


def test_windows_row_by_row(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    found = go_on(spark, kept, tmp_path, "reduced").rows()
    assert sorted(row[:2] for row in found) == [(one, 3) for one in sorted(IDS)]
