"""What tests of triggers compare with."""

from typing import Any

from flinkish.testing import TriggerTestHarness
from flinkish.windowing import TimeWindow, TriggerResult

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, BOTH = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE
ONE, TWO, BIG = TimeWindow(0, 2), TimeWindow(2, 4), TimeWindow(0, 4)


def timers(harness: TriggerTestHarness, window: Any = None) -> tuple[int, int, int]:
    """What is kept of one window or of all: timers of both clocks, states."""
    return (
        harness.num_event_time_timers(window),
        harness.num_processing_time_timers(window),
        harness.num_state_entries(window),
    )
