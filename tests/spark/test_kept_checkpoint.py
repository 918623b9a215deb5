"""A checkpoint of an older version goes on: same keys, state and timers."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.kept_checkpoint import IDS, QUERIES, SCHEMA, Filtered, rows, unpack
from tests.spark.support import Outcome, Source, by_key, raises, run

WIDE = SCHEMA.replace("id int", "id bigint")
NEW = 2**40  # a key that no int holds


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    root = tmp_path / "kept"
    unpack(root)
    return root


def go_on(spark: SparkSession, kept: Path, name: str, wide: bool) -> Outcome:
    """The query with another row for each key, long after all timers, then one of a new key."""
    source = Source(spark, kept.parent / "in", WIDE if wide else SCHEMA)
    source.add(rows(3, 30))
    source.add(rows(4, 31, (NEW if wide else 77,)))
    stream = QUERIES[name](source, kept.parent / "tables", "int" if wide else None)
    return run(stream, kept / name)


@pytest.mark.parametrize("wide", [False, True])
def test_state_and_timers_of_a_function(spark: SparkSession, kept: Path, wide: bool) -> None:
    outcome = go_on(spark, kept, "process", wide)
    found = by_key(outcome.rows())
    tags = [("t1", 1_000), ("t2", 2_000), ("t3", 30_000)]
    new = NEW if wide else 77
    wanted: dict[int, list[tuple[Any, ...]]] = {
        one: [
            (one, 3, repr(tags), "[1, 2, 3]"),
            *((one, 3, repr(tags), f"timer {at}") for at in (11_000, 12_000)),
        ]
        for one in IDS
    }
    wanted[new] = [(new, 1, repr([("t4", 31_000)]), "[4]")]
    assert found == wanted
    assert outcome.statistics["timers_fired"] == 2 * len(IDS)

    # From now on the checkpoint knows how its keys hash.
    source = Filtered(spark, kept.parent / "in", WIDE)
    source.batches += [[], []]
    source.add(rows(5, 32, (-7, new)))
    with raises(StreamingQueryException, match=r"IncompatibleStateError.*keys"):
        run(QUERIES["process"](source, None, None), kept / "process")
    again = Source(spark, kept.parent / "in", WIDE)
    last = run(QUERIES["process"](again, kept.parent / "tables", "int"), kept / "process")
    assert {row[:2] for row in last.rows()} == {(-7, 4), (new, 2)}


@pytest.mark.parametrize("wide", [False, True])
def test_windows_by_columns(spark: SparkSession, kept: Path, wide: bool) -> None:
    found = go_on(spark, kept, "windows", wide).rows()
    assert sorted((row[0], *row[3:]) for row in found) == [(one, 2, 3) for one in sorted(IDS)]


@pytest.mark.parametrize("wide", [False, True])
def test_windows_row_by_row(spark: SparkSession, kept: Path, wide: bool) -> None:
    found = go_on(spark, kept, "reduced", wide).rows()
    assert sorted(row[:2] for row in found) == [(one, 3) for one in sorted(IDS)]
