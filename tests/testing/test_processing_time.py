"""The clock that tests set: fact B.27."""

from concurrent.futures import wait

import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.testing import TestProcessingTimeService
from tests.racing import switched_every, together


@pytest.fixture
def clock() -> TestProcessingTimeService:
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    return clock


def test_the_clock_starts_before_all_time() -> None:
    assert TestProcessingTimeService().get_current_processing_time() == -(1 << 63)


def test_a_timer_is_due_when_the_clock_is_at_it(clock: TestProcessingTimeService) -> None:
    """Not one millisecond later, as with the system's clock."""
    seen: list[int] = []
    future = clock.register_timer(10, seen.append)
    clock.set_current_time(9)
    assert seen == []
    assert not future.done()
    clock.set_current_time(10)
    assert seen == [10]
    assert future.done()


def test_timers_run_in_the_order_of_time_with_their_own(clock: TestProcessingTimeService) -> None:
    seen: list[tuple[int, int]] = []
    for at in (30, 10, 20, 40):
        clock.register_timer(at, lambda t: seen.append((t, clock.get_current_processing_time())))
    assert clock.active_timer_timestamps == [10, 20, 30, 40]
    clock.set_current_time(35)
    assert seen == [(10, 35), (20, 35), (30, 35)]
    assert clock.num_active_timers == 1


def test_a_past_timer_waits_for_the_next_setting(clock: TestProcessingTimeService) -> None:
    seen: list[int] = []
    clock.register_timer(-5, seen.append)
    assert seen == []
    clock.set_current_time(0)
    assert seen == [-5]


def test_a_timer_registered_by_a_callback_runs_if_due(clock: TestProcessingTimeService) -> None:
    seen: list[int] = []

    def again(timestamp: int) -> None:
        seen.append(timestamp)
        clock.register_timer(timestamp + 4, again)

    clock.register_timer(1, again)
    clock.advance(10)
    assert seen == [1, 5, 9]
    assert clock.active_timer_timestamps == [13]


def test_the_clock_may_go_back(clock: TestProcessingTimeService) -> None:
    seen: list[int] = []
    clock.set_current_time(100)
    clock.set_current_time(50)
    clock.register_timer(60, seen.append)
    clock.advance("5 milliseconds")
    assert (seen, clock.get_current_processing_time()) == ([], 55)


@pytest.mark.parametrize("method", ["schedule_at_fixed_rate", "schedule_with_fixed_delay"])
def test_periodic_callbacks(clock: TestProcessingTimeService, method: str) -> None:
    """A fixed delay is the same as a fixed rate: again at the timestamp plus the period."""
    seen: list[int] = []
    future = getattr(clock, method)(seen.append, 3, 10)
    clock.set_current_time(30)
    assert seen == [3, 13, 23]
    assert clock.active_timer_timestamps == [33]
    assert future.cancel()
    clock.set_current_time(100)
    assert len(seen) == 3
    assert wait([future], timeout=1).not_done == set()


def test_a_periodic_callback_may_cancel_itself(clock: TestProcessingTimeService) -> None:
    future = clock.schedule_at_fixed_rate(lambda _: future.cancel(), 0, 1)
    clock.set_current_time(10)
    assert future.cancelled()
    assert clock.num_active_timers == 0


def test_cancel(clock: TestProcessingTimeService) -> None:
    seen: list[int] = []
    future = clock.register_timer(5, seen.append)
    assert future.cancel()
    assert clock.num_active_timers == 0
    clock.set_current_time(10)
    assert seen == []


def test_a_busy_thread(clock: TestProcessingTimeService) -> None:
    """The clock goes on and nothing fires."""
    seen: list[int] = []
    clock.register_timer(5, seen.append)
    clock.advance_clock_without_firing_timers(7)
    assert (clock.get_current_processing_time(), seen) == (7, [])
    clock.advance(0)
    assert seen == [5]


@pytest.mark.stress
def test_other_threads_register_and_cancel(clock: TestProcessingTimeService) -> None:
    """As a task under test does while the clock is set: each runs once or is cancelled."""
    ran: list[tuple[int, int]] = []
    cancelled: list[tuple[int, int]] = []
    left = [0, 1]

    def register(me: int) -> None:
        try:
            for number in range(2_000):
                name = (me, number)
                future = clock.register_timer(0, lambda _, name=name: ran.append(name))
                if future.cancel():
                    cancelled.append(name)
        finally:
            left.remove(me)

    def set_it() -> None:
        while left:
            clock.set_current_time(0)

    with switched_every(5e-6):
        together(lambda: register(0), lambda: register(1), set_it)
    clock.set_current_time(0)
    assert sorted(ran + cancelled) == [(me, number) for me in range(2) for number in range(2_000)]
    assert clock.num_active_timers == 0


def test_errors_reach_the_setter(clock: TestProcessingTimeService) -> None:
    clock.register_timer(5, lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        clock.set_current_time(5)
    clock.set_current_time(6)


def test_after_quiesce_timers_are_inert(clock: TestProcessingTimeService) -> None:
    seen: list[int] = []
    pending = clock.register_timer(5, seen.append)
    assert clock.quiesce().done()
    assert pending.cancelled()
    inert = clock.register_timer(6, seen.append)
    clock.set_current_time(10)
    assert not inert.done()
    assert seen == []
    assert not clock.is_terminated()


def test_after_shutdown_timers_are_refused(clock: TestProcessingTimeService) -> None:
    assert clock.shutdown_and_await(0)
    assert clock.is_terminated()
    with pytest.raises(IllegalStateError, match="shut down"):
        clock.register_timer(5, print)
    with pytest.raises(IllegalStateError, match="shut down"):
        clock.schedule_at_fixed_rate(print, 0, 5)


def test_what_is_refused(clock: TestProcessingTimeService) -> None:
    with pytest.raises(IllegalArgumentError, match="processing time"):
        clock.set_current_time("10")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="function of a timestamp"):
        clock.register_timer(5, None)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="period"):
        clock.schedule_at_fixed_rate(print, 0, 0)
