"""Which elements leave: fact C.25."""

from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.windowing import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
)


def left_by(evictor: Evictor, *pairs: tuple[Any, int | None]) -> tuple[list[Any], list[Any]]:
    """What is left before the function, and then after it."""
    elements = [TimestampedValue(*pair) for pair in pairs]
    evictor.evict_before(elements, len(elements), None, None)  # type: ignore[arg-type]
    before = [one.value for one in elements]
    evictor.evict_after(elements, len(elements), None, None)  # type: ignore[arg-type]
    return before, [one.value for one in elements]


PAIRS = ((1, 10), (2, 20), (3, 30))


@pytest.mark.parametrize(
    ("evictor", "before", "after"),
    [
        (CountEvictor.of(2), [2, 3], [2, 3]),
        (CountEvictor.of(2, True), [1, 2, 3], [2, 3]),
        (CountEvictor.of(0), [], []),
        (CountEvictor.of(5), [1, 2, 3], [1, 2, 3]),
        (TimeEvictor.of(20), [2, 3], [2, 3]),
        (TimeEvictor.of(21), [1, 2, 3], [1, 2, 3]),
        (TimeEvictor.of(10, True), [1, 2, 3], [3]),
        (DeltaEvictor.of(2, lambda one, last: last - one), [2, 3], [2, 3]),
        (DeltaEvictor.of(1, lambda one, last: last - one, True), [1, 2, 3], [3]),
    ],
)
def test_what_is_left(evictor: Evictor, before: list[int], after: list[int]) -> None:
    """C.25."""
    assert left_by(evictor, *PAIRS) == (before, after)


def test_elements_without_time_stay() -> None:
    """C.25."""
    assert left_by(TimeEvictor.of(1), ("a", None), ("b", None))[0] == ["a", "b"]
    assert not TimestampedValue("a", None).has_timestamp()
    assert repr(TimestampedValue("a", 5)) == "TimestampedValue('a', 5)"


def test_nothing_is_evicted_of_nothing() -> None:
    for evictor in (CountEvictor.of(2), TimeEvictor.of(1), DeltaEvictor.of(1, max)):
        assert left_by(evictor) == ([], [])


def test_bad_settings_are_refused() -> None:
    with pytest.raises(IllegalArgumentError, match="0 or more"):
        CountEvictor.of(-1)
    with pytest.raises(ArgumentTypeError, match="an int"):
        CountEvictor.of(1.5)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="TimeEvictor"):
        TimeEvictor.of(-1)
    with pytest.raises(ArgumentTypeError, match="get_delta"):
        DeltaEvictor.of(1, None)
