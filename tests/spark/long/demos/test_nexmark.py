"""The auction's events, and the demonstration that answers Nexmark's queries over them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark import demos

pytestmark = pytest.mark.spark

NUMBERS = np.arange(200_000)


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with demos.parts("nexmark", monkeypatch) as modules:
        yield modules


@pytest.fixture
def generator(part: Any) -> Any:
    return part("generator")


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(generator: Any) -> None:
    kinds = [
        generator.Nexmark.persons_among(NUMBERS),
        generator.Nexmark.auctions_among(NUMBERS),
        generator.Nexmark.bids_among(NUMBERS),
    ]
    assert [len(kind) * 50 / len(NUMBERS) for kind in kinds] == [1, 3, 46]
    assert sorted(np.concatenate(kinds)) == list(NUMBERS)


def test_an_event_depends_on_its_number_alone(generator: Any) -> None:
    nexmark = generator.Nexmark(seed=7)
    for kind in ("person", "auction", "bid"):
        numbers = getattr(nexmark, f"{kind}s_among")(NUMBERS)
        make = getattr(nexmark, f"{kind}s")
        whole, some = make(numbers), np.array([0, 3, 100, len(numbers) - 1])
        assert make(numbers[some]).equals(whole.take(some))
        assert not make(numbers).equals(getattr(generator.Nexmark(seed=8), f"{kind}s")(numbers))


def test_ids_follow_one_another(generator: Any) -> None:
    nexmark = generator.Nexmark()
    persons = nexmark.persons(nexmark.persons_among(NUMBERS))["id"].to_numpy()
    auctions = nexmark.auctions(nexmark.auctions_among(NUMBERS))["id"].to_numpy()
    assert list(persons) == list(range(1_000, 1_000 + len(persons)))
    assert list(auctions) == list(range(1_000, 1_000 + len(auctions)))


def test_half_of_the_bids_go_to_hot_auctions(generator: Any) -> None:
    nexmark = generator.Nexmark()
    bids = nexmark.bids(nexmark.bids_among(NUMBERS))
    hot = (bids["auction"].to_numpy() - 1_000) % 100 == 0
    assert 0.48 < hot.mean() < 0.53
    assert 0.74 < ((bids["bidder"].to_numpy() - 1_000) % 100 == 0).mean() < 0.78


@pytest.mark.parametrize("disorder", [1, 2, 50, 97, 1_000])
def test_no_event_is_later_than_promised(generator: Any, disorder: int) -> None:
    nexmark = generator.Nexmark(rate=10_000, disorder=disorder)
    numbers = NUMBERS[: len(NUMBERS) // disorder * disorder]  # whole groups
    times = nexmark.times_ms(numbers)
    late = np.maximum.accumulate(times) - times
    assert late.max() <= nexmark.lateness_ms
    assert (disorder > 1) == (late.max() > 0 or disorder == 2)
    assert np.array_equal(np.sort(times), nexmark.start_ms + numbers * 1_000 // 10_000)


def test_a_stream_without_pace_is_refused(generator: Any) -> None:
    with pytest.raises(ValueError, match="rate and disorder"):
        generator.Nexmark(rate=0)


def test_frames_and_streams_have_the_same_events(
    spark: SparkSession, tmp_path: Path, part: Any, generator: Any
) -> None:
    frames, nexmark = part("frames"), generator.Nexmark(seed=3)
    for kind in ("person", "auction", "bid"):
        want = nexmark.of_kind(kind, np.arange(2_000))
        assert frames.batch(spark, nexmark, kind, 2_000, partitions=3).toArrow() == pa.table(want)
    writer = (
        frames.stream(spark, nexmark, "bid", per_batch=1_000)
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("path", str(tmp_path / "out"))
        .trigger(availableNow=True)
    )
    for batch in range(2):
        query = writer.start()
        query.awaitTermination()
        assert query.lastProgress["batchId"] == batch
    streamed = spark.read.parquet(str(tmp_path / "out")).collect()
    wanted = frames.batch(spark, nexmark, "bid", 2_000, partitions=1).collect()
    assert sorted(streamed) == sorted(wanted)


def test_queries_give_what_spark_sql_gives_and_so_does_one_that_was_killed(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    done = demos.run(
        "nexmark",
        environment,
        *("--events=40000", "--per-batch=20000", "--rate=1000", "--out", str(tmp_path / "out")),
        *("--queries=q5 q11 q16 q22", "--kill=q8"),
    )
    assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "out/log").read_text()
    assert done.stdout.count("equal") >= 9
    assert "All equal." in done.stdout


def test_an_unknown_query_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    done = demos.run("nexmark", environment, "--queries=q3", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "there is no query q3; there are q0 q1" in done.stderr
