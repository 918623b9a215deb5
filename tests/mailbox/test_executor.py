"""Executors: executing, submitting, yielding."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalStateError,
    MailboxClosedError,
    RejectedExecutionError,
)
from flinkish.mailbox import (
    MAX_PRIORITY,
    MIN_PRIORITY,
    MailboxExecutor,
    MailboxProcessor,
    MailOptions,
    StreamTaskActionExecutor,
    SynchronizedStreamTaskActionExecutor,
    TaskMailbox,
)
from tests.mailbox.rig import T, nothing

DEFERRABLE = MailOptions.DEFERRABLE


@pytest.fixture
def processor() -> MailboxProcessor:
    return MailboxProcessor(nothing)


@pytest.fixture
def executor(processor: MailboxProcessor) -> MailboxExecutor:
    return processor.get_mailbox_executor(5)


class TestYielding:
    def test_yield_runs_one_mail(self, executor: MailboxExecutor) -> None:
        """A.24, A.25."""
        runs: list[str] = []
        for name in "abc":
            executor.execute(lambda name=name: runs.append(name), name)
        executor.yield_()
        assert executor.try_yield()
        assert executor.try_yield_ignoring_deferrable()
        assert not executor.try_yield()
        assert runs == ["a", "b", "c"]

    def test_yield_waits(self, executor: MailboxExecutor) -> None:
        """A.24: for mail of its priority or more."""
        runs: list[str] = []

        def put() -> None:
            while not executor.mailbox.awaits_mail:
                pass
            other = MailboxExecutor(executor.mailbox, 4)
            other.execute(lambda: runs.append("lower"))
            executor.execute(lambda: runs.append("own"))

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(put)
            executor.yield_()
            done.result(T)
        assert runs == ["own"]

    def test_an_error_comes_out_of_the_yield(self, executor: MailboxExecutor) -> None:
        """A.24: unchanged, where Java wraps what it must not throw."""
        for call in (executor.yield_, executor.try_yield):
            executor.execute(lambda: {}["missing"])
            with pytest.raises(KeyError, match="missing"):
                call()

    def test_deferrable_mail_is_for_the_main_loop(self, processor: MailboxProcessor) -> None:
        """A.25: no operator's executor runs it by yielding."""
        runs: list[int] = []
        own = processor.get_mailbox_executor(42)
        own.execute(lambda: runs.append(1), "deferred", options=DEFERRABLE)
        for priority in (42, 41, 0, 43):
            assert not processor.get_mailbox_executor(priority).try_yield()
        assert processor.run_mailbox_step()
        assert runs == [1]
        own.execute(lambda: runs.append(2), "deferred", options=DEFERRABLE)
        assert processor.main_mailbox_executor.try_yield()

    def test_deferrable_mail_by_its_own_priority(self, processor: MailboxProcessor) -> None:
        """A.26."""
        own = processor.get_mailbox_executor(42)
        own.execute(nothing, options=DEFERRABLE)
        assert not processor.get_mailbox_executor(43).try_yield_ignoring_deferrable()
        assert own.try_yield_ignoring_deferrable()
        own.execute(nothing, options=DEFERRABLE)
        assert processor.get_mailbox_executor(0).try_yield_ignoring_deferrable()

    def test_a_mail_of_the_highest_priority_is_seen_by_all(
        self, processor: MailboxProcessor
    ) -> None:
        """As A.49 needs it."""
        highest = processor.get_mailbox_executor(MAX_PRIORITY)
        highest.execute(nothing)
        assert processor.get_mailbox_executor(MAX_PRIORITY - 1).try_yield()

    def test_a_mail_waits_for_a_later_one(self, executor: MailboxExecutor) -> None:
        """What yielding is for."""
        done: list[str] = []

        def needs_other() -> None:
            while "other" not in done:
                executor.yield_()
            done.append("needy")

        executor.execute(needs_other)
        executor.execute(lambda: done.append("other"))
        executor.yield_()
        assert done == ["other", "needy"]

    def test_interrupt_and_idleness(self, processor: MailboxProcessor) -> None:
        """A.28, A.29."""
        executor = processor.main_mailbox_executor
        assert not executor.is_idle()
        suspending = MailboxProcessor(lambda c: c.suspend_default_action())
        executor = suspending.get_mailbox_executor(9)
        assert not executor.is_idle()
        suspending.run_mailbox_step()
        assert executor.is_idle()
        assert not executor.should_interrupt()
        suspending.main_mailbox_executor.execute(nothing)
        assert executor.should_interrupt()
        assert not executor.is_idle()
        suspending.run_mailbox_step()
        assert executor.is_idle()
        suspending.prepare_close()
        assert not executor.is_idle()
        assert not MailboxExecutor(TaskMailbox(), 0).is_idle()

    def test_yielding_belongs_to_the_mailbox_thread(self, executor: MailboxExecutor) -> None:
        calls = [executor.yield_, executor.try_yield, executor.try_yield_ignoring_deferrable]
        with ThreadPoolExecutor(1) as pool:
            for call in [*calls, executor.should_interrupt, executor.is_idle]:
                with pytest.raises(IllegalStateError, match="belongs to the mailbox thread"):
                    pool.submit(call).result(T)


class TestSubmitting:
    def test_a_result(self, executor: MailboxExecutor) -> None:
        future = executor.submit(lambda: 7, "seven")
        assert not future.done()
        executor.yield_()
        assert future.result(T) == 7

    def test_an_error_goes_to_the_future_alone(self, executor: MailboxExecutor) -> None:
        """A.23."""
        future = executor.submit(lambda: {}["missing"])
        executor.yield_()
        assert isinstance(future.exception(T), KeyError)

    def test_what_ends_the_process_goes_to_both(self, executor: MailboxExecutor) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        future = executor.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            executor.yield_()
        assert isinstance(future.exception(T), KeyboardInterrupt)

    def test_a_cancelled_function_is_not_called(self, executor: MailboxExecutor) -> None:
        future = executor.submit(lambda: pytest.fail("called"))
        assert future.cancel()
        executor.yield_()
        assert future.cancelled()
        assert wait([future], T).done == {future}

    def test_close_wakes_who_waits_for_a_future(self, processor: MailboxProcessor) -> None:
        """A.27."""
        future = processor.main_mailbox_executor.submit(nothing)
        with ThreadPoolExecutor(1) as pool:
            waited = pool.submit(wait, [future], T)
            processor.close()
            assert waited.result(T).done == {future}

    def test_a_future_may_be_awaited(self, executor: MailboxExecutor) -> None:
        async def main() -> int:
            future = executor.submit(lambda: 7)
            asyncio.get_running_loop().call_soon(executor.try_yield)
            return await future

        assert asyncio.run(main()) == 7

    def test_descriptions(self, executor: MailboxExecutor) -> None:
        """A.20."""
        executor.submit(nothing)
        executor.submit(nothing, "checkpoint %d", description_args=[7])
        executor.execute(nothing)
        executor.execute(nothing, "text", options=MailOptions.URGENT)
        found = [mail.description for mail in executor.mailbox.drain()]
        assert found == ["text", "nothing", "checkpoint 7", "nothing"]


class TestRefusals:
    def test_a_closed_mailbox(self, processor: MailboxProcessor) -> None:
        """A.21."""
        processor.close()
        executor = processor.main_mailbox_executor
        for call in (executor.execute, executor.submit):
            with pytest.raises(
                RejectedExecutionError, match="<Mail 'late' priority=-1> was rejected"
            ) as raised:
                call(nothing, "late")
            assert isinstance(raised.value.__cause__, MailboxClosedError)

    def test_bad_arguments(self, executor: MailboxExecutor) -> None:
        with pytest.raises(TypeError, match="callable without arguments, not int"):
            executor.execute(7)  # type: ignore[arg-type]
        with pytest.raises(ArgumentTypeError, match="callable without arguments, not int"):
            executor.submit(7)  # type: ignore[arg-type,var-annotated]
        with pytest.raises(TypeError, match=r"MailOptions.DEFAULT, .URGENT or .DEFERRABLE, not 2"):
            executor.execute(nothing, options=2)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="the priority -2 is out of range"):
            MailboxExecutor(executor.mailbox, -2)
        assert executor.priority == 5
        assert MailboxProcessor(nothing).main_mailbox_executor.priority == MIN_PRIORITY


class TestActionExecutors:
    def test_immediate(self) -> None:
        """A.54."""
        calls: list[int] = []
        immediate = StreamTaskActionExecutor.IMMEDIATE
        immediate.run(lambda: calls.append(1))
        immediate.run_throwing(lambda: calls.append(2))
        assert immediate.call(lambda: 3) == 3
        assert calls == [1, 2]

    def test_mails_run_under_the_lock(self) -> None:
        """A.54: execute, submit, yields; the default action does not."""
        synchronized = SynchronizedStreamTaskActionExecutor()
        held: list[bool] = []

        def look() -> None:
            def try_lock() -> bool:
                got = synchronized.lock.acquire(blocking=False)  # type: ignore[attr-defined]
                if got:
                    synchronized.lock.release()  # type: ignore[attr-defined]
                return not got

            with ThreadPoolExecutor(1) as pool:
                held.append(pool.submit(try_lock).result(T))

        processor = MailboxProcessor(lambda _: look(), None, synchronized)
        executor = processor.get_mailbox_executor(0)
        executor.execute(look)
        executor.execute(look)
        executor.submit(look)
        executor.yield_()
        for _ in range(3):
            assert processor.run_mailbox_step()
        assert held == [True, True, True, False]

    def test_the_lock_keeps_mails_out(self) -> None:
        lock = threading.RLock()
        executor = SynchronizedStreamTaskActionExecutor(lock)
        assert executor.lock is lock
        order: list[str] = []
        with ThreadPoolExecutor(1) as pool:
            with lock:
                done = pool.submit(executor.run, lambda: order.append("mail"))
                threading.Event().wait(0.01)
                order.append("source")
            done.result(T)
        assert order == ["source", "mail"]

    def test_not_a_lock(self) -> None:
        with pytest.raises(ArgumentTypeError, match=r"a lock, for instance threading.RLock\(\)"):
            SynchronizedStreamTaskActionExecutor(7)  # type: ignore[arg-type]


def test_a_description_that_cannot_be_formatted_hides_no_refusal(
    processor: MailboxProcessor, executor: MailboxExecutor
) -> None:
    processor.close()
    for arguments in ([1, 2], ["x"], []):
        with pytest.raises(RejectedExecutionError, match="checkpoint %d"):
            executor.execute(nothing, "checkpoint %d", description_args=arguments)


def test_an_async_function_is_refused() -> None:
    async def later() -> None: ...

    class Later:
        async def __call__(self) -> None: ...

        async def method(self) -> None: ...

    mailbox = TaskMailbox()
    executor = MailboxExecutor(mailbox, 0)
    for function in (later, partial(later), Later(), Later().method):
        with pytest.raises(ArgumentTypeError, match="a coroutine that nobody awaits"):
            executor.submit(function)
        with pytest.raises(ArgumentTypeError, match="coroutine would be awaited by nobody"):
            executor.execute(function)
    assert not mailbox.has_mail()
