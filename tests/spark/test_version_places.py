"""Version files on Spark: in a store without rename, and for as long as Spark can go back."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common.errors import IllegalStateError
from tests.spark.functions import Silence
from tests.spark.support import GROUPS, Source, by_key, run, timed
from tests.spark.test_versioned import kept, silence
from tests.spark.traffic import OUT, SCHEMA, expected, feed, random_batches


def test_a_store_without_rename(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    from tests.spark.flat_store import FailsOnce

    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(61, batches=4, rows=40, keys=14)
    feed(source, batches)
    state = kept(tmp_path, "versioned", checkpoint=f"flat://{tmp_path}/checkpoint")
    keyed = timed(source.stream(), 1000).key_by("key")
    function = FailsOnce(str(tmp_path / "failed"))
    stream = keyed.process(function, schema=OUT, max_parallelism=GROUPS, state=state)
    found = run(stream, tmp_path / "checkpoint").rows()
    assert (tmp_path / "failed").exists()
    _, given = expected(Silence(), batches, 1000)
    wanted = (value for outputs in given for name, value, _ in outputs if name == "")
    assert by_key(found) == by_key(wanted)
    written = list((tmp_path / "checkpoint" / "flinkish").rglob("*.*"))
    assert len(written) == 2 * len(batches), "a file for each partition and batch, and no other"


def test_names_that_a_uri_would_encode(spark: SparkSession, tmp_path: Path) -> None:
    """The state lies where Spark has its offsets, whatever the folder is called."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(61, batches=2, rows=10, keys=6)
    feed(source, batches[:1])
    names = ["a b", "a%20b", "ü ß", "a#b", "a?b=c", "a%", "a+b&{c}"]
    uris = ["file:", "file://", "", "", "", "file:", ""]
    places = {
        f"{uri}{tmp_path}/{name}": tmp_path / name for uri, name in zip(uris, names, strict=True)
    }
    found: dict[str, list[Any]] = {}
    for _ in range(2):
        for location in places:
            outcome = run(silence(source.stream(), kept(tmp_path, "versioned")), location)
            found.setdefault(location, []).append(by_key(outcome.rows()))
        feed(source, batches[1:])
    first, *others = found.values()
    assert others == [first] * (len(names) - 1)
    for place in places.values():
        assert sorted(path.name for path in (place / "flinkish" / "Silence-1").iterdir()) == [
            "0000000001",
            "0000000002",
        ]
    assert {path.name for path in tmp_path.iterdir()} == {*names, "in", "tables-versioned"}


def test_a_query_goes_back(spark: SparkSession, tmp_path: Path) -> None:
    """As many batches as Spark keeps are there, and of those before only what is still needed."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(67, batches=20, rows=10, keys=10))
    checkpoint = tmp_path / "checkpoint"
    state = kept(tmp_path, "versioned", compact_bytes=1, compact_factor=0.1, compact_pieces=2)
    name = "spark.sql.streaming.minBatchesToRetain"
    spark.conf.set(name, "3")
    try:
        first = run(silence(source.stream(), state), checkpoint)
        versions = {int(one.name) for one in (checkpoint / "flinkish" / "Silence-1").iterdir()}
        # Batch 16 removed what nobody can ask for any more: what is not in version 13.
        assert versions >= set(range(13, 21))
        assert len(versions & set(range(1, 10))) < 5
        for log, batch in (("commits", 18), ("commits", 19), ("offsets", 19)):
            (checkpoint / log / str(batch)).unlink()
            (checkpoint / log / f".{batch}.crc").unlink(missing_ok=True)
        again = run(silence(source.stream(), state), checkpoint)
    finally:
        spark.conf.unset(name)
    assert sorted(again.batches) == [18, 19]
    for batch in (18, 19):
        assert by_key(again.batches[batch][""]) == by_key(first.batches[batch][""])


def test_speculation_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    monkeypatch.setattr("flinkish.spark.session.speculates", lambda _: True)
    with pytest.raises(IllegalStateError, match=r"spark\.speculation is true.*backend='store'"):
        silence(source.stream(), kept(tmp_path, "versioned"))
    silence(source.stream(), kept(tmp_path, "store"))
