import copy
import pickle
from datetime import timedelta

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.durations import Duration, DurationLike, Instant, Time, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (0, 0),
        (1500, 1500),
        (numpy.int64(5), 5),
        (timedelta(days=1, microseconds=2_500), 86_400_002),
        (Duration.of_days(2), 172_800_000),
        (Duration.of_hours(1), 3_600_000),
        (Duration.of_minutes(1), 60_000),
        (Duration.of_seconds(10), 10_000),
        (Duration.of_millis(7), 7),
        (Duration.of_nanos(2_999_999), 2),
        (Time.days(1), 86_400_000),
        (Time.hours(1), 3_600_000),
        (Time.minutes(1), 60_000),
        (Time.seconds(1), 1_000),
        (Time.milliseconds(1), 1),
        (Time(milliseconds=4), 4),
        ("10 seconds", 10_000),
        ("1 minute 30 seconds", 90_000),
        ("interval 2 hours", 7_200_000),
        ("INTERVAL 1 Day", 86_400_000),
        ("2 weeks", 1_209_600_000),
        ("1.5 seconds", 1_500),
        (".25 second", 250),
        ("-1 hour + 1 minute", -3_540_000),
        ("5 milliseconds 2000 microseconds", 7),
        ("  10   seconds ", 10_000),
        ("10seconds", 10_000),
        ("200 ms", 200),
        ("200ms", 200),
        ("10s", 10_000),
        ("30 sec", 30_000),
        ("30 secs", 30_000),
        ("5 m", 300_000),
        ("10 mins", 600_000),
        ("2h", 7_200_000),
        ("3 hrs", 10_800_000),
        ("1 d 1 h", 90_000_000),
        ("1 w", 604_800_000),
        ("7 millis 2000 micros", 9),
        ("2000 µs", 2),
        ("2000 μs", 2),
        ("1000000ns", 1),
        ("1.5 s", 1_500),
        ("PT10S", 10_000),
        ("pt1m30.5s", 90_500),
        ("P1DT2H", 93_600_000),
        ("P2W", 1_209_600_000),
        ("-PT1M", -60_000),
        ("PT-1M+2S", -58_000),
    ],
)
def test_all_forms_of_a_duration(duration: DurationLike, millis: int) -> None:
    assert to_millis(duration) == millis


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("interval", "it is empty"),
        ("10", "a number and a unit are missing at '10'"),
        ("seconds", "a number and a unit are missing at 'seconds'"),
        ("10 seconds and more", "missing at 'and more'"),
        ("10 fortnights", "there is no unit 'fortnights'"),
        ("3 months", "a month has no fixed length"),
        ("1 year", "a year has no fixed length"),
        ("2 moss", "there is no unit 'moss'"),
        ("P", "ISO 8601 has weeks and days, then T"),
        ("PT", "ISO 8601 has"),
        ("P1M", "ISO 8601 has"),
        ("P1DT", "ISO 8601 has"),
        ("PT1S1M", "ISO 8601 has"),
        ("P1H", "ISO 8601 has"),
        ("1.5 h", "only seconds may have a fraction"),
        ("1.5 hours", "only seconds may have a fraction"),
        ("1 day2 hours", "'2 hours' follows '1 day'"),
        ("intervals 2 hours", "missing at 'intervals 2 hours'"),
    ],
)
def test_a_text_that_is_no_interval_is_shown_with_its_fault(text: str, why: str) -> None:
    with pytest.raises(IllegalArgumentError, match=why) as caught:
        to_millis(text, "gap")
    assert f"gap {text!r} is not an interval" in str(caught.value)
    assert "1 minute 30 seconds" in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 1.5, True, b"10 seconds", [10]])
def test_other_types_are_refused(wrong: object) -> None:
    with pytest.raises(ArgumentTypeError, match="timeout must be a timedelta, a Duration, a Time"):
        to_millis(wrong, "timeout")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "short", [timedelta(microseconds=1), Duration.of_nanos(-999_999), "10 microseconds"]
)
def test_less_than_a_millisecond_does_not_become_nothing(short: DurationLike) -> None:
    with pytest.raises(IllegalArgumentError, match="shorter than 1 ms"):
        to_millis(short)


def test_minimum() -> None:
    assert to_millis(1, minimum=1) == 1
    with pytest.raises(IllegalArgumentError, match="ttl must be at least 1 ms, not Time<0 ms>"):
        to_millis(Time.seconds(0), "ttl", minimum=1)
    with pytest.raises(IllegalArgumentError, match="at least 0 ms"):
        to_millis("-1 second", minimum=0)


@given(st.integers(-(10**15), 10**15))
def test_all_forms_agree(millis: int) -> None:
    assert to_millis(timedelta(milliseconds=millis)) == millis
    assert to_millis(Duration.of_millis(millis)) == millis
    assert to_millis(Time(millis)) == millis
    assert to_millis(f"{millis} milliseconds") == millis
    assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis


def test_durations_are_values() -> None:
    assert Duration.of_seconds(1) == Duration.of_millis(1_000)
    assert Duration.of_seconds(1) != Time.seconds(1)
    assert Duration.of_seconds(1) < Duration.of_minutes(1)
    assert hash(Time.seconds(1)) == hash(Time(1_000))
    assert (str(Time.seconds(1)), repr(Time.seconds(1))) == ("1000 ms", "Time<1000 ms>")
    assert repr(Duration.of_nanos(1)) == "Duration<1 ns>"
    assert repr(Duration.of_millis(-1)) == "Duration<-1 ms>"
    assert Duration.of_nanos(-1).to_millis() == -1
    for value in (Duration.of_nanos(5), Time(5), Instant(1, 2)):
        assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == value
    with pytest.raises(AttributeError):
        Instant(1, 2).seconds = 5  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [1.5, "1", None, True])
def test_amounts_are_ints(wrong: object) -> None:
    for make in (Duration.of_seconds, Duration.of_nanos, Time, Time.hours, Instant.of_epoch_milli):
        with pytest.raises(ArgumentTypeError, match="must be an int"):
            make(wrong)  # type: ignore[operator]


def test_instants() -> None:
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert repr(Instant(3, 4)) == "Instant<3, 4>"
    assert Instant(1, 0) > Instant(0, 999_999_999)
    with pytest.raises(IllegalArgumentError, match="carry whole seconds over"):
        Instant(0, 1_000_000_000)
