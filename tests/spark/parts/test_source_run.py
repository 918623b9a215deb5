"""A source function on its thread, without Spark."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flinkish.common.errors import TaskCancellationError, UserFunctionError
from flinkish.spark.sources.run import SourceRun
from tests.spark.sources import Deaf, FailsAt, Numbers
from tests.waiting import until


@contextmanager
def running(source: Numbers, state: bytes = b"", capacity: int = 10) -> Iterator[SourceRun]:
    run = SourceRun(source, state, "numbers", capacity)
    try:
        yield run
    finally:
        run.cancel(60)


def take_all(run: SourceRun, count: int) -> list[tuple[list[int], int]]:
    """(numbers, state) of each take, until there were so many numbers."""
    takes: list[tuple[list[int], int]] = []
    while sum(len(numbers) for numbers, _ in takes) < count:
        records, state = run.take(5, 0.01)
        takes.append(([value[0] for value, _ in records], int(state)))
    return takes


def test_the_state_of_a_take_is_that_behind_its_records() -> None:
    with running(Numbers(999, hold=3), capacity=10) as run:
        takes = take_all(run, 999)
    upto = 0
    for numbers, state in takes:
        assert numbers == list(range(upto, upto + len(numbers)))
        upto += len(numbers)
        assert state == upto
        assert len(numbers) % 3 == 0, "a hold is never cut"
        assert len(numbers) <= 12, "one hold at most beyond the capacity"
    assert upto == 999


def test_it_goes_on_from_a_state() -> None:
    with running(Numbers(50), b"47") as run:
        assert take_all(run, 3)[-1][1] == 50


def test_times_come_along() -> None:
    with running(Numbers(2)) as run:
        records, _ = run.take(5, 0.05)
        while len(records) < 2:  # a source that is kept waiting has paused
            records += run.take(5, 0.05)[0]
    assert records == [((0, "0"), 0), ((1, "1"), 1000)]


def test_without_records_a_take_ends_with_its_patience() -> None:
    with running(Numbers(0)) as run:
        assert run.take(0.05, 0.01) == ([], b"0")
        assert not run.ended()


def test_the_end() -> None:
    with running(Numbers(5, waits=False)) as run:
        assert take_all(run, 5)[-1][1] == 5
        assert run.take(5, 0.01) == ([], b"5")
        until(run.ended)


def test_a_source_waits_for_room() -> None:
    source = Numbers(10_000)
    with running(source, capacity=10) as run:
        until(lambda: source.next >= 10)
        time.sleep(0.02)
        assert source.next == 10
        run.take(5, 0.01)
        until(lambda: source.next >= 20)
        time.sleep(0.02)
        assert source.next == 20


def test_what_was_emitted_in_a_hold_that_failed_is_not_handed_out() -> None:
    for _ in range(20):
        run = SourceRun(FailsAt(100, 7), b"", "numbers", 1000)
        seen: list[int] = []

        def take_until_it_fails(run: SourceRun = run, seen: list[int] = seen) -> None:
            while True:
                records, state = run.take(0.001, 0.001)
                seen += [value[0] for value, _ in records]
                assert int(state) == len(seen)

        with pytest.raises(UserFunctionError, match="'numbers' failed in run: cannot") as caught:
            take_until_it_fails()
        run.cancel(60)
        assert isinstance(caught.value.__cause__, ValueError)
        assert seen == list(range(len(seen)))
        assert 7 not in seen


def test_a_source_is_told_of_finished_batches() -> None:
    source = Numbers(1)
    with running(source) as run:
        run.notify(3)
    assert source.finished == [3]


def test_a_source_that_does_not_listen_is_shown() -> None:
    source: Any = Deaf(1)
    run = SourceRun(source, b"", "deaf", 10)

    def stack() -> str:
        with pytest.raises(TaskCancellationError, match="'deaf' did not return") as caught:
            run.cancel(0.01)
        return str(caught.value.stack)

    until(lambda: "release.wait()" in stack(), "its thread waits, and is shown where")
    source.release.set()
