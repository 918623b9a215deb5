"""Which windows a key has when they merge: facts C.13 and C.15."""

from typing import Any

import pytest

from flinkish._core.windows.time_window import MergingWindowSet
from flinkish.windowing import EventTimeSessionWindows, TimeWindow

SESSIONS = EventTimeSessionWindows.with_gap(3)


def w(start: int, end: int) -> TimeWindow:
    return TimeWindow(start, end)


@pytest.fixture(params=[None, SESSIONS.merge_windows], ids=["floor", "assigner"])
def merging(request: Any) -> MergingWindowSet:
    return MergingWindowSet(request.param)


class Merges:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, result: Any, merged: list[Any], state: Any, others: list[Any]) -> None:
        self.calls.append((result, sorted(merged), state, sorted(others)))


def test_a_window_alone_is_its_own_state_window(merging: MergingWindowSet) -> None:
    """C.15."""
    seen = Merges()
    assert merging.add_window(w(0, 4), seen) == w(0, 4)
    assert merging.get_state_window(w(0, 4)) == w(0, 4)
    assert merging.add_window(w(5, 8), seen) == w(5, 8)
    assert seen.calls == []
    assert merging.get_state_window(w(0, 8)) is None
    assert merging.changed


def test_the_first_windows_state_window_is_used_again(merging: MergingWindowSet) -> None:
    """C.15; the new window is in no list."""
    seen = Merges()
    merging.add_window(w(1, 4), seen)
    assert merging.add_window(w(4, 7), seen) == w(1, 7)
    assert seen.calls == [(w(1, 7), [w(1, 4)], w(1, 4), [])]
    assert merging.add_window(w(0, 3), seen) == w(0, 7)
    assert merging.get_state_window(w(0, 7)) == w(1, 4)
    assert merging.get_state_window(w(1, 7)) is None


def test_several_windows_become_one(merging: MergingWindowSet) -> None:
    """C.13, C.15."""
    seen = Merges()
    for window in (w(0, 3), w(5, 8), w(20, 23)):
        merging.add_window(window, seen)
    assert merging.add_window(w(3, 6), seen) == w(0, 8)
    [(result, merged, state, others)] = seen.calls
    assert (result, merged) == (w(0, 8), [w(0, 3), w(5, 8)])
    assert sorted([state, *others]) == [w(0, 3), w(5, 8)]
    assert sorted(merging.windows) == [w(0, 8), w(20, 23)]


@pytest.mark.parametrize("window", [w(0, 10), w(2, 5), w(0, 3), w(7, 10)])
def test_identical_and_contained_windows_merge_nothing(
    merging: MergingWindowSet, window: TimeWindow
) -> None:
    """C.15."""
    seen = Merges()
    merging.add_window(w(4, 10), seen)
    merging.add_window(w(0, 5), seen)
    seen.calls.clear()
    assert merging.add_window(window, seen) == w(0, 10)
    assert seen.calls == []
    assert merging.get_state_window(w(0, 10)) == w(4, 10)


def test_retiring_an_unknown_window_is_an_error(merging: MergingWindowSet) -> None:
    """C.15."""
    merging.add_window(w(0, 5))
    merging.retire_window(w(0, 5))
    assert merging.windows == []
    with pytest.raises(KeyError, match="is not among"):
        merging.retire_window(w(0, 5))


def test_an_assigner_that_merges_what_is_not_there_is_told() -> None:
    def merge(windows: Any, callback: Any) -> None:
        callback.merge([w(7, 9)], w(0, 9))

    with pytest.raises(ValueError, match="none of the windows"):
        MergingWindowSet(merge).add_window(w(0, 1))
