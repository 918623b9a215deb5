"""The system's processing-time service: facts A.56 - A.62, on a real thread."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from datetime import timedelta
from itertools import pairwise

import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.time import SystemProcessingTimeService
from flinkish.time.processing_time_service import delay_until
from tests.waiting import PATIENCE, until

LONG, MINUTE = 3_600_000, 60_000


def monotonic() -> int:
    return time.monotonic_ns() // 1_000_000


class Errors(list[BaseException]):
    def __call__(self, error: BaseException) -> None:
        self.append(error)


@pytest.fixture
def errors() -> Errors:
    return Errors()


@pytest.fixture
def service(errors: Errors) -> Iterator[SystemProcessingTimeService]:
    """One by a clock that nobody sets back."""
    service = SystemProcessingTimeService(errors, clock=monotonic)
    yield service
    assert service.shutdown_and_await(MINUTE)


@pytest.mark.parametrize(
    ("timestamp", "now", "delay"), [(10, 10, 1), (15, 10, 6), (9, 10, 0), (-5, 10, 0), (0, -3, 4)]
)
def test_delay_is_one_millisecond_more(timestamp: int, now: int, delay: int) -> None:
    """A.56: a timer for T runs once the clock is past T; one for the past at once."""
    assert delay_until(timestamp, now) == delay


def test_callback_gets_its_timestamp_after_its_time(service: SystemProcessingTimeService) -> None:
    """A.56."""
    seen: list[tuple[int, int]] = []
    at = service.get_current_processing_time() + 5
    future = service.register_timer(
        at, lambda timestamp: seen.append((timestamp, service.get_current_processing_time()))
    )
    assert future.result(PATIENCE) is None
    ((timestamp, clock),) = seen
    assert timestamp == at
    assert clock > at


def test_the_clock_is_the_systems(monkeypatch: pytest.MonkeyPatch, errors: Errors) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 7_999_999)
    assert SystemProcessingTimeService(errors).get_current_processing_time() == 7


def test_past_timers_run_at_once_and_in_the_order_of_time(
    monkeypatch: pytest.MonkeyPatch, service: SystemProcessingTimeService
) -> None:
    """Delays count from the registration, so that takes no time here."""
    seen: list[int] = []
    started, block = threading.Event(), threading.Event()
    service.register_timer(0, lambda _: (started.set(), block.wait(PATIENCE)))
    assert started.wait(PATIENCE)
    nanos = time.monotonic_ns()
    with monkeypatch.context() as clock:
        clock.setattr(time, "monotonic_ns", lambda: nanos)
        now = service.get_current_processing_time()
        futures = [service.register_timer(now + ahead, seen.append) for ahead in (30, 10, 20)]
    until(lambda: time.monotonic_ns() > nanos + 32_000_000)
    block.set()
    assert wait(futures, timeout=PATIENCE).not_done == set()
    assert seen == [now + 10, now + 20, now + 30]


def test_an_earlier_timer_overtakes_the_one_that_is_waited_for(
    service: SystemProcessingTimeService,
) -> None:
    late = service.register_timer(service.get_current_processing_time() + LONG, lambda _: None)
    until(lambda: service.pending == 1)
    assert service.register_timer(0, lambda _: None).result(PATIENCE) is None
    assert not late.done()


def test_cancel_takes_the_task_out_at_once(service: SystemProcessingTimeService) -> None:
    """A.60."""
    seen: list[int] = []
    now = service.get_current_processing_time()
    futures = [service.register_timer(now + LONG + i, seen.append) for i in range(100)]
    assert service.pending == 100
    assert all(future.cancel() for future in futures)
    assert all(future.cancel() for future in futures), "again it is cancelled still"
    assert service.pending == 0
    assert wait(futures, timeout=PATIENCE).not_done == set()
    with pytest.raises(CancelledError):
        futures[0].result(0)
    assert seen == []


def test_a_task_that_ran_cannot_be_cancelled(service: SystemProcessingTimeService) -> None:
    future = service.register_timer(0, lambda _: None)
    future.result(PATIENCE)
    assert not future.cancel()


def test_fixed_rate_counts_from_the_first_time(service: SystemProcessingTimeService) -> None:
    """A.61: the timestamp is the previous one plus the period."""
    seen: list[int] = []
    future = service.schedule_at_fixed_rate(seen.append, 0, timedelta(milliseconds=2))
    until(lambda: len(seen) >= 5)
    assert future.cancel()
    assert {b - a for a, b in pairwise(seen)} == {2}
    assert service.pending == 0


def test_fixed_delay_counts_from_the_end_of_the_call(service: SystemProcessingTimeService) -> None:
    """A.61: the timestamp is the time of the end of the last call plus the period."""
    seen: list[int] = []
    ended: list[int] = []

    def slow(timestamp: int) -> None:
        seen.append(timestamp)
        time.sleep(0.005)
        ended.append(service.get_current_processing_time())

    future = service.schedule_with_fixed_delay(slow, 1, 3)
    until(lambda: len(ended) >= 4)
    assert future.cancel()
    until(lambda: len(ended) == len(seen))
    assert all(later >= end + 3 for end, later in zip(ended, seen[1:], strict=False))


def test_periodic_task_may_cancel_itself(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    scheduled = threading.Event()

    def cancel_itself(timestamp: int) -> None:
        calls.append(timestamp)
        assert scheduled.wait(PATIENCE)
        future.cancel()

    future = service.schedule_at_fixed_rate(cancel_itself, 5, 1)
    scheduled.set()
    assert wait([future], timeout=PATIENCE).not_done == set()
    time.sleep(0.02)
    assert len(calls) == 1


def test_exceptions_go_to_the_handler_and_the_task_stays(
    service: SystemProcessingTimeService, errors: Errors
) -> None:
    """A.61."""
    calls: list[int] = []

    def fail(timestamp: int) -> None:
        calls.append(timestamp)
        raise ValueError("the callback failed")

    future = service.schedule_at_fixed_rate(fail, 0, 1)
    until(lambda: len(calls) >= 3)
    future.cancel()
    one = service.register_timer(0, fail)
    assert one.result(PATIENCE) is None, "the handler has the error, not the future"
    assert {str(error) for error in errors} == {"the callback failed"}


def test_a_handler_that_raises_does_not_stop_the_clock(caplog: pytest.LogCaptureFixture) -> None:
    def handler(error: BaseException) -> None:
        raise RuntimeError("the handler failed, too") from error

    service = SystemProcessingTimeService(handler)
    service.register_timer(0, lambda _: 1 / 0).result(PATIENCE)
    assert service.register_timer(0, lambda _: None).result(PATIENCE) is None
    assert service.shutdown_and_await(MINUTE)
    assert "exception handler" in caplog.text


def test_quiesce_drops_what_is_pending(service: SystemProcessingTimeService) -> None:
    """A.57, A.58: pending and periodic ones are cancelled, later ones never run."""
    seen: list[int] = []
    one = service.register_timer(service.get_current_processing_time() + LONG, seen.append)
    periodic = service.schedule_at_fixed_rate(seen.append, LONG, 1)
    assert service.quiesce().result(PATIENCE) is None
    assert one.cancelled()
    assert wait([one, periodic], timeout=PATIENCE).not_done == set(), "who waits is told"
    with pytest.raises(CancelledError):
        periodic.result(0)
    inert = service.register_timer(0, seen.append)
    repeated = service.schedule_with_fixed_delay(seen.append, 0, 1)
    time.sleep(0.01)
    assert not inert.done()
    assert not repeated.done()
    assert inert.cancel()
    assert seen == []
    assert service.quiesce() is service.quiesce()


def test_quiesce_is_done_when_the_running_callback_has_ended(
    service: SystemProcessingTimeService,
) -> None:
    """A.58."""
    started, go_on = threading.Event(), threading.Event()
    running = service.register_timer(0, lambda _: (started.set(), go_on.wait(PATIENCE)))
    assert started.wait(PATIENCE)
    quiesced = service.quiesce()
    assert not quiesced.done()
    assert not running.cancel(), "it runs"
    go_on.set()
    assert quiesced.result(PATIENCE) is None
    assert running.done()


def test_shutdown_drops_and_refuses(service: SystemProcessingTimeService) -> None:
    """A.57."""
    pending = service.register_timer(service.get_current_processing_time() + LONG, print)
    assert not service.is_terminated()
    service.shutdown()
    assert service.is_terminated()
    assert pending.cancelled()
    with pytest.raises(IllegalStateError, match="shut down"):
        service.register_timer(0, print)
    with pytest.raises(IllegalStateError, match="shut down"):
        service.schedule_at_fixed_rate(print, 0, 1)
    service.quiesce()
    assert service.is_terminated()


def test_shutdown_and_await_says_whether_all_has_ended(
    service: SystemProcessingTimeService,
) -> None:
    """A.62, and A.59: what runs is not interrupted, for Python cannot; it is waited for."""
    started, go_on = threading.Event(), threading.Event()
    service.register_timer(0, lambda _: (started.set(), go_on.wait(PATIENCE)))
    assert started.wait(PATIENCE)
    assert not service.shutdown_and_await(10)
    go_on.set()
    assert service.shutdown_and_await("60 seconds")
    assert service.shutdown_and_await(0)


def test_shutdown_from_a_callback_does_not_wait_for_itself(
    service: SystemProcessingTimeService,
) -> None:
    answers: list[bool] = []
    service.register_timer(0, lambda _: answers.append(service.shutdown_and_await(LONG)))
    until(lambda: answers == [False])


def test_a_service_that_was_never_used_has_no_thread(errors: Errors) -> None:
    service = SystemProcessingTimeService(errors, name="never-used")
    assert "never-used" not in {thread.name for thread in threading.enumerate()}
    assert service.shutdown_and_await(0)


def test_far_times_are_waited_for(service: SystemProcessingTimeService) -> None:
    far = service.register_timer((1 << 63) - 1, print)
    assert service.register_timer(0, lambda _: None).result(PATIENCE) is None
    assert not far.done()


def test_what_is_refused(service: SystemProcessingTimeService) -> None:
    with pytest.raises(ArgumentTypeError, match="function of a timestamp"):
        service.register_timer(0, None)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="period"):
        service.schedule_at_fixed_rate(print, 0, 0)
    with pytest.raises(IllegalArgumentError, match="initial_delay"):
        service.schedule_with_fixed_delay(print, -1, 1)
    with pytest.raises(IllegalArgumentError, match="timestamp"):
        service.register_timer(1.5, print)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="exception_handler"):
        SystemProcessingTimeService(None)  # type: ignore[arg-type]


def test_statistics_count_what_became_of_all(
    service: SystemProcessingTimeService, errors: Errors
) -> None:
    later = service.get_current_processing_time() + LONG
    futures = [service.register_timer(later, print) for _ in range(5)]
    service.register_timer(0, lambda _: 1 / 0).result(PATIENCE)
    service.register_timer(0, lambda _: None).result(PATIENCE)
    assert futures[0].cancel()
    assert futures[0].cancel()
    seen = service.statistics()
    assert (seen.pending, seen.registered, seen.called) == (4, 7, 2)
    assert (seen.failed, seen.cancelled, seen.dropped) == (1, 1, 0)
    service.shutdown()
    assert not futures[1].cancel() or futures[1].cancelled()
    seen = service.statistics()
    assert (seen.pending, seen.cancelled, seen.dropped) == (0, 1, 4)


def test_a_hundred_thousand_pending_timers(service: SystemProcessingTimeService) -> None:
    """Their number is not felt by those that are due, and an end drops all of them."""
    later = service.get_current_processing_time() + LONG
    futures = [service.register_timer(later + i, print) for i in range(100_000)]
    assert service.register_timer(0, lambda _: None).result(PATIENCE) is None
    assert all(future.cancel() for future in futures[::2])
    assert service.pending == 50_000
    assert service.shutdown_and_await(MINUTE)
    assert all(future.cancelled() for future in futures)
    assert service.pending == 0


@pytest.mark.stress
def test_many_threads_register_and_cancel(service: SystemProcessingTimeService) -> None:
    """Every callback runs once or is cancelled, and none is both."""
    ran: list[int] = []
    outcomes: list[tuple[int, int]] = []

    def work() -> None:
        now = service.get_current_processing_time()
        futures = [service.register_timer(now + i % 3, ran.append) for i in range(500)]
        cancelled = sum(future.cancel() for future in futures[::2])
        wait(futures, timeout=PATIENCE)
        outcomes.append((cancelled, sum(future.cancelled() for future in futures)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(asked == found for asked, found in outcomes)
    assert len(ran) == 4 * 500 - sum(found for _, found in outcomes)
    assert service.pending == 0


def test_a_periodic_callback_that_is_due_and_cancelled_is_not_called(
    service: SystemProcessingTimeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread has taken it out of the wheel, and `cancel` returns True before the call."""
    calls: list[int] = []
    taken = service._next

    def take_and_cancel() -> object:
        task = taken()
        if task is not None and task.period:
            assert task.future.cancel()
        return task

    monkeypatch.setattr(service, "_next", take_and_cancel)
    future = service.schedule_at_fixed_rate(calls.append, 0, 1)
    assert wait([future], timeout=PATIENCE).not_done == set()
    assert calls == []
