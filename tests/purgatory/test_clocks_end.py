"""Times beyond what a clock of nanoseconds, or a wait of the system, can hold."""

import logging

import pytest

from flinkish.common.errors import IllegalArgumentError
from flinkish.purgatory import ManualTimer, SystemTimer, TimerTask
from flinkish.purgatory.timer import LAST_MS
from tests.waiting import until


class Note(TimerTask):
    __slots__ = ("ran",)

    def __init__(self, delay: int) -> None:
        super().__init__(delay)
        self.ran = False

    def run(self) -> None:
        self.ran = True


@pytest.mark.parametrize("step", [2**53, 2**62, 2**63, 10**30, LAST_MS])
def test_a_clock_is_not_moved_beyond_its_end(step: int) -> None:
    """The error is raised once: the clock stays, and the timer goes on."""
    timer, task = ManualTimer(), Note(5)
    timer.add(task)
    timer.advance_clock(1)
    with pytest.raises(IllegalArgumentError, match=rf"timeout_ms is {step} .* by {LAST_MS - 1} at"):
        timer.advance_clock(step)
    assert timer.now_ms == 1
    assert timer.advance_clock(4)
    assert task.ran
    timer.add(last := Note(2**63 - 1))
    assert not timer.advance_clock(LAST_MS - 5)
    assert timer.now_ms == LAST_MS
    assert not last.ran
    with pytest.raises(IllegalArgumentError, match="by 0 at most"):
        timer.advance_clock(1)
    timer.close()
    assert timer.statistics().cancelled_by_close == 1


@pytest.mark.parametrize("tick_ms", [LAST_MS + 1, 2**62, 2**63 - 1])
@pytest.mark.parametrize("make", [ManualTimer, SystemTimer])
def test_a_tick_that_would_never_be_over_is_refused(
    make: type[ManualTimer | SystemTimer], tick_ms: int
) -> None:
    with pytest.raises(IllegalArgumentError, match=f"tick_ms is {tick_ms}.*292 years"):
        make("endless", tick_ms)


@pytest.mark.parametrize("delay_ms", [LAST_MS, 10**15, 2**62, 2**63 - 1])
def test_never_is_longer_than_a_wait_of_the_system(
    delay_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The reaper could not wait for so long, and said so ten times a second."""
    with caplog.at_level(logging.ERROR), SystemTimer("never", executor=None) as timer:
        timer.add(never := Note(delay_ms))
        for _ in range(2):  # after the first the reaper waits for `never`
            timer.add(soon := Note(1))
            until(lambda soon=soon: soon.ran)
        assert timer.size() == 1
    assert never.is_cancelled()
    assert not caplog.records


def test_a_wait_for_ever() -> None:
    with SystemTimer("waits", reaper_enabled=False) as timer:
        timer.add(soon := Note(1))
        assert timer.advance_clock(2**62)
        until(lambda: soon.ran)
