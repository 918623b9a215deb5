"""The worker's side: moments used in time on clocks that disagree, places, requests, failures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.spark.limits import Adaptive, Concurrency, Rate
from flinkish.spark.limits.lease import NEVER, Lease, RemoteClock
from flinkish.spark.limits.permits import LEASE_NS, PATIENCE_NS, PermitLedger

MS = 1_000_000
S = 1_000_000_000


def turn(lease: Lease, ledger: PermitLedger, waiting: int, now: int) -> bool:
    """Ask and be answered at once, on one clock; whether there was anything to ask."""
    request = lease.request(waiting, now)
    if request is None:
        return False
    lease.granted(ledger.lease(request, now), now)
    return True


def paced(rate: str = "100/s", burst: int = 1) -> "tuple[Lease, PermitLedger]":
    return Lease("w", paced=True, counted=False), PermitLedger(Rate(rate, burst=burst))


def counted(limit: int = 4) -> "tuple[Lease, PermitLedger]":
    ledger = PermitLedger(concurrency=Concurrency(limit))
    return Lease("w", paced=False, counted=True), ledger


def test_nothing_starts_before_its_moment_nor_when_it_is_over() -> None:
    lease, ledger = paced()
    assert not lease.take(S)
    assert turn(lease, ledger, 4, S)
    assert lease.in_hand == 4  # at 0, 10, 20 and 30 ms
    assert lease.take(S)
    assert not lease.take(S + 10 * MS - 1)
    assert lease.take(S + 10 * MS)
    assert not lease.take(S + 30 * MS + PATIENCE_NS + 1)  # the last two are void
    assert lease.in_hand == 0
    turn(lease, ledger, 1, S + 31 * MS + PATIENCE_NS)
    assert ledger.statistics(S).returned == 2


def test_it_asks_ahead_of_time_and_one_request_at_a_time() -> None:
    lease, ledger = paced("1000/s")
    request = lease.request(500, S)
    assert request is not None
    assert lease.request(500, S) is None
    lease.granted(ledger.lease(request, S), S)
    assert lease.in_hand == 40
    assert turn(lease, ledger, 500, S)
    assert not turn(lease, ledger, 500, S + 20 * MS)
    assert lease.wake_at(500, S) == S
    for i in range(40):
        assert lease.take(S + i * MS)
    assert lease.wake_at(500, S) == S + 39 * MS
    assert turn(lease, ledger, 500, S + 39 * MS)


def test_the_permits_of_a_steady_flow_are_there_before_it_asks() -> None:
    """Load below the limit: once the flow is known, no call waits for a message."""
    lease, ledger = paced("1000/s")
    now, waited = S, 0
    for call in range(1000):
        now += 4 * MS
        if not lease.take(now):
            waited += 1
            turn(lease, ledger, 1, now)
            now = max(now, lease.wake_at(1, now))
            assert lease.take(now)
        if now >= lease.look_at_ns:
            turn(lease, ledger, 0, now)
        lease.done()
        assert call == 0 or waited < 5


def test_permits_taken_in_vain_go_back() -> None:
    lease, ledger = paced()
    turn(lease, ledger, 1, S)
    assert lease.take(S)
    lease.untake()
    assert lease.busy == 0
    assert lease.drop() == 1


def test_a_refused_lease_begins_anew() -> None:
    lease, ledger = paced()
    turn(lease, ledger, 3, S)
    token = lease.token
    assert lease.take(S)
    elsewhere = PermitLedger(Rate("100/s", burst=1))  # it knows no such token
    assert turn(lease, elsewhere, 3, S + 200 * MS)
    assert lease.in_hand == 0
    assert lease.token != 0
    assert turn(lease, elsewhere, 3, S + 200 * MS)
    assert lease.in_hand == 3
    assert elsewhere.statistics(S).returned == 0
    assert elsewhere.statistics(S).refused == 1
    assert token == 1


def test_a_request_without_answer_is_asked_again_with_all_that_it_said() -> None:
    lease, ledger = paced()
    turn(lease, ledger, 1, S)
    lease.throttled(S, 300 * MS, S)
    first = lease.request(1, S)
    assert first is not None
    lease.failed(S, 50 * MS)
    assert lease.request(1, S + 49 * MS) is None
    assert lease.wake_at(1, S) >= S + 50 * MS
    second = lease.request(1, S + 50 * MS)
    assert second is not None
    assert second.throttled
    assert second.retry_after_ns == 300 * MS


def test_retry_after_holds_here_at_once_and_elsewhere_with_the_next_grant() -> None:
    rules = Adaptive(lambda error: True)
    ledger = PermitLedger(Rate("1000/s", adaptive=rules))
    here, there = (Lease(name, paced=True, counted=False) for name in ("here", "there"))
    for lease in (here, there):
        turn(lease, ledger, 10, S)
    here.throttled(S, 2 * S, S)
    assert not here.take(S + MS)
    assert turn(here, ledger, 10, S + MS)
    assert turn(there, ledger, 20, S + 10 * MS)
    assert not there.take(S + 11 * MS)
    again = S + 11 * MS
    while not there.take(again):
        turn(there, ledger, 20, again)
        again = there.wake_at(20, again)
    assert 3 * S + MS <= again <= 3 * S + 3 * MS


def test_places_follow_the_calls_that_there_are() -> None:
    lease, ledger = counted(10)
    assert turn(lease, ledger, 8, S)
    for _ in range(8):
        assert lease.take(S)
    assert not lease.take(S)
    assert ledger.statistics(S).held == 8
    for _ in range(6):
        lease.done()
    assert lease.take(S), "a place that is free is used without asking"
    turn(lease, ledger, 0, S + 100 * MS)
    turn(lease, ledger, 0, S + 200 * MS)
    assert ledger.statistics(S).held == 3, "idle places went back"


def test_a_lease_that_is_over_starts_nothing() -> None:
    lease, ledger = counted(4)
    turn(lease, ledger, 4, S)
    assert lease.take(S + LEASE_NS)
    assert not lease.take(S + LEASE_NS + 1)
    assert lease.wake_at(3, S + LEASE_NS + 1) < S + LEASE_NS
    request = lease.request(3, S + LEASE_NS + 2)
    assert request is not None
    assert request.holding == 1
    assert lease.wake_at(3, S + LEASE_NS + 3) == NEVER, "the answer will wake it"


def test_it_renews_what_it_holds_and_rests_when_it_holds_nothing() -> None:
    lease, ledger = counted(4)
    assert lease.wake_at(0, S) == NEVER
    turn(lease, ledger, 2, S)
    assert lease.take(S)
    assert lease.take(S)
    assert lease.wake_at(0, S) == S + LEASE_NS // 3
    assert not turn(lease, ledger, 0, S + LEASE_NS // 3 - 1)
    assert turn(lease, ledger, 0, S + LEASE_NS // 3)


@given(
    apart=st.integers(-(10**15), 10**15),
    drift=st.floats(-5e-5, 5e-5),
    answers=st.lists(
        st.tuples(st.integers(1, 10 * S), st.integers(0, 50 * MS), st.integers(0, 50 * MS)),
        min_size=1,
    ),
)
def test_the_other_clock_is_never_thought_later_than_it_is(
    apart: int, drift: float, answers: "list[tuple[int, int, int]]"
) -> None:
    clock, now = RemoteClock(), S

    def local(remote: int) -> int:
        return remote + apart + int((remote - S) * drift)

    for wait, there, back in answers:
        sent, told, received = now + wait, now + wait + there, now + wait + there + back
        clock.learn(told, local(sent), local(received))
        now = received
        assert clock.never_early(now) >= local(now) - 2
        assert clock.never_early(now) - clock.doubt_ns() <= local(now) + 2
        assert clock.doubt_ns() <= (there + back) * 1.001 + 4


def test_a_machine_that_slept_is_believed_anew() -> None:
    clock = RemoteClock()
    clock.learn(1000 * S, 0, MS)
    clock.learn(5000 * S, S, S + MS)
    assert MS <= clock.doubt_ns() <= MS * 1.001
    assert S + MS <= clock.never_early(5000 * S) <= S + MS * 1.001


@pytest.mark.parametrize("waiting", [0, 5])
def test_without_limits_of_its_own_kind_it_asks_nothing(waiting: int) -> None:
    lease = Lease("w", paced=False, counted=False)
    assert lease.take(S)
    assert lease.request(waiting, S) is None
