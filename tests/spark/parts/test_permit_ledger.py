"""The ledger by itself: moments on one line, places, tokens."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from flinkish.spark.limits import Adaptive, Concurrency, Rate
from flinkish.spark.limits.messages import Grant, LeaseRequest
from flinkish.spark.limits.permits import LEAD_NS, LEASE_NS, PermitLedger

MS = 1_000_000
S = 1_000_000_000


def asking(worker: str, last: "Grant | None" = None, **fields: int) -> LeaseRequest:
    request = LeaseRequest(
        worker=worker,
        token=last.token if last else 0,
        number=last.number if last else 0,
        wanted=0,
        unused=0,
        holding=last.holding if last else 0,
        waiting=0,
        throttled=False,
        started_ns=0,
        retry_after_ns=0,
    )
    return replace(request, **fields)


def moments(grant: Grant) -> "list[int]":
    others, late = grant.permits - grant.overdue, grant.overdue > 0
    ahead = [grant.first_ns + (i + late) * grant.span_ns // others for i in range(others)]
    return [grant.first_ns] * grant.overdue + ahead


@given(
    rate=st.sampled_from(["7/s", "500/s", "30000/s", "20/min"]),
    burst=st.sampled_from([None, 1, 50]),
    asked=st.lists(
        st.tuples(st.integers(0, 100 * MS), st.sampled_from("abc"), st.integers(0, 3000)),
        max_size=60,
    ),
    trip=st.sampled_from([0, 10 * MS, 200 * MS, 5 * S]),
)
def test_moments_in_any_window_are_at_most_the_rate_and_the_burst(
    rate: str, burst: "int | None", asked: "list[tuple[int, str, int]]", trip: int
) -> None:
    """P1."""
    limit = Rate(rate, burst=burst)
    ledger = PermitLedger(limit)
    now, given_out, last = S, [], {}
    for wait, worker, wanted in asked:
        now += wait
        request = asking(worker, last.get(worker), wanted=wanted, trip_ns=trip)
        grant = last[worker] = ledger.lease(request, now)
        assert grant.overdue <= grant.permits <= max(wanted, 0)
        assert all(moment >= now for moment in moments(grant))
        given_out += moments(grant)
    # From moment i to moment j there are j - i + 1; so j - i + 1 <= (at_j - at_i) * rate + burst.
    highest = -1e18
    for i, at in enumerate(sorted(given_out)):
        level = at * limit.per_second / 1e9 - i
        highest = max(highest, level)
        assert highest - level + 1 <= limit.burst_permits + 1e-3


def test_a_worker_holds_two_slices_at_most() -> None:
    ledger = PermitLedger(Rate("1000/s", burst=1))
    first = ledger.lease(asking("a", wanted=10_000), S)
    assert first.permits == 40
    second = ledger.lease(asking("a", first, wanted=10_000), S)
    assert second.permits == 40
    assert second.first_ns == S + LEAD_NS
    third = ledger.lease(asking("a", second, wanted=10_000), S)
    assert third.permits == 0
    assert third.ask_at_ns == second.ask_at_ns == moments(second)[-1] - LEAD_NS


def test_slices_are_longer_where_answers_take_longer() -> None:
    """A worker asks for the next slice while it has one, so it has two trips' time for that."""
    ledger = PermitLedger(Rate("1000/s", burst=1))
    near = ledger.lease(asking("a", wanted=5000, trip_ns=10 * MS), S)
    assert near.permits == LEAD_NS // MS
    far = ledger.lease(asking("a", near, wanted=5000, trip_ns=100 * MS), S + 40 * MS)
    assert far.permits == 300
    assert far.ask_at_ns <= far.first_ns
    later = ledger.lease(asking("a", far, wanted=5000, trip_ns=100 * MS), S + 140 * MS)
    assert later.first_ns == far.first_ns + far.span_ns
    assert later.ask_at_ns + 2 * 100 * MS <= later.first_ns + later.span_ns
    none = ledger.lease(asking("a", later, wanted=5000, trip_ns=100 * MS), S + 150 * MS)
    assert none.permits == 0, "two at most"
    far = ledger.lease(asking("b", wanted=10**6, trip_ns=60 * S), S + 200 * MS)
    assert far.permits <= 1_500, "and no longer than that"


def test_what_is_overdue_comes_with_a_slice_where_answers_take_long() -> None:
    ledger = PermitLedger(Rate("1000/s", burst=30))
    grant = ledger.lease(asking("a", wanted=5000, trip_ns=0), S)
    assert (grant.overdue, grant.permits) == (30, 30)
    grant = ledger.lease(asking("a", grant, wanted=5000, trip_ns=100 * MS), 2 * S)
    assert (grant.overdue, grant.permits) == (30, 330)
    assert moments(grant)[29:32] == [2 * S, 2 * S + MS, 2 * S + 2 * MS]
    late = ledger.lease(
        asking("a", grant, wanted=0, unused=300, trip_ns=100 * MS), 2 * S + 400 * MS
    )
    assert ledger.statistics(2 * S).returned == LEAD_NS // MS, "others had their moments since"
    assert late.permits == 0


def test_slices_shrink_when_workers_come_and_grow_when_they_are_gone() -> None:
    ledger = PermitLedger(Rate("1000/s", burst=1))
    grants = {name: ledger.lease(asking(name, wanted=1), S) for name in "abcd"}
    assert ledger.lease(asking("a", grants["a"], wanted=99), S + 10 * MS).permits == 10
    for name in "bcd":
        ledger.leave(name, grants[name].token, 0, S + 11 * MS)
    later = replace(grants["a"], number=2)
    assert ledger.lease(asking("a", later, wanted=99), S + 12 * MS).permits == 40


def test_what_was_saved_up_is_there_at_once_and_never_more_than_the_burst() -> None:
    ledger = PermitLedger(Rate("10/s", burst=6))
    grant = ledger.lease(asking("a", wanted=100), 1000 * S)
    assert moments(grant) == [1000 * S] * 6
    after = ledger.lease(asking("a", grant, wanted=100), 1000 * S + 50 * MS)
    assert moments(after) == [1000 * S + 100 * MS]


def test_unused_permits_are_granted_again_but_not_hoarded() -> None:
    ledger = PermitLedger(Rate("10/s", burst=3))
    grant = ledger.lease(asking("a", wanted=3), 1000 * S)
    ledger.leave("a", grant.token, 3, 1000 * S)
    assert moments(ledger.lease(asking("b", wanted=9), 1000 * S)) == [1000 * S] * 3
    statistics = ledger.statistics(1000 * S)
    assert (statistics.granted, statistics.returned, statistics.workers) == (6, 3, 1)


def test_nobody_returns_more_than_was_granted() -> None:
    ledger = PermitLedger(Rate("10/s", burst=1000))
    grant = ledger.lease(asking("a", wanted=1), 1000 * S)
    ledger.leave("a", grant.token, 10**9, 1000 * S)
    assert ledger.statistics(1000 * S).returned == 1


def test_a_grant_that_never_arrived_is_taken_back() -> None:
    ledger = PermitLedger(Rate("1000/s", burst=1))
    first = ledger.lease(asking("a", wanted=10), S)
    ledger.lease(asking("a", first, wanted=10), S)  # lost on its way
    ledger.lease(asking("a", first, wanted=0), S)
    assert ledger.statistics(S).returned == 10


def test_slow_rates_are_given_in_turn() -> None:
    ledger = PermitLedger(Rate("1/s"))
    last = {name: ledger.lease(asking(name, wanted=50), 1000 * S) for name in "abc"}
    assert [moments(last[name]) for name in "abc"] == [[1000 * S], [], []]
    last["a"] = ledger.lease(asking("a", last["a"], wanted=50), 1000 * S)
    turns = {name: last[name].ask_at_ns for name in "bca"}
    assert list(turns.values()) == [second * S - LEAD_NS for second in (1001, 1002, 1003)]
    for turn, name in zip(turns.values(), "bca", strict=True):
        grant = ledger.lease(asking(name, last[name], wanted=50), turn)
        assert moments(grant) == [turn + LEAD_NS]


def test_a_pause_moves_the_line() -> None:
    rate = Rate("1000/s", burst=1, adaptive=Adaptive(lambda error: True))
    ledger = PermitLedger(rate)
    first = ledger.lease(asking("a", wanted=1), S)
    told = asking("a", first, wanted=5, throttled=True, started_ns=S, retry_after_ns=2 * S)
    second = ledger.lease(told, S)
    assert (second.paused_until_ns, second.permits) == (3 * S, 0)
    assert second.ask_at_ns == 3 * S - LEAD_NS
    third = ledger.lease(asking("a", second, wanted=5), 3 * S - LEAD_NS)
    assert moments(third) == [3 * S + i * 2 * MS for i in range(5)]  # and at half the rate
    assert ledger.statistics(S).decreases == 1
    assert ledger.statistics(S).paused_ns == 2 * S


def test_places_are_shared_and_given_back() -> None:
    ledger = PermitLedger(concurrency=Concurrency(10))
    a = ledger.lease(asking("a", waiting=100), S)
    assert a.holding == 10
    b = ledger.lease(asking("b", waiting=100), S)
    assert b.holding == 0
    a = ledger.lease(asking("a", a, holding=10, waiting=90), S)
    assert a.holding == 5, "the share of b is asked back"
    b = ledger.lease(asking("b", b, waiting=100), S)
    assert b.holding == 0, "but a has calls under way"
    a = ledger.lease(asking("a", a, holding=5, waiting=95), S)
    b = ledger.lease(asking("b", b, waiting=100), S)
    assert (a.holding, b.holding) == (5, 5)
    ledger.leave("b", b.token, 0, S)
    assert ledger.lease(asking("a", a, holding=5, waiting=95), S).holding == 10


def test_places_of_the_silent_return_and_zombies_are_refused() -> None:
    """P3: what a zombie still does is counted once, and nobody gets a place for it."""
    ledger = PermitLedger(concurrency=Concurrency(4))
    dead = ledger.lease(asking("dead", waiting=4), S)
    assert dead.holding == 4
    late = S + LEASE_NS + 1
    heir = ledger.lease(asking("heir", waiting=4), late)
    assert heir.holding == 4
    zombie = ledger.lease(asking("dead", dead, holding=4, waiting=9), late)
    assert zombie.refused
    assert zombie.token != dead.token
    assert ledger.statistics(late).held == 8
    heir = ledger.lease(asking("heir", heir, holding=4, waiting=5), late)
    assert heir.holding == 2
    zombie = ledger.lease(asking("dead", zombie, holding=0, waiting=4), late)
    assert not zombie.refused
    assert zombie.holding == 0
    heir = ledger.lease(asking("heir", heir, holding=2, waiting=5), late)
    zombie = ledger.lease(asking("dead", zombie, holding=0, waiting=4), late)
    assert (heir.holding, zombie.holding) == (2, 2)
    statistics = ledger.statistics(late)
    assert (statistics.expired, statistics.refused) == (1, 1)


def test_a_stranger_cannot_say_good_bye_for_others() -> None:
    ledger = PermitLedger(concurrency=Concurrency(4))
    grant = ledger.lease(asking("a", waiting=4), S)
    ledger.leave("a", grant.token + 1, 0, S)
    ledger.leave("b", grant.token, 0, S)
    assert ledger.statistics(S).held == 4
