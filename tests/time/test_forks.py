"""Timers after a fork: what has threads refuses work in the child, with the error of mailboxes."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from flinkish.common.errors import IllegalStateError, RejectedExecutionError
from flinkish.mailbox import Mail, TaskMailbox
from flinkish.operators.async_threads import ThreadPool
from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory, SystemTimer, TimerTask
from flinkish.time import SystemProcessingTimeService, WheelTimer
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


def test_a_wheel_timer() -> None:
    async def main() -> None:
        timer = WheelTimer()
        timer.call_later(3600, print)
        in_a_fork(refused(lambda: timer.call_later(0, print)))
        in_a_fork(refused(lambda: timer.call_at(0, print)))
        called = asyncio.Event()
        timer.call_later(0, called.set)  # the parent's goes on
        await asyncio.wait_for(called.wait(), PATIENCE)

    asyncio.run(main())


def test_a_wheel_timer_of_a_loop_that_does_not_run_can_be_used_in_a_child() -> None:
    loop = asyncio.new_event_loop()
    timer = WheelTimer(loop)

    def child() -> None:
        called = loop.create_future()
        timer.call_later(0, called.set_result, None)
        loop.run_until_complete(asyncio.wait_for(called, PATIENCE))

    in_a_fork(child)
    loop.close()


def test_a_pool_of_threads() -> None:
    pool = ThreadPool(2, "forked")

    def runs() -> None:
        done = threading.Event()
        pool.submit(done.set)
        assert done.wait(PATIENCE)

    in_a_fork(runs)
    runs()
    in_a_fork(refused(lambda: pool.submit(print)))
    in_a_fork(pool.close)
    runs()
    pool.close()


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
