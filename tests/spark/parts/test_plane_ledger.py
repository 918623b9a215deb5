"""What the driver knows of workers, without any: fences, counters, orders, silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.counting import CounterLedger
from flinkish.spark.control_plane.fences import Fences
from flinkish.spark.control_plane.ledger import PlaneLedger
from flinkish.spark.control_plane.messages import (
    CANCEL,
    DRAIN,
    GO,
    REFUSED,
    Beat,
    TaskReport,
    Verdict,
    WorkerIdentity,
)

FIRST = Attempt(
    application="app",
    query="query",
    run="run",
    epoch=0,
    stage=1,
    operator="map",
    partition=0,
    number=0,
    task=100,
)


def attempt(**changes: Any) -> Attempt:
    return replace(FIRST, **changes)


def batch(**changes: Any) -> Attempt:
    stage = changes.get("stage", 1)
    return attempt(query="", run=f"stage-{stage}", **changes)


def reason(refusal: Verdict | None) -> str:
    assert refusal is not None
    assert refusal.kind == REFUSED
    return refusal.reason


# --- fences


def test_an_attempt_may_ask_again() -> None:
    fences = Fences()
    assert fences.admit(FIRST) is None
    assert fences.admit(FIRST) is None
    assert fences.admit(attempt(operator="other")) is None
    assert fences.admit(attempt(partition=1, task=99)) is None


def test_an_earlier_epoch_is_told_of_both_tokens() -> None:
    fences = Fences()
    assert fences.admit(FIRST) is None
    assert fences.admit(attempt(epoch=3, task=130)) is None
    refusal = fences.admit(FIRST)
    assert "epoch 3 of the run has begun" in reason(refusal)
    assert "('run', 0)" in reason(refusal)
    assert "('run', 3)" in reason(refusal)
    assert refusal is not None
    assert refusal.expected == ("run", 3)


def test_an_earlier_run_is_refused_whether_it_was_known_or_not() -> None:
    fences = Fences()
    assert fences.admit(FIRST) is None
    assert fences.admit(attempt(run="again", task=150)) is None
    assert "started anew as run 'again'" in reason(fences.admit(FIRST))
    assert "started anew" in reason(fences.admit(attempt(run="never seen", task=90, epoch=9)))
    assert fences.admit(attempt(run="again", task=140, partition=1)) is None, "a slow starter"
    assert fences.admit(attempt(run="third", task=170)) is None


def test_the_last_attempt_of_a_partition_takes_over() -> None:
    fences = Fences()
    assert fences.admit(FIRST) is None
    assert fences.admit(attempt(number=1, task=105)) is None
    assert "attempt 1 (task 105) has taken over" in reason(fences.admit(FIRST))
    assert fences.admit(attempt(partition=1)) is None


def test_an_earlier_application_is_refused() -> None:
    fences = Fences()
    assert fences.admit(FIRST) is None
    assert fences.admit(attempt(application="next", task=3)) is None
    assert "application 'next' has followed 'app'" in reason(fences.admit(FIRST))


def test_stages_of_batch_jobs_do_not_fence_each_other() -> None:
    fences = Fences()
    for stage in (4, 5, 4):
        assert fences.admit(batch(stage=stage)) is None
    for stage in range(2_000):
        assert fences.admit(batch(stage=stage)) is None
    assert len(fences.epochs()) == 1_000


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)),
        unique=True,
        min_size=1,
    ).map(sorted),
    st.randoms(use_true_random=False),
)
def test_in_whatever_order_they_are_heard_the_last_is_in_and_stays_in(
    started: list[tuple[int, int, int, int]], chance: Any
) -> None:
    """F1, F2: Spark starts tasks run by run, epoch by epoch; messages come as they like."""
    attempts = [
        attempt(run=f"run {run}", epoch=epoch, partition=partition, number=number, task=task)
        for task, (run, epoch, partition, number) in enumerate(started)
    ]
    fences = Fences()
    heard = attempts * 2
    chance.shuffle(heard)
    refused: set[int] = set()
    for each in heard:
        if fences.admit(each) is not None:
            refused.add(each.task)
        else:
            assert each.task not in refused
    last = attempts[-1]
    assert fences.admit(last) is None
    for each in attempts:
        newest = max(a.task for a in attempts if a.partition == each.partition)
        wanted = each.token == last.token and each.task == newest
        assert (fences.admit(each) is None) == wanted


# --- counters


def counts(ledger: CounterLedger, name: str = "rows", query: str | None = None) -> dict[int, int]:
    parts = ledger.counts(query).get("map", {})
    return {partition: names[name] for partition, names in parts.items()}


def test_an_attempt_replaces_the_one_before_and_the_figure_never_falls() -> None:
    ledger = CounterLedger()
    ledger.put(FIRST, {"rows": 700})
    retry = attempt(number=1, task=105)
    shown = []
    for rows in (1, 400, 900, 1_000):
        ledger.put(retry, {"rows": rows})
        shown.append(counts(ledger)[0])
    assert shown == [700, 700, 900, 1_000]
    ledger.put(attempt(epoch=1, task=110), {"rows": 5, "late": 1})
    assert counts(ledger)[0] == 1_005
    assert counts(ledger, "late") == {0: 1}


def test_an_epoch_that_is_done_again_counts_once() -> None:
    ledger = CounterLedger()
    ledger.put(attempt(epoch=4), {"rows": 10})
    ledger.put(attempt(epoch=5), {"rows": 3})
    ledger.put(attempt(epoch=5, run="again", task=150), {"rows": 10})
    assert counts(ledger) == {0: 20}


def test_partitions_queries_and_stages_add_up() -> None:
    ledger = CounterLedger()
    for epoch in range(40):
        ledger.put(attempt(epoch=epoch), {"rows": 1})
        ledger.put(attempt(epoch=epoch, partition=1), {"rows": 2})
    ledger.put(attempt(query="other"), {"rows": 100})
    for stage in range(30):
        ledger.put(batch(stage=stage), {"rows": 1_000})
    ledger.put(batch(stage=0), {"rows": 7})  # long past
    assert counts(ledger) == {0: 30_140, 1: 80}
    assert counts(ledger, query="query") == {0: 40, 1: 80}
    assert counts(ledger, query="batch") == {0: 30_000}
    assert ledger.counts("nobody") == {}


# --- the ledger

ME = WorkerIdentity("worker-1", "host", 11)


def beat(*attempts: Attempt, ended: bool | None = None, version: int = 0) -> Beat:
    return Beat(ME, [TaskReport(each, {"rows": 1}, ended) for each in attempts], version)


def kinds(ledger: PlaneLedger, *attempts: Attempt) -> list[str]:
    return [verdict.kind for verdict in ledger.beat(beat(*attempts), 0).verdicts]


def test_who_runs_what_since_when() -> None:
    ledger = PlaneLedger(1_000)
    ledger.beat(beat(), 5)
    ledger.beat(beat(FIRST), 10)
    ledger.beat(beat(FIRST, attempt(partition=1, task=101)), 30)
    (worker,) = ledger.workers(30, 1_000_030)
    assert (worker.worker, worker.host, worker.pid) == ("worker-1", "host", 11)
    assert (worker.since_ms, worker.last_seen_ms) == (1_000_005, 1_000_030)
    assert [(task.partition, task.since_ms) for task in worker.tasks] == [
        (0, 1_000_010),
        (1, 1_000_030),
    ]
    ledger.beat(beat(FIRST, ended=True), 40)
    assert ledger.workers(40, 40)[0].tasks == ()
    assert counts(ledger.counters) == {0: 1, 1: 1}


def test_the_silent_are_gone_and_come_back_with_a_beat() -> None:
    ledger = PlaneLedger(1_000)
    ledger.beat(beat(FIRST), 0)
    assert ledger.expire(1_000) == []
    assert ledger.expire(1_001) == ["worker-1"]
    assert ledger.workers(1_001, 0) == []
    assert not ledger.lose("worker-1")
    assert ledger.beat(beat(FIRST), 2_000).verdicts == [Verdict(GO)]
    assert ledger.lose("worker-1")


def test_settings_go_to_whoever_has_older_ones() -> None:
    ledger = PlaneLedger(1_000)
    assert ledger.beat(beat(), 0).settings is None
    ledger.set("limit", 5)
    ledger.set("limit", 6)
    reply = ledger.beat(beat(), 0)
    assert (reply.settings, reply.version) == ({"limit": 6}, 2)
    assert ledger.beat(beat(version=2), 0).settings is None


def test_orders_are_for_runs_and_operators() -> None:
    ledger = PlaneLedger(1_000)
    other = attempt(operator="filter")
    assert kinds(ledger, FIRST, other) == [GO, GO]
    ledger.order("run", "map", CANCEL, "enough")
    reply = ledger.beat(beat(FIRST, other), 0)
    assert [verdict.kind for verdict in reply.verdicts] == [CANCEL, GO]
    assert "'map', partition 0, in epoch 0 of run 'run' was cancelled: enough" in (
        reply.verdicts[0].reason
    )
    ledger.lift("run", "map")
    assert kinds(ledger, FIRST, other) == [GO, GO]
    ledger.order(None, None, CANCEL, "all")
    assert kinds(ledger, FIRST, other) == [CANCEL, CANCEL]


def test_draining_ends_with_the_epoch_under_way() -> None:
    ledger = PlaneLedger(1_000)
    assert kinds(ledger, attempt(epoch=3)) == [GO]
    ledger.order("run", None, DRAIN, "maintenance")
    ledger.order("unborn", None, DRAIN, "maintenance")
    assert kinds(ledger, attempt(epoch=3, partition=1)) == [DRAIN]
    verdict = ledger.beat(beat(attempt(epoch=4)), 0).verdicts[0]
    assert verdict.kind == CANCEL
    assert "drained after epoch 3: maintenance" in verdict.reason
    early = ledger.beat(beat(attempt(query="q", run="unborn")), 0).verdicts[0]
    assert "drained before its first task" in early.reason
