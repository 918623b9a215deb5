"""When windows fire: facts C.18-C.24."""

import pickle
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.testing import TriggerTestHarness
from flinkish.windowing import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    EventTimeTriggers,
    GlobalWindow,
    GlobalWindowSerializer,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
)
from tests.windowing.triggers import BIG, BOTH, CONTINUE, FIRE, ONE, PURGE, TWO, timers


def test_results() -> None:
    assert [(r.is_fire(), r.is_purge()) for r in (CONTINUE, FIRE, PURGE, BOTH)] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]


def test_event_time_windows_fire_apart() -> None:
    """C.18."""
    harness = TriggerTestHarness(EventTimeTrigger.create())
    assert harness.process_element(1, ONE) is CONTINUE
    assert harness.process_element(1, ONE) is CONTINUE
    assert harness.process_element(1, TWO) is CONTINUE
    assert timers(harness) == (2, 0, 0)
    assert timers(harness, ONE) == timers(harness, TWO) == (1, 0, 0)
    assert harness.advance_watermark(2, ONE) is FIRE
    assert timers(harness, ONE) == (0, 0, 0)
    assert harness.advance_watermark(4, TWO) is FIRE
    assert harness.invoke_on_event_time(0, TWO) is CONTINUE, "for the end of the window only"


def test_a_late_element_fires_at_once_and_sets_no_timer() -> None:
    """C.18."""
    harness = TriggerTestHarness(EventTimeTrigger.create())
    harness.advance_watermark(2)
    assert harness.process_element(1, ONE) is FIRE
    assert timers(harness) == (0, 0, 0)


def test_event_time_merges() -> None:
    """C.18."""
    harness = TriggerTestHarness(EventTimeTrigger.create())
    assert harness.trigger.can_merge()
    harness.process_element(1, ONE)
    harness.process_element(1, TWO)
    harness.merge_windows(BIG, [ONE, TWO])
    assert timers(harness, BIG) == (1, 0, 0)
    for window in (ONE, TWO):
        harness.clear_trigger_state(window)
    assert timers(harness) == (1, 0, 0)
    assert harness.advance_watermark(4, BIG) is FIRE


def test_merging_into_a_late_window_sets_no_timer() -> None:
    """C.18."""
    harness = TriggerTestHarness(EventTimeTrigger.create())
    harness.advance_watermark(10)
    assert harness.process_element(1, ONE) is FIRE
    harness.merge_windows(BIG, [ONE, TWO])
    assert timers(harness) == (0, 0, 0)


def test_processing_time() -> None:
    harness = TriggerTestHarness(ProcessingTimeTrigger.create())
    assert harness.process_element(1, ONE) is CONTINUE
    assert harness.process_element(1, TWO) is CONTINUE
    harness.merge_windows(BIG, [ONE, TWO])
    harness.clear_trigger_state(TWO)
    assert timers(harness) == (0, 2, 0)
    assert harness.advance_processing_time(1, ONE) is FIRE
    assert harness.invoke_on_event_time(3, BIG) is CONTINUE
    assert harness.advance_processing_time(5, BIG) is FIRE
    harness.merge_windows(ONE, [TWO])
    assert timers(harness) == (0, 0, 0), "the end is behind"


def test_count_fires_at_n_and_starts_again() -> None:
    """C.19."""
    harness = TriggerTestHarness(CountTrigger.of(3))
    for window in (ONE, TWO):
        assert [harness.process_element(1, window) for _ in range(4)] == [
            CONTINUE,
            CONTINUE,
            FIRE,
            CONTINUE,
        ]
    assert timers(harness) == (0, 0, 2)
    harness.clear_trigger_state(ONE)
    assert (harness.num_state_entries(ONE), harness.num_state_entries(TWO)) == (0, 1)


def test_counts_add_up_when_windows_merge() -> None:
    """C.19."""
    harness = TriggerTestHarness(CountTrigger.of(4))
    whole = TimeWindow(0, 8)
    for window in (TimeWindow(2, 4), TimeWindow(2, 4), TimeWindow(4, 6)):
        assert harness.process_element(1, window) is CONTINUE
    harness.merge_windows(whole, [TimeWindow(2, 4), TimeWindow(4, 6)])
    assert harness.num_state_entries() == harness.num_state_entries(whole) == 1
    assert harness.process_element(1, whole) is FIRE
    assert harness.num_state_entries() == 0


def test_purging_turns_firing_into_purging_too() -> None:
    """C.20."""
    harness = TriggerTestHarness(PurgingTrigger.of(CountTrigger.of(2)))
    assert harness.process_element(1, ONE) is CONTINUE
    assert harness.process_element(1, ONE) is BOTH
    harness.process_element(1, ONE)
    harness.merge_windows(BIG, [ONE])
    assert harness.process_element(1, BIG) is BOTH
    timed = TriggerTestHarness(PurgingTrigger.of(EventTimeTrigger()))
    timed.process_element(1, ONE)
    assert timed.advance_watermark(9, ONE) is BOTH
    assert not PurgingTrigger.of(DeltaTrigger.of(1, min)).can_merge()


def test_continuous_event_time_handles_all_timer_calls() -> None:
    """C.21: one timer at the window's end, one at the next multiple."""
    harness = TriggerTestHarness(ContinuousEventTimeTrigger.of(5))
    window = TimeWindow(0, 12)
    assert harness.process_element(1, window, 1) is CONTINUE
    assert timers(harness) == (2, 0, 1)
    assert harness.process_element(1, window, 7) is CONTINUE
    assert timers(harness) == (2, 0, 1)
    assert harness.advance_watermark(4) == []
    assert harness.advance_watermark(5) == [(window, FIRE)]
    assert harness.advance_watermark(10) == [(window, FIRE)]
    assert harness.advance_watermark(11) == [(window, FIRE)], "the end and the multiple are one"
    harness.clear_trigger_state(window)
    assert timers(harness) == (0, 0, 0)


def test_continuous_event_time_clear_leaves_the_end() -> None:
    """C.21."""
    harness = TriggerTestHarness(ContinuousEventTimeTrigger.of(5))
    window = TimeWindow(0, 12)
    harness.process_element(1, window, 1)
    harness.clear_trigger_state(window)
    assert timers(harness) == (1, 0, 0), "of the window's end, which the operator forgets"
    assert harness.invoke_on_event_time(8, window) is CONTINUE, "a cleanup timer without state"


def test_continuous_event_time_and_late_elements() -> None:
    """C.21."""
    harness = TriggerTestHarness(ContinuousEventTimeTrigger.of(5))
    harness.advance_watermark(20)
    assert harness.process_element(1, ONE, 1) is FIRE
    assert timers(harness) == (0, 0, 0)
    with pytest.raises(TimestampError, match="ContinuousEventTimeTrigger"):
        harness.process_element(1, TimeWindow(0, 50), None)


def test_continuous_event_time_merges_to_the_earliest_firing() -> None:
    """C.21."""
    harness = TriggerTestHarness(ContinuousEventTimeTrigger.of(5))
    one, two, whole = TimeWindow(0, 12), TimeWindow(8, 22), TimeWindow(0, 22)
    harness.process_element(1, one, 1)
    harness.process_element(1, two, 13)
    assert timers(harness) == (4, 0, 2)
    harness.merge_windows(whole, [one, two])
    assert timers(harness, whole) == (1, 0, 1)
    assert timers(harness, one) == (2, 0, 0), "timers of the old windows are left"
    assert (whole, FIRE) in harness.advance_watermark(5)


def test_continuous_processing_time() -> None:
    """C.22."""
    harness = TriggerTestHarness(ContinuousProcessingTimeTrigger.of(5))
    window = TimeWindow(0, 12)
    harness.advance_processing_time(2)
    harness.process_element(1, window)
    assert timers(harness) == (0, 1, 1)
    assert harness.advance_processing_time(5) == [(window, FIRE)]
    assert harness.advance_processing_time(10) == [(window, FIRE)]
    assert harness.advance_processing_time(11) == [(window, FIRE)], "capped at the window's end"
    harness.clear_trigger_state(window)
    assert timers(harness) == (0, 0, 0)
    harness.process_element(1, window)
    harness.merge_windows(BIG, [window])
    assert harness.num_processing_time_timers(BIG) == 1


def test_continuous_processing_time_of_a_window_that_is_long_past_on_the_clock() -> None:
    harness = TriggerTestHarness(ContinuousProcessingTimeTrigger.of(5))
    harness.advance_processing_time(1_000)
    harness.process_element(1, ONE)
    assert harness.advance_processing_time(1_004) == []
    assert harness.advance_processing_time(1_009) == [(ONE, FIRE)]


def test_delta_fires_above_the_threshold_only() -> None:
    """C.23."""
    harness = TriggerTestHarness(DeltaTrigger.of(2, lambda old, new: new - old))
    assert harness.process_element(0, ONE) is CONTINUE, "the first is where it starts from"
    assert harness.process_element(2, ONE) is CONTINUE, "not above"
    assert harness.process_element(3, ONE) is FIRE
    assert harness.process_element(5, ONE) is CONTINUE, "3 is what it is compared with now"
    assert not harness.trigger.can_merge()
    harness.clear_trigger_state(ONE)
    assert timers(harness) == (0, 0, 0)


class Distance:
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        return abs(new_data_point - old_data_point)


def test_delta_takes_a_delta_function() -> None:
    harness = TriggerTestHarness(DeltaTrigger.of(2, Distance()))
    assert [harness.process_element(at, ONE) for at in (0, -3)] == [CONTINUE, FIRE]
    with pytest.raises(ArgumentTypeError, match="get_delta"):
        DeltaTrigger.of(2, 7)


def test_timeout_fires_what_has_waited() -> None:
    """C.24."""
    harness = TriggerTestHarness(ProcessingTimeoutTrigger.of(CountTrigger.of(3), 10))
    assert [harness.process_element(1, ONE) for _ in range(2)] == [CONTINUE, CONTINUE]
    assert timers(harness) == (0, 1, 2)
    assert harness.advance_processing_time(10, ONE) is FIRE
    assert timers(harness) == (0, 0, 0), "the nested trigger was cleared"
    assert [harness.process_element(1, ONE) for _ in range(3)] == [CONTINUE, CONTINUE, FIRE]
    assert timers(harness) == (0, 0, 0), "its firing stops the clock"


def test_timeout_settings() -> None:
    """C.24."""
    moving = TriggerTestHarness(
        ProcessingTimeoutTrigger.of(CountTrigger.of(3), 10, reset_timer_on_new_record=True)
    )
    moving.process_element(1, ONE)
    moving.advance_processing_time(6)
    moving.process_element(1, ONE)
    assert moving.advance_processing_time(15) == []
    assert moving.advance_processing_time(16, ONE) is FIRE
    keeping = TriggerTestHarness(
        ProcessingTimeoutTrigger.of(
            PurgingTrigger.of(EventTimeTrigger()), 10, should_clear_on_timeout=False
        )
    )
    keeping.process_element(1, ONE)
    assert keeping.advance_processing_time(10, ONE) is FIRE
    assert keeping.num_event_time_timers() == 1
    assert keeping.advance_watermark(1, ONE) is BOTH, "any event-time timer fires, as nested purges"
    assert not keeping.trigger.can_merge()


def test_never_and_end_of_stream() -> None:
    """C.29."""
    never = TriggerTestHarness(NeverTrigger())
    assert never.process_element(1, ONE) is CONTINUE
    assert never.trigger.can_merge()
    never.merge_windows(BIG, [ONE])
    never.clear_trigger_state(ONE)
    end = TriggerTestHarness(EndOfStreamTrigger.create(), GlobalWindowSerializer())
    assert end.process_element(1, GlobalWindow.get()) is CONTINUE
    assert end.advance_watermark(1 << 62) == []
    assert end.advance_watermark((1 << 63) - 1, GlobalWindow.get()) is FIRE


def test_bad_settings_are_refused() -> None:
    for make in (
        lambda: CountTrigger.of(0),
        lambda: ContinuousEventTimeTrigger.of(0),
        lambda: ContinuousProcessingTimeTrigger.of(-1),
        lambda: ProcessingTimeoutTrigger.of(NeverTrigger(), 0),
    ):
        with pytest.raises(IllegalArgumentError):
            make()
    for broken in (
        lambda: CountTrigger.of("3"),  # type: ignore[arg-type]
        lambda: PurgingTrigger.of(CountTrigger),  # type: ignore[arg-type]
        lambda: EventTimeTriggers.after_end_of_window().with_early_firings(5),  # type: ignore[arg-type]
    ):
        with pytest.raises(ArgumentTypeError):
            broken()
    with pytest.raises(UnsupportedOperationError, match="DeltaTrigger cannot merge"):
        TriggerTestHarness(DeltaTrigger.of(1, min)).merge_windows(BIG, [ONE])
    harness = TriggerTestHarness(EventTimeTrigger())
    with pytest.raises(IllegalStateError, match="one timer of"):
        harness.advance_watermark(5, ONE)


@pytest.mark.parametrize(
    "trigger",
    [
        EventTimeTrigger(),
        ProcessingTimeTrigger(),
        EndOfStreamTrigger(),
        CountTrigger(3),
        PurgingTrigger(CountTrigger(3)),
        ContinuousEventTimeTrigger(3),
        ContinuousProcessingTimeTrigger(3),
        ProcessingTimeoutTrigger(CountTrigger(3), 5),
        EventTimeTriggers.after_end_of_window().with_early_firings(CountTrigger(3)),
        DeltaTrigger(1, max),
        NeverTrigger(),
    ],
)
def test_triggers_travel(trigger: Trigger) -> None:
    assert repr(pickle.loads(pickle.dumps(trigger))) == repr(trigger)
