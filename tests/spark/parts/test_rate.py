"""Rates, concurrencies and adaptive rules as users write them."""

import pickle
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.spark.limits import Adaptive, Concurrency, Rate


@pytest.mark.parametrize(
    ("text", "per_second"),
    [
        ("500/s", 500),
        ("500 / sec", 500),
        ("500 per second", 500),
        ("500/SECOND", 500),
        ("90 per minute", Fraction(3, 2)),
        ("30/min", Fraction(1, 2)),
        ("3600/h", 1),
        ("86400/day", 1),
        ("5/ms", 5000),
        ("10/5 seconds", 2),
        ("1/100ms", 10),
        ("2.5/s", Fraction(5, 2)),
        (".5/s", Fraction(1, 2)),
        ("1/3 s", Fraction(1, 3)),
    ],
)
def test_rates_are_read(text: str, per_second: Fraction) -> None:
    assert Rate(text).exact == per_second
    assert Rate(text).per_second == float(per_second)


@pytest.mark.parametrize(
    "text",
    [
        *("", "500", "/s", "500/", "0/s", "10/0 s", "-5/s", "500/fortnight", "5//s", "5/s/s"),
        *("1e3/s", "5 pers", "inf/s", "nan/s", "500/month", "5/microsecond"),
    ],
)
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(IllegalArgumentError, match=r"is not a rate: .*'500/s'"):
        Rate(text)


@pytest.mark.parametrize("value", [500, 1.5, None, b"5/s", True])
def test_a_rate_without_unit_would_be_a_guess(value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="such as '500/s'"):
        Rate(value)


def test_burst_scope_and_adaptive_are_checked() -> None:
    assert Rate("500/s", burst=7).burst_permits == 7
    assert Rate("500/s").burst_permits == 15
    assert Rate("1/min").burst_permits == 1
    with pytest.raises(IllegalArgumentError, match="burst must be at least 1, not 0: 1 is for no"):
        Rate("500/s", burst=0)
    with pytest.raises(ArgumentTypeError, match=r"burst must be an int, not 2\.5"):
        Rate("500/s", burst=2.5)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="'job' or 'worker', not 'cluster'"):
        Rate("500/s", scope="cluster")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="must be an Adaptive, not True"):
        Rate("500/s", adaptive=True)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="concurrency must be at least 1, not 0"):
        Concurrency(0)
    with pytest.raises(ArgumentTypeError, match="concurrency must be an int, not '5'"):
        Concurrency("5")  # type: ignore[arg-type]


def test_of_takes_what_users_write() -> None:
    rate, places = Rate("5/s", burst=2), Concurrency(3)
    assert Rate.of(rate) is rate
    assert Rate.of("5/s") == Rate("5/s")
    assert Concurrency.of(places) is places
    assert Concurrency.of(3) == places
    assert pickle.loads(pickle.dumps(rate)) == rate


@given(
    permits=st.integers(1, 10**6),
    unit=st.sampled_from(["ms", "s", "min", "7 h"]),
    parts=st.integers(1, 10_000),
)
def test_parts_of_a_rate_add_up_to_it(permits: int, unit: str, parts: int) -> None:
    rate = Rate(f"{permits}/{unit}")
    part = rate.divided(parts)
    assert part.exact * parts == rate.exact
    assert part.scope == "worker"
    assert part.burst_permits * parts <= max(rate.burst_permits, parts)


def test_places_are_divided_down_and_not_below_one() -> None:
    assert Concurrency(10).divided(4) == Concurrency(2, scope="worker")
    with pytest.raises(IllegalArgumentError, match="3 cannot be divided among 4 partitions"):
        Concurrency(3).divided(4)


@pytest.mark.parametrize(
    ("verdict", "ns"),
    [
        (False, None),
        (None, None),
        (True, 0),
        (0, 0),
        (250, 250_000_000),
        ("2 seconds", 2_000_000_000),
        (timedelta(seconds=3), 3_000_000_000),
    ],
)
def test_what_a_predicate_says(verdict: Any, ns: "int | None") -> None:
    assert Adaptive(lambda error: verdict).retry_after_ns(OSError()) == ns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decrease": 1}, "decrease must be above 0 and below 1, not 1"),
        ({"decrease": 0}, "decrease must be above 0"),
        ({"increase": 0}, "increase must be above 0, not 0"),
        ({"increase": float("inf")}, "increase must be above 0, not inf"),
        ({"minimum": 1.5}, r"minimum must be above 0 and at most 1, not 1\.5"),
        ({"minimum": float("nan")}, "minimum must be above 0"),
        ({"minimum": "1"}, "minimum must be a number, not '1'"),
    ],
)
def test_adaptive_rules_are_checked(options: "dict[str, Any]", message: str) -> None:
    with pytest.raises((IllegalArgumentError, ArgumentTypeError), match=message):
        Adaptive(lambda error: True, **options)
    with pytest.raises(ArgumentTypeError, match="a function of an error, not 429"):
        Adaptive(429)  # type: ignore[arg-type]
