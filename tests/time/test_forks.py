"""Timers after a fork: what has threads refuses work in the child, with the error of mailboxes."""

import threading
from collections.abc import Callable

import pytest

from flinkish.common.errors import IllegalStateError, RejectedExecutionError
from flinkish.mailbox import Mail, TaskMailbox
from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory, SystemTimer, TimerTask
from flinkish.time import SystemProcessingTimeService
from tests.forking import in_a_fork
from tests.waiting import PATIENCE

HOUR = 3_600_000


class Never(TimerTask):
    def run(self) -> None:
        raise AssertionError


class Pending(DelayedOperation):
    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        return

    def on_expiration(self) -> None:
        return


def refused(work: Callable[[], object]) -> Callable[[], None]:
    def child() -> None:
        with pytest.raises(IllegalStateError, match="before a fork, in the parent process"):
            work()

    return child


def test_mailboxes_set_the_example() -> None:
    mailbox = TaskMailbox()
    in_a_fork(refused(lambda: mailbox.put(Mail(print, 0))))


def test_a_timer() -> None:
    with SystemTimer("forked") as timer:
        timer.add(Never(HOUR))
        for work in (lambda: timer.add(Never(0)), lambda: timer.add(Never(5)), timer.advance_clock):
            in_a_fork(refused(work))
        in_a_fork(timer.close)  # which waits for nobody
        in_a_fork(timer.statistics)
        timer.add(Never(HOUR))  # the parent's goes on
        assert timer.size() == 2


def test_a_purgatory() -> None:
    with DelayedOperationPurgatory("forked") as purgatory:
        operation = Pending(HOUR)
        purgatory.try_complete_else_watch(operation, ["key"])
        in_a_fork(refused(lambda: purgatory.try_complete_else_watch(Pending(1), ["key"])))
        in_a_fork(refused(purgatory.advance_clock))
        in_a_fork(purgatory.shutdown)
        assert purgatory.watched() == 1
        assert not operation.is_completed()


def test_a_processing_time_service() -> None:
    service = SystemProcessingTimeService(lambda error: None)
    service.register_timer(10**15, lambda timestamp: None)
    in_a_fork(refused(lambda: service.register_timer(0, lambda timestamp: None)))
    in_a_fork(refused(lambda: service.schedule_at_fixed_rate(lambda timestamp: None, 0, 1)))

    def end() -> None:
        service.quiesce().result(PATIENCE)
        assert service.shutdown_and_await(0)

    in_a_fork(end)
    assert service.pending == 1
    assert service.shutdown_and_await("60 seconds")


def test_a_lock_that_is_held_at_the_fork_holds_up_no_child() -> None:
    service = SystemProcessingTimeService(lambda error: None)
    service.register_timer(10**15, lambda timestamp: None)
    with SystemTimer("held") as timer, service._changed, timer._lock:
        timer.add(Never(HOUR))
        for work in (lambda: timer.add(Never(0)), lambda: service.register_timer(0, print)):
            child = threading.Thread(target=in_a_fork, args=(refused(work),))
            child.start()
            child.join(PATIENCE)
            assert not child.is_alive()
    service.shutdown()


def test_what_has_no_threads_yet_can_be_used_in_a_child() -> None:
    """As modules make it that are imported before workers are forked."""
    service = SystemProcessingTimeService(lambda error: None)
    timer = SystemTimer("lazy")
    purgatory = DelayedOperationPurgatory("lazy")

    def child() -> None:
        called, ran = threading.Event(), threading.Event()
        service.register_timer(0, lambda timestamp: called.set())

        class Runs(TimerTask):
            def run(self) -> None:
                ran.set()

        timer.add(Runs(1))
        assert called.wait(PATIENCE)
        assert ran.wait(PATIENCE)
        assert not purgatory.try_complete_else_watch(Pending(HOUR), ["key"])
        purgatory.shutdown()

    in_a_fork(child)
    purgatory.shutdown()
    timer.close()
    with pytest.raises(RejectedExecutionError, match="is closed"):
        timer.add(Never(1))
    service.shutdown()
