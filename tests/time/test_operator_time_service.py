"""An operator's share of a processing-time service: fact A.63."""

import threading

import pytest

from flinkish.testing import TestProcessingTimeService
from flinkish.time import OperatorProcessingTimeService, SystemProcessingTimeService
from tests.waiting import PATIENCE


def test_callbacks_that_have_not_started_are_skipped() -> None:
    """A.63; the service of the others goes on."""
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    seen: list[int] = []
    mine, other = OperatorProcessingTimeService(clock), OperatorProcessingTimeService(clock)
    mine.register_timer(5, seen.append)
    mine.schedule_at_fixed_rate(seen.append, 6, 1)
    mine.schedule_with_fixed_delay(seen.append, 6, 1)
    other.register_timer(7, seen.append)
    clock.set_current_time(5)
    assert seen == [5]
    assert mine.quiesce().done()
    clock.set_current_time(9)
    assert seen == [5, 7]
    for inert in (
        mine.register_timer(0, seen.append),
        mine.schedule_at_fixed_rate(seen.append, 0, 1),
        mine.schedule_with_fixed_delay(seen.append, 0, 1),
    ):
        assert not inert.done()
    clock.set_current_time(20)
    assert seen == [5, 7]
    assert mine.get_current_processing_time() == 20
    assert mine.shutdown_and_await(0)


def test_the_wrapper_stands_between_service_and_callback() -> None:
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    mails: list[tuple[str, int]] = []

    def to_mailbox(callback: object) -> object:
        return lambda timestamp: mails.append((getattr(callback, "__name__", ""), timestamp))

    share = OperatorProcessingTimeService(clock, to_mailbox)  # type: ignore[arg-type]

    def flush(timestamp: int) -> None:
        raise AssertionError("the wrapper keeps it")

    share.register_timer(3, flush)
    clock.set_current_time(3)
    assert mails == [("flush", 3)]


@pytest.mark.stress
def test_quiesce_waits_for_what_runs() -> None:
    """A.63: done when running callbacks have ended."""
    service = SystemProcessingTimeService(lambda error: None)
    share = OperatorProcessingTimeService(service)
    started, go_on = threading.Event(), threading.Event()
    share.register_timer(0, lambda _: (started.set(), go_on.wait(PATIENCE)))
    assert started.wait(PATIENCE)
    quiesced = share.quiesce()
    assert not quiesced.done()
    assert not share.shutdown_and_await(1)
    go_on.set()
    assert quiesced.result(PATIENCE) is None
    assert share.shutdown_and_await(60_000)
    assert service.shutdown_and_await(60_000)
