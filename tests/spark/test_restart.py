"""A query that starts again from its checkpoint goes on as if it had never stopped."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.spark import ProcessedStream
from tests.spark.functions import EveryState
from tests.spark.support import GROUPS, Outcome, Source, by_key, run, settings, timed
from tests.spark.traffic import SCHEMA, expected, feed, random_batches

OUT = "key string, a string, b string, c string, d string"
COMPACT_ALWAYS = {"compact_bytes": 1, "compact_factor": 0.1, "compact_pieces": 2}


def define(source: Source, tables: Path, **others: Any) -> ProcessedStream:
    keyed = timed(source.stream()).key_by("key")
    state = settings(tables, **others)
    return keyed.process(EveryState(), schema=OUT, max_parallelism=GROUPS, state=state)


def compare(outcome: Outcome, given: list[list[Any]], first: int) -> None:
    assert sorted(outcome.batches) == list(range(first, len(given)))
    for batch, outputs in outcome.batches.items():
        wanted = by_key(value for _, value, _ in given[batch])
        assert by_key(outputs[""]) == wanted, f"batch {batch}"


def published(tables: Path) -> dict[str, list[str]]:
    """Key groups to the table directories that lie there."""
    groups = tables.glob("*/*/*/*")
    return {group.name: [path.name for path in group.iterdir()] for group in groups}


@pytest.mark.parametrize("tables_are", ["kept", "lost"])
def test_restart(spark: SparkSession, tmp_path: Path, tables_are: str) -> None:
    compact = COMPACT_ALWAYS if tables_are == "lost" else {}
    tables, checkpoint = tmp_path / "tables", tmp_path / "checkpoint"
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(21, batches=4, rows=60, keys=15)
    # The first run ends with a batch of its own, in which only the watermark moves.
    _, given = expected(EveryState(), [*batches[:2], [], *batches[2:]])

    feed(source, batches[:2])
    first = run(define(source, tables, **compact), checkpoint)
    compare(first, given[:3], 0)
    assert first.statistics["table_misses"] == 0
    assert (first.statistics["compactions"] > 0) == (tables_are == "lost")
    filled = published(tables)
    assert len(filled) == GROUPS
    assert all(len(names) == 1 and not names[0].startswith(".") for names in filled.values())

    if tables_are == "lost":
        shutil.rmtree(tables)
    else:
        shutil.copytree(checkpoint, tmp_path / "copy")
    feed(source, batches[2:])
    second = run(define(source, tables, **compact), checkpoint)
    compare(second, given, 3)
    assert second.statistics["table_misses"] == (GROUPS if tables_are == "lost" else 0)
    filled = published(tables)
    assert len(filled) == GROUPS
    assert all(len(names) == 1 and not names[0].startswith(".") for names in filled.values())

    if tables_are == "kept":
        # A copy of the older checkpoint finds tables of a future that is not its own.
        again = run(define(source, tables), tmp_path / "copy")
        compare(again, given, 3)
        assert again.statistics["table_misses"] == GROUPS
