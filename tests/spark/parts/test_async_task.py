"""Asynchronous calls in a task, without Spark."""

import asyncio
import threading
from datetime import timezone
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common import OutputTag
from flinkish.common.errors import AsyncTimeoutError, SchemaMismatchError
from flinkish.functions import AsyncRetryStrategy
from flinkish.spark.calls.answers import ERROR, ERROR_TYPE, keep_failure
from flinkish.spark.calls.operator import AnswerBatchOperator, AnswerOperator
from flinkish.spark.calls.plan import AsyncPlan
from flinkish.spark.tasks.plan import SideOutput
from flinkish.spark.tasks.run import SparkTask, Subtask
from flinkish.testing import TestProcessingTimeService
from tests.spark import async_functions as calls
from tests.spark.parts.fake_batches import Feed, numbers
from tests.spark.task_operators import NUMBERS

PAIRS = pa.schema([("n", pa.int64()), ("m", pa.int64())])
FAILED = OutputTag("failed")


class Outcome:
    """What a task gave: rows of its outputs, and what it counted."""

    def __init__(
        self, fn: Any, feed: Feed, on_error: Any = "fail", clock: Any = None, **settings: Any
    ) -> None:
        kind: Any = AnswerOperator
        if "batch_size" in settings:
            kind = AnswerBatchOperator
            settings = {"timeout": None, "batch_timeout": None} | settings
        else:
            settings = {"timeout": None, "mode": "unordered"} | settings
        keep = None if on_error == "fail" else keep_failure
        error = pa.field(ERROR, ERROR_TYPE)
        sides = []
        if isinstance(on_error, OutputTag):
            sides = [SideOutput(on_error, pa.schema([*NUMBERS, error]))]
        plan = AsyncPlan(
            name="calls",
            make_operator=lambda: kind(fn, on_failure=keep, **settings),
            output=PAIRS.append(error) if on_error == "column" else PAIRS,
            output_type=None,
            sides=tuple(sides),
            time_zone=timezone.utc,
            on_error=on_error,
            kept=("n",),
        )
        self.rows: list[Any] = []
        self.failed: list[Any] = []
        self.counts: dict[str, Any] = {}
        task = SparkTask(plan, feed, Subtask(partition=2), processing_time_service=clock)
        self.batches = task.run()
        self.feed = feed

    def step(self) -> int:
        """Take a batch; how many rows it had."""
        batch = next(self.batches)
        for row in batch.to_pylist():
            main, *sides, counts = row.values()
            if main is not None:
                self.rows.append(tuple(main.values()))
            if counts is not None:
                assert not self.counts, "counted once"
                self.counts = counts
            self.failed += [tuple(side.values()) for side in sides if side is not None]
        return batch.num_rows

    def finish(self) -> "Outcome":
        try:
            while True:
                self.step()
        except StopIteration:
            return self


def outcome(fn: Any, count: int, on_error: Any = "fail", **settings: Any) -> Outcome:
    return Outcome(fn, Feed(numbers(*range(count)), end=True), on_error, **settings).finish()


@pytest.mark.parametrize("fn", [calls.square, calls.square_in_thread])
@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_every_row_has_its_result(fn: Any, mode: str) -> None:
    found = outcome(fn, 1_500, mode=mode)
    expected = [(n, n * n) for n in range(1_500)]
    assert (found.rows if mode == "ordered" else sorted(found.rows)) == expected
    assert found.counts == {
        "rows": 1_500,
        "results": 1_500,
        "failed": 0,
        "dropped": 0,
        "timed_out": 0,
        "retried": 0,
        "saved": 0,
        "metrics": None,
    }


def test_rows_may_have_any_number_of_results() -> None:
    found = outcome(calls.three_times, 300, mode="ordered")
    assert found.rows == [(n, n) for n in range(300) for _ in range(n % 3)]
    assert found.counts["rows"] == 300
    assert found.counts["results"] == 300


def test_no_rows_at_all() -> None:
    found = outcome(calls.square, 0)
    assert found.rows == []
    assert found.counts["rows"] == 0


def test_results_leave_while_the_input_idles() -> None:
    found = Outcome(calls.square, Feed(numbers(*range(10))))
    while len(found.rows) < 10:
        found.step()
    found.feed.put(None)
    assert len(found.finish().rows) == 10


def test_results_leave_while_the_last_calls_wait() -> None:
    """Behind the end of the input all goes on as before it."""
    released = threading.Event()

    async def first_waits(row: Any) -> list[Any]:
        while row.n == 0 and not released.is_set():
            await asyncio.sleep(0.001)
        return [(row.n, 0)]

    found = Outcome(first_waits, Feed(numbers(*range(60)), end=True))
    found.step()
    assert found.rows
    assert (0, 0) not in found.rows
    released.set()
    assert len(found.finish().rows) == 60


# --- errors


def test_an_error_fails_the_task() -> None:
    with pytest.raises(ValueError, match="three is too much") as caught:
        outcome(calls.picky, 5)
    notes = "\n".join(caught.value.__notes__)
    assert "raised in picky for Row(n=3)" in notes
    assert "in task 'calls', partition 2, attempt 0" in notes


def test_a_misfit_fails_the_task_and_is_shown_with_its_row() -> None:
    with pytest.raises(SchemaMismatchError, match=r"'calls' was declared as .*five") as caught:
        outcome(lambda row: [(row.n, "five" if row.n == 5 else 1)], 10)
    assert "given for Row(n=5), attempt 1" in "\n".join(caught.value.__notes__)


class Picky:
    """`calls.picky` for 12 rows; time passes when all calls have ended but the one that hangs."""

    def __init__(self) -> None:
        self.clock = TestProcessingTimeService()
        self.clock.set_current_time(0)
        self.ended = 0

    async def __call__(self, row: Any) -> Any:
        if row.n == 9:
            while self.ended < 11:
                await asyncio.sleep(0.001)
            for _ in range(20):  # what came of them is on its way
                await asyncio.sleep(0)
            self.clock.advance(1_000)
        try:
            return await calls.picky(row)
        finally:
            self.ended += 1


def picky(on_error: Any, **settings: Any) -> Outcome:
    fn = Picky()
    return outcome(fn, 12, on_error, clock=fn.clock, timeout=1_000, **settings)


WRONG = {3: "ValueError", 5: "flinkish.common.errors.SchemaMismatchError"}
WRONG |= {7: "flinkish.common.errors.ArgumentTypeError"}
WRONG |= {9: "flinkish.common.errors.AsyncTimeoutError"}
RIGHT = [(n, n * n) for n in range(12) if n not in WRONG]


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_bad_rows_are_dropped_and_counted(mode: str) -> None:
    found = picky("drop", mode=mode)
    assert sorted(found.rows) == RIGHT
    assert found.counts == {
        "rows": 12,
        "results": 8,
        "failed": 4,
        "dropped": 4,
        "timed_out": 1,
        "retried": 0,
        "saved": 0,
        "metrics": None,
    }


def test_bad_rows_have_their_error_in_a_column() -> None:
    found = picky("column", mode="ordered")
    assert [row[0] for row in found.rows] == list(range(12))
    for n, m, error in found.rows:
        if n in WRONG:
            assert m is None
            assert error["type"] == WRONG[n]
            assert error["attempts"] == 1
            assert error["message"]
        else:
            assert (m, error) == (n * n, None)
    assert found.rows[3][2]["message"] == "three is too much"
    assert "five" in found.rows[5][2]["message"]
    assert (found.counts["failed"], found.counts["dropped"]) == (4, 0)


def test_bad_rows_go_aside() -> None:
    found = picky(FAILED)
    assert sorted(found.rows) == RIGHT
    assert {n: error["type"] for n, error in found.failed} == WRONG


def test_many_misfits_cost_each_of_them_once() -> None:
    found = outcome(lambda row: [(row.n, "odd" if row.n % 2 else 0)], 5_000, "drop", mode="ordered")
    assert found.rows == [(n, 0) for n in range(0, 5_000, 2)]
    assert found.counts["failed"] == 2_500


def test_what_is_no_exception_fails_the_task_whatever_is_kept() -> None:
    async def leaves(row: Any) -> list[Any]:
        raise SystemExit("enough")

    with pytest.raises(SystemExit, match="enough"):
        outcome(leaves, 3, "drop")


def test_errors_with_odd_texts() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    async def long_or_mute(row: Any) -> list[Any]:
        raise Mute if row.n else Exception("x" * 100_000)

    found = outcome(long_or_mute, 2, "column", mode="ordered")
    assert len(found.rows[0][2]["message"]) == 10_000
    assert found.rows[1][2]["message"] == "<its text raises RuntimeError>"


# --- attempts


def test_rows_are_tried_again_behind_the_end_of_the_input() -> None:
    """A micro-batch ends soon after it began: its end must not end retries (Flink: D.15)."""
    retry = AsyncRetryStrategy.fixed_delay(3, 5)
    found = outcome(calls.Flaky(3), 50, "column", timeout=60_000, retry=retry)
    assert sorted(row[:2] for row in found.rows) == [(n, 3) for n in range(50)]
    assert found.counts["retried"] == 100
    assert found.counts["failed"] == 0


def test_an_error_says_after_how_many_attempts() -> None:
    retry = AsyncRetryStrategy.fixed_delay(2, 1)
    found = outcome(calls.Flaky(9), 4, "column", timeout=60_000, retry=retry)
    assert {row[2]["attempts"] for row in found.rows} == {3}
    assert found.counts["retried"] == 8


def test_a_call_that_hangs_is_timed_out() -> None:
    with pytest.raises(AsyncTimeoutError, match="not done in time"):
        outcome(calls.hangs, 3, timeout=20)


def test_connections_belong_to_open_and_close(tmp_path: Any) -> None:
    log = tmp_path / "log"
    assert len(outcome(calls.Client(str(log)), 100).rows) == 100
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["open", "close"]


def test_spark_wants_no_more_while_calls_hang(tmp_path: Any) -> None:
    log = tmp_path / "log"

    class Hangs(calls.Client):
        async def async_invoke(self, value: Any) -> list[Any]:
            if value.n:
                await calls.hangs(value)
            return await super().async_invoke(value)

    found = Outcome(Hangs(str(log)), Feed(numbers(*range(10)), end=True))
    found.step()
    assert found.rows == [(0, 1)]
    found.batches.close()
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["open", "close"]


# --- calls of many rows


async def squares_of(rows: list[Any]) -> list[Any]:
    await asyncio.sleep(0.001)
    return [(row.n, row.n * row.n) for row in rows]


def test_rows_are_called_for_together() -> None:
    sizes: list[int] = []

    async def remember(rows: list[Any]) -> list[Any]:
        sizes.append(len(rows))
        return await squares_of(rows)

    found = outcome(remember, 1_050, batch_size=100)
    assert sorted(found.rows) == [(n, n * n) for n in range(1_050)]
    assert sorted(sizes) == [50] + [100] * 10, "what is left at the end is a call, too"
    assert found.counts["rows"] == found.counts["results"] == 1_050


def test_few_rows_wait_for_others_no_longer_than_they_may() -> None:
    found = Outcome(squares_of, Feed(numbers(1, 2, 3)), batch_size=100, batch_timeout=20)
    while len(found.rows) < 3:  # in one call, unless the machine takes longer to take them in
        found.step()
    assert sorted(found.rows) == [(1, 1), (2, 4), (3, 9)]
    found.feed.put(None)
    found.finish()


@pytest.mark.parametrize("on_error", ["drop", "column", FAILED])
def test_a_call_that_fails_fails_for_its_rows(on_error: Any) -> None:
    async def fails_with_13(rows: list[Any]) -> list[Any]:
        if any(row.n == 13 for row in rows):
            raise ValueError("unlucky")
        return await squares_of(rows)

    found = outcome(fails_with_13, 40, on_error, batch_size=10)
    assert found.counts["failed"] == 10
    assert found.counts["dropped"] == (10 if on_error == "drop" else 0)
    good = [row[:2] for row in found.rows if len(row) == 2 or row[2] is None]
    assert sorted(good) == [(n, n * n) for n in range(40) if not 10 <= n < 20]
    bad = found.failed or [(row[0], row[2]) for row in found.rows if len(row) == 3 and row[2]]
    if on_error != "drop":
        assert sorted(n for n, _ in bad) == list(range(10, 20))
        assert {error["message"] for _, error in bad} == {"unlucky"}
