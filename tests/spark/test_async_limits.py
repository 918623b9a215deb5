"""async_map with limits across a job, and with a ledger."""

import hashlib
import json
import pickle
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation, SparkSession

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    SerializationError,
)
from flinkish.functions import AsyncBatchFunction, AsyncRetryStrategy
from flinkish.spark.calls.call_layers import limit_layers
from flinkish.spark.limits import permits
from flinkish.spark.limits.layer import LimitLayer
from tests.spark import limited_functions as calls
from tests.spark.limit_world import most_in
from tests.spark.support import raises

S = 1_000_000_000
TIMES = "n bigint, began bigint, ended bigint"
TEXTS = "n bigint, text string, at timestamp"


def numbers(spark: SparkSession, count: int, partitions: int) -> DataFrame:
    return spark.range(0, count, 1, partitions).withColumnRenamed("id", "n")


def test_a_rate_holds_for_all_partitions(spark: SparkSession) -> None:
    frame = fs.async_map(numbers(spark, 600, 4), calls.timed, TIMES, rate="300/s")
    rows = frame.collect()
    assert sorted(row.n for row in rows) == list(range(600))
    # How late a busy machine lets a call begin that has its permit is not the limit's doing.
    assert most_in(sorted(row.began for row in rows), S) <= 300 * 1.2


@pytest.mark.parametrize("fn", [calls.timed, calls.timed_in_thread])
def test_a_concurrency_holds_for_all_partitions(
    spark: SparkSession, fn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of workers that do not stand still for longer than a lease (P3)."""
    monkeypatch.setattr(permits, "LEASE_NS", 600 * S)
    frame = fs.async_map(numbers(spark, 200, 4), fn, TIMES, concurrency=7)
    rows = frame.collect()
    assert sorted(row.n for row in rows) == list(range(200))
    events = sorted([(row.began, 1) for row in rows] + [(row.ended, -1) for row in rows])
    under_way = most = 0
    for _, by in events:
        under_way += by
        most = max(most, under_way)
    assert 1 < most <= 7


def test_limits_of_each_worker_and_of_the_job_together(spark: SparkSession) -> None:
    frame = fs.async_map(
        numbers(spark, 100, 2),
        calls.timed,
        TIMES,
        rate=fs.Rate("500/s"),
        concurrency=fs.Concurrency(3, scope="worker"),
    )
    assert len(frame.collect()) == 100


def noted(folder: Path) -> list[int]:
    return sorted(int(path.name.split("-")[0]) for path in folder.iterdir())


def run(frame: DataFrame, fn: Any, tmp_path: Path, **options: Any) -> "tuple[Any, dict[str, int]]":
    counts = Observation()
    ledger = tmp_path / "ledger"
    out = fs.async_map(frame, fn, TEXTS, ledger=ledger, observation=counts, name="texts", **options)
    return sorted(tuple(row) for row in out.collect()), counts.get


def test_a_job_that_is_started_again_calls_for_the_rest(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "calls"
    folder.mkdir()
    fn = calls.Noting(str(folder))
    some, counts = run(numbers(spark, 60, 3), fn, tmp_path)
    assert (counts["rows"], counts["saved"]) == (60, 0)
    every, counts = run(numbers(spark, 100, 2), fn, tmp_path)
    assert every == sorted((n, f"text {n}", None) for n in range(100) for _ in range(n % 3))
    assert [row for row in every if row[0] < 60] == some
    assert (counts["rows"], counts["saved"]) == (100, 60)
    assert noted(folder) == list(range(100)), "a call for each row"
    _, counts = run(numbers(spark, 10, 1), fn, tmp_path, ledger_settings={"model": "other"})
    assert counts["saved"] == 0


def test_only_what_failed_is_called_for_again(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    folder.mkdir()
    for broken in (True, False):
        fn = calls.Noting(str(folder), broken)
        rows, counts = run(
            numbers(spark, 30, 2), fn, tmp_path, on_error="drop", ledger_version="notes"
        )
        assert counts["failed"] == (15 if broken else 0)
    assert counts["saved"] == 15
    assert len(rows) == 30
    assert noted(folder) == sorted([*range(30), *range(1, 30, 2)])


def test_a_result_to_be_tried_again_is_no_result(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    folder.mkdir()
    fn = calls.Noting(str(folder))
    retry = AsyncRetryStrategy.fixed_delay(1, 1, result_predicate=_is_empty)
    for _ in range(2):
        _, counts = run(numbers(spark, 9, 1), fn, tmp_path, retry=retry, timeout="1 minute")
        assert counts["retried"] == 3
    assert counts["saved"] == 6


def _is_empty(results: "list[Any]") -> bool:
    return not results


def test_a_result_that_a_new_strategy_would_try_again_is_called_for_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "calls"
    folder.mkdir()
    fn = calls.Noting(str(folder))
    run(numbers(spark, 9, 1), fn, tmp_path)
    retry = AsyncRetryStrategy.fixed_delay(1, 1, result_predicate=_is_empty)
    _, counts = run(numbers(spark, 9, 1), fn, tmp_path, retry=retry, timeout="1 minute")
    assert (counts["saved"], counts["retried"]) == (6, 3)
    assert noted(folder) == sorted([*range(9), *(0, 0, 3, 3, 6, 6)])


def test_another_model_gives_its_own_answers(spark: SparkSession, tmp_path: Path) -> None:
    def closed(model: str) -> Any:
        return lambda row: [(row.n, model, None)]

    ways = [
        lambda model: partial(calls.ask, model=model),
        lambda model: partial(partial(calls.ask, model=model)),
        calls.Asking,
        lambda model: calls.Asking(model).async_invoke,
        closed,
    ]
    frame = numbers(spark, 4, 1)
    for number, way in enumerate(ways):
        for model, saved in (("small", 0), ("large", 0), ("small", 4), ("large", 4)):
            rows, counts = run(frame, way(model), tmp_path / str(number))
            assert rows == [(n, model, None) for n in range(4)]
            assert counts["saved"] == saved


def test_job_parameters_are_known_to_functions_and_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = numbers(spark, 4, 1)
    for model in ("small", "large"):
        rows, counts = run(frame, calls.Told(), tmp_path, job_parameters={"model": model})
        assert rows == [(n, model, None) for n in range(4)]
        assert counts["saved"] == 0
    _, counts = run(frame, calls.Told(), tmp_path, job_parameters={"model": "small"})
    assert counts["saved"] == 4


def test_a_version_says_which_function_it_is(spark: SparkSession, tmp_path: Path) -> None:
    frame = numbers(spark, 4, 1)
    for model, version, answered in (
        ("small", "1", "small"),
        ("large", "1", "small"),
        ("large", "2", "large"),
    ):
        fn = partial(calls.ask, model=model)
        rows, _ = run(frame, fn, tmp_path, ledger_version=version)
        assert rows == [(n, answered, None) for n in range(4)]


def test_results_of_earlier_releases_are_given_to_those_that_name_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """They are in directories named by the hash of a source text."""
    text = hashlib.blake2b(b"the source of ask", digest_size=16).hexdigest()
    frame = numbers(spark, 4, 1)
    about = [
        *("texts", text, [["input", "struct<n:bigint>"], ["settings", {}]]),
        "n: int64\ntext: string\nat: timestamp[us, tz=UTC]",
    ]
    name = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()
    run(frame, partial(calls.ask, model="old"), tmp_path, ledger_version=text)
    assert [path.name for path in (tmp_path / "ledger").iterdir()] == [name]
    rows, counts = run(frame, partial(calls.ask, model="new"), tmp_path)
    assert (rows[0][1], counts["saved"]) == ("new", 0)
    rows, counts = run(frame, partial(calls.ask, model="new"), tmp_path, ledger_version=text)
    assert (rows[0][1], counts["saved"]) == ("old", 4)


def test_values_that_are_converted_come_back_as_they_were(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = Types.ROW_NAMED(["n", "value"], [Types.LONG(), Types.PICKLED_BYTE_ARRAY()])
    found = [
        sorted(
            (row.n, pickle.loads(row.value))
            for row in fs.async_map(
                numbers(spark, 4, 1), calls.sets, schema, ledger=tmp_path / "ledger"
            ).collect()
        )
        for _ in range(2)
    ]
    assert found[0] == found[1] == [(n, {n, "x"}) for n in range(4)]


@pytest.mark.parametrize("version", ["", 1])
def test_a_version_is_a_text(spark: SparkSession, tmp_path: Path, version: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="ledger_version must be a text"):
        run(numbers(spark, 4, 1), calls.timed, tmp_path, ledger_version=version)


def test_a_function_that_cannot_be_compared_is_refused_where_it_is_defined(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(SerializationError, match=r"global _lock\), of type lock.*ledger_version="):
        run(numbers(spark, 4, 1), calls.locked, tmp_path)
    rows, _ = run(numbers(spark, 4, 1), calls.locked, tmp_path, ledger_version="1")
    assert len(rows) == 4


def test_a_ledger_that_cannot_be_written_fails_the_job(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("")
    (tmp_path / "calls").mkdir()
    with raises(PythonException, match="go without ledger="):
        run(numbers(spark, 9, 1), calls.Noting(str(tmp_path / "calls")), tmp_path)


class Many(AsyncBatchFunction):
    async def async_invoke_batch(self, values: "list[Any]") -> "list[Any]":
        return [[] for _ in values]


def test_what_cannot_be_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = numbers(spark, 1, 1)
    with pytest.raises(ArgumentTypeError, match="such as '500/s', not 500"):
        fs.async_map(frame, calls.timed, TIMES, rate=500)  # type: ignore[call-overload]
    with pytest.raises(IllegalArgumentError, match="concurrency must be at least 1, not 0"):
        fs.async_map(frame, calls.timed, TIMES, concurrency=0)
    with pytest.raises(IllegalArgumentError, match="ledger are for calls of single rows"):
        fs.async_map(frame, Many(), TIMES, batch_size=2, ledger=tmp_path)


def connected(**conf: str) -> Any:
    """A DataFrame of a client whose process workers do not reach."""
    return SimpleNamespace(sparkSession=SimpleNamespace(conf=conf))


def test_where_workers_reach_nobody_limits_are_divided() -> None:
    frame = connected(**{"spark.default.parallelism": "4"})
    layers: Any = limit_layers(frame, "100/s", fs.Concurrency(9, scope="worker"))
    (layer,) = layers
    assert isinstance(layer, LimitLayer)
    limits = layer._limits
    assert limits.address is None
    assert limits.rate is not None
    assert limits.rate.per_second == 25
    assert limits.concurrency == fs.Concurrency(9, scope="worker")
    with pytest.raises(IllegalArgumentError, match=r"parallelism is not set: set it to"):
        limit_layers(connected(), "100/s", None)
    assert len(limit_layers(connected(), fs.Rate("100/s", scope="worker"), None)) == 1
    assert limit_layers(connected(), None, None) == ()
