"""Early, on-time and late firings."""

from flinkish.testing import TriggerTestHarness
from flinkish.windowing import (
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTriggers,
    TimeWindow,
)
from tests.windowing.triggers import BIG, CONTINUE, FIRE, ONE, TWO, timers


def test_early_on_time_and_late() -> None:
    trigger = (
        EventTimeTriggers.after_end_of_window()
        .with_early_firings(CountTrigger.of(2))
        .with_late_firings(CountTrigger.of(3))
    )
    harness = TriggerTestHarness(trigger)
    window = TimeWindow(0, 10)
    assert [harness.process_element(1, window) for _ in range(3)] == [CONTINUE, FIRE, CONTINUE]
    assert harness.advance_watermark(9, window) is FIRE
    assert [harness.process_element(1, window) for _ in range(3)] == [CONTINUE, CONTINUE, FIRE], (
        "the late trigger starts at none, though the early one had counted"
    )
    harness.clear_trigger_state(window)
    assert timers(harness) == (0, 0, 0)


def test_late_elements_without_a_late_trigger_fire_each() -> None:
    harness = TriggerTestHarness(EventTimeTriggers.after_end_of_window())
    harness.advance_watermark(20)
    assert [harness.process_element(1, ONE) for _ in range(2)] == [FIRE, FIRE]
    assert harness.process_element(1, TimeWindow(15, 30)) is CONTINUE
    assert harness.advance_processing_time(99) == []


def test_early_firings_on_the_clock() -> None:
    trigger = EventTimeTriggers.after_end_of_window().with_early_firings(
        ContinuousProcessingTimeTrigger.of(5)
    )
    harness = TriggerTestHarness(trigger)
    window = TimeWindow(0, 100)
    harness.process_element(1, window)
    assert harness.advance_processing_time(5, window) is FIRE
    assert harness.advance_watermark(99, window) is FIRE
    assert harness.advance_processing_time(10) == [], "early firings are over"


def test_a_merged_window_that_has_not_ended_is_early_again() -> None:
    trigger = EventTimeTriggers.after_end_of_window().with_early_firings(CountTrigger.of(9))
    assert trigger.can_merge()
    assert not trigger.with_late_firings(DeltaTrigger.of(1, min)).can_merge()
    harness = TriggerTestHarness(trigger)
    harness.process_element(1, ONE)
    assert harness.advance_watermark(1, ONE) is FIRE
    harness.merge_windows(BIG, [ONE, TWO])
    assert harness.advance_watermark(3, BIG) is FIRE
