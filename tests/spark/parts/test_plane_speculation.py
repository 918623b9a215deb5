"""Spark runs attempts of a task side by side: none is refused for it, and one of them counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.spark.control_plane.counting import CounterLedger
from flinkish.spark.control_plane.fences import Fences
from flinkish.spark.control_plane.ledger import PlaneLedger
from flinkish.spark.control_plane.messages import CANCEL, DRAIN, GO
from flinkish.spark.session import speculates
from tests.spark.parts.test_plane_ledger import FIRST, attempt, batch, beat, counts, kinds, reason

SECOND = attempt(number=1, task=105)


def test_both_are_let_in_and_what_is_over_is_not() -> None:
    fences = Fences(speculation=True)
    for each in (FIRST, SECOND, FIRST, batch(), batch(number=1, task=104), batch()):
        assert fences.admit(each) is None
    assert fences.admit(attempt(epoch=1, task=110)) is None
    for each in (FIRST, SECOND):
        assert "epoch 1 of the run has begun" in reason(fences.admit(each))
    assert fences.admit(attempt(run="again", task=150)) is None
    assert "was started anew as run 'again'" in reason(fences.admit(attempt(epoch=1, task=110)))


def test_the_first_that_ends_well_counts() -> None:
    ledger = CounterLedger(speculation=True)
    ledger.put(FIRST, {"rows": 3})
    ledger.put(SECOND, {"rows": 7})
    ledger.put(FIRST, {"rows": 5})
    assert counts(ledger) == {0: 7}
    ledger.put(FIRST, {"rows": 9}, True)
    ledger.put(SECOND, {"rows": 8})
    ledger.put(SECOND, {"rows": 10}, True)
    assert counts(ledger) == {0: 9}


def test_one_that_failed_makes_room_for_the_other() -> None:
    ledger = CounterLedger(speculation=True)
    ledger.put(FIRST, {"rows": 3})
    ledger.put(SECOND, {"rows": 7}, False)
    ledger.put(FIRST, {"rows": 8})
    assert counts(ledger) == {0: 8}


def test_an_epoch_that_a_new_run_does_again_counts_anew() -> None:
    ledger = CounterLedger(speculation=True)
    ledger.put(FIRST, {"rows": 10}, True)
    ledger.put(attempt(run="again", task=150), {"rows": 4})
    ledger.put(attempt(run="again", task=150), {"rows": 12}, True)
    assert counts(ledger) == {0: 12}


@dataclass
class Runner:
    """An attempt that counts up to a total and ends."""

    task: int
    total: int
    well: bool
    done: int = 0
    over: bool = False


RUNNERS = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=4)


@given(RUNNERS, st.lists(st.integers(0, 3), max_size=40))
def test_whatever_the_order_of_reports(made: list[tuple[int, bool]], order: list[int]) -> None:
    """What is shown never falls; in the end it is exact if it was not ahead, and of one attempt."""
    runners = [Runner(100 + n, total, well) for n, (total, well) in enumerate(made)]
    ledger = CounterLedger(speculation=True)
    final: Runner | None = None
    shown = highest = 0
    for index in [*order, *(n for n in range(len(runners)) for _ in range(7))]:
        runner = runners[index % len(runners)]
        if not runner.over:
            runner.over = runner.done == runner.total
            runner.done = min(runner.done + 1, runner.total)
        ended = runner.well if runner.over else None
        ledger.put(attempt(task=runner.task), {"rows": runner.done}, ended)
        if ended and final is None:
            final = runner
        highest = max(highest, runner.done)
        now = counts(ledger)[0]
        assert shown <= now <= highest
        shown = now
    line = ledger._lines["query", "map", 0]
    if final is not None:
        assert line.steps[0].task == final.task
        assert line.steps[0].counters == {"rows": final.total}


def test_cancel_and_drain_reach_both() -> None:
    ledger = PlaneLedger(1_000, speculation=True)
    assert kinds(ledger, FIRST, SECOND) == [GO, GO]
    assert len(ledger.workers(0, 0)[0].tasks) == 2
    ledger.order("run", None, DRAIN, "maintenance")
    assert kinds(ledger, FIRST, SECOND) == [DRAIN, DRAIN]
    ledger.order("run", None, CANCEL, "enough")
    assert kinds(ledger, FIRST, SECOND) == [CANCEL, CANCEL]
    ledger.lift("run", None)
    assert [v.kind for v in ledger.beat(beat(FIRST, ended=True), 0).verdicts] == [GO]
    assert [v.kind for v in ledger.beat(beat(SECOND, ended=True), 0).verdicts] == [GO]


@pytest.mark.parametrize(("said", "found"), [("true", True), ("TRUE", True), ("false", False)])
def test_the_driver_reads_what_spark_is_set_to(said: str, found: bool) -> None:
    class Context:
        def getConf(self) -> dict[str, str]:
            return {"spark.speculation": said}

    session: Any = type("Session", (), {"sparkContext": Context()})()
    assert speculates(session) is found
    connect: Any = type("RemoteSession", (), {"conf": Context().getConf()})()
    assert speculates(connect) is found
    assert not speculates(type("RemoteSession", (), {"conf": {}})())  # type: ignore[arg-type]
