"""A limit that goes down at once and up slowly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.spark.limits import Adaptive
from flinkish.spark.limits.adaptive import Aimd

S = 1_000_000_000
RULES = Adaptive(lambda error: True, decrease=0.5, increase=0.1, minimum=0.2)


def test_it_halves_and_creeps_back() -> None:
    limit = Aimd(100.0, RULES)
    assert limit.limit(0) == 100
    limit.throttled(0, 0, 1 * S)
    assert limit.limit(1 * S) == 50
    assert limit.limit(2 * S) == pytest.approx(60)
    assert limit.limit(100 * S) == 100


def test_errors_of_calls_from_before_a_decrease_do_not_count() -> None:
    limit = Aimd(100.0, RULES)
    limit.throttled(0, 0, 10 * S)
    for late in range(11, 14):
        limit.throttled(9 * S, 0, late * S)
    assert limit.decreases == 1
    assert limit.limit(13 * S) == pytest.approx(80)
    limit.throttled(12 * S, 0, 13 * S)
    assert limit.limit(13 * S) == pytest.approx(40)


def test_it_never_falls_below_its_minimum() -> None:
    limit = Aimd(100.0, RULES)
    for second in range(10):
        limit.throttled(second * S, 0, second * S)
    assert limit.limit(9 * S) == 20


def test_a_retry_after_pauses_and_nothing_grows_meanwhile() -> None:
    limit = Aimd(100.0, RULES)
    limit.throttled(0, 5 * S, 1 * S)
    limit.throttled(0, 2 * S, 1 * S)  # the longer one holds
    assert limit.paused_until_ns == 6 * S
    assert limit.limit(6 * S) == 50
    assert limit.limit(7 * S) == pytest.approx(60)


def test_without_rules_it_stays() -> None:
    limit = Aimd(100.0, None)
    limit.throttled(0, 5 * S, 1 * S)
    assert limit.limit(1 * S) == 100
    assert limit.paused_until_ns < 0


@given(st.lists(st.tuples(st.integers(0, 3 * S), st.integers(0, 4 * S), st.integers(0, 2 * S))))
def test_it_stays_between_its_bounds_and_grows_between_errors(
    errors: "list[tuple[int, int, int]]",
) -> None:
    limit, now = Aimd(70.0, RULES), 0
    for wait, age, retry_after in errors:
        before = limit.limit(now)
        now += wait
        assert limit.limit(now) >= before
        before = limit.limit(now)
        limit.throttled(now - age, retry_after, now)
        assert 14 <= limit.limit(now) <= before
