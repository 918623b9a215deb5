"""Purgatories and the thread that takes out what has expired."""

import threading
import time

import pytest

from flinkish.purgatory import DelayedOperationPurgatory, SystemTimer, system_timer
from tests.purgatory.operations import Operation
from tests.waiting import PATIENCE


def test_a_reaper_of_its_own() -> None:
    """K.16, P.6."""
    with DelayedOperationPurgatory("reaps", purge_interval=1) as home:
        operations = [Operation(delay) for delay in (0, 1, 5, 20, 20)]
        waits = Operation(3_600_000)
        begin = time.monotonic()
        for operation in [*operations, waits]:
            home.try_complete_else_watch(operation, [operation, "all"])
        for operation in operations:
            assert operation.expired.wait(PATIENCE)
            assert time.monotonic() - begin >= operation.delay_ms / 1000
        assert home.watched() == 2
    assert waits.events == ["complete"]


def test_advance_clock_waits_for_the_reaper() -> None:
    """K.4."""
    with DelayedOperationPurgatory("waits") as home:
        assert not home.advance_clock(0)
        home.try_complete_else_watch(operation := Operation(5), ["a"])
        assert home.advance_clock(60_000)
        assert operation.expired.wait(PATIENCE)
        assert not home.advance_clock(1)


def test_the_reaper_gives_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """P.10: without anybody calling advance_clock, and without anything expiring."""
    monkeypatch.setattr(system_timer, "POLL_S", 0.001)
    trimmed = threading.Event()
    with DelayedOperationPurgatory("trims", purge_interval=5) as home:
        monkeypatch.setattr(home, "_trim", trimmed.set)
        for _ in range(7):
            home.try_complete_else_watch(operation := Operation(), ["a"])
            operation.force_complete()
        assert trimmed.wait(PATIENCE)


def test_without_a_reaper_time_stands_still() -> None:
    home = DelayedOperationPurgatory("still", reaper_enabled=False)
    home.try_complete_else_watch(operation := Operation(1), ["a"])
    time.sleep(0.01)
    assert not operation.is_completed()
    assert home.advance_clock(60_000)
    assert operation.expired.wait(PATIENCE)
    home.shutdown()


def test_a_timer_for_several_purgatories() -> None:
    with (
        SystemTimer("shared") as timer,
        DelayedOperationPurgatory("one", timer=timer) as one,
        DelayedOperationPurgatory("two", timer=timer) as two,
    ):
        operations = [Operation(5), Operation(5)]
        one.try_complete_else_watch(operations[0], ["a"])
        two.try_complete_else_watch(operations[1], ["a"])
        for operation in operations:
            assert operation.expired.wait(PATIENCE)
        one.shutdown()
        assert not timer.closed
        assert two.check_and_complete("a") == 0
