"""Suspending the default action, and resuming it from anywhere."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest

from flinkish.common.errors import (
    IllegalStateError,
    MailboxClosedError,
)
from flinkish.mailbox import (
    MailboxController,
    MailboxProcessor,
    Suspension,
)
from tests.mailbox.rig import MailboxThread, T, Turns, nothing


class TestSuspendingTheAction:
    def test_resume_by_a_mail(self) -> None:
        """A.33."""
        suspensions: list[Suspension] = []
        suspended = threading.Event()

        def suspend(controller: MailboxController) -> None:
            suspensions.append(controller.suspend_default_action())
            suspended.set()

        action = Turns(6, t3=suspend)
        with MailboxThread(action) as processor:
            assert suspended.wait(T)
            while not processor.mailbox.awaits_mail:
                pass
            assert action.count == 3
            processor.get_mailbox_executor(0).execute(suspensions[0].resume, "resume")
        assert action.count == 6

    def test_resume_from_any_thread(self) -> None:
        """A.33: ten thousand times, while others put mails; A.42."""
        switches = 10_000
        waiting: SimpleQueue[Suspension | None] = SimpleQueue()
        count = resumed = 0

        def action(controller: MailboxController) -> None:
            nonlocal count
            assert resumed == count, "called while suspended"
            count += 1
            suspension = controller.suspend_default_action()
            if count == switches:
                controller.all_actions_completed()
            waiting.put(suspension if count < switches else None)

        def unblock(processor: MailboxProcessor) -> None:
            nonlocal resumed
            executor = processor.get_mailbox_executor(0)
            while (suspension := waiting.get(timeout=T)) is not None:
                if resumed % 3 == 0:
                    executor.execute(nothing, "dummy")
                resumed += 1  # the action may begin before `resume` returns
                suspension.resume()

        with ThreadPoolExecutor(1) as pool, MailboxThread(action) as processor:
            done = pool.submit(unblock, processor)
        done.result(T)
        assert count == switches

    def test_resume_on_the_mailbox_thread_is_immediate(self) -> None:
        """A.33: and idempotent, and of its own suspension only."""
        seen: list[bool] = []
        first: list[Suspension] = []

        def suspend(controller: MailboxController) -> None:
            suspension = controller.suspend_default_action()
            seen.append(processor.is_default_action_available())
            suspension.resume()
            suspension.resume()
            seen.append(processor.is_default_action_available())
            first.append(suspension)

        def again(controller: MailboxController) -> None:
            second = controller.suspend_default_action()
            first[0].resume()
            seen.append(processor.is_default_action_available())
            second.resume()

        processor = MailboxProcessor(Turns(3, t1=suspend, t2=again))
        processor.run_mailbox_loop()
        assert seen == [False, True, False]

    def test_resume_after_close_is_swallowed(self) -> None:
        """A.33."""
        suspensions: list[Suspension] = []
        processor = MailboxProcessor(lambda c: suspensions.append(c.suspend_default_action()))
        processor.run_mailbox_step()
        processor.close()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(suspensions[0].resume).result(T)
        suspensions[0].resume()

    def test_misuse(self) -> None:
        """A.34."""
        failures: list[Exception] = []

        def suspend(controller: MailboxController) -> None:
            with ThreadPoolExecutor(1) as pool:
                error = pool.submit(controller.suspend_default_action).exception(T)
            assert isinstance(error, IllegalStateError)
            failures.append(error)
            suspension = controller.suspend_default_action()
            with pytest.raises(IllegalStateError, match="suspended already"):
                controller.suspend_default_action()
            suspension.resume()

        MailboxProcessor(Turns(1, t1=suspend)).run_mailbox_loop()
        assert "belongs to the mailbox thread" in str(failures[0])

    def test_the_timer_stands_still_while_mails_run(self) -> None:
        """A.43."""
        events: list[str] = []

        class Timer:
            def mark_start(self) -> None:
                events.append("start")

            def mark_end(self) -> None:
                events.append("end")

        suspensions: list[Suspension] = []
        action = Turns(2, t1=lambda c: suspensions.append(c.suspend_default_action(Timer())))
        processor = MailboxProcessor(action)
        executor = processor.main_mailbox_executor
        assert processor.run_mailbox_step()
        assert events == []
        executor.execute(lambda: events.append("first"))
        executor.execute(lambda: events.append("second"))
        assert processor.run_mailbox_step()
        assert events == ["end", "first", "start"]
        executor.execute(lambda: suspensions[0].resume())
        processor.run_mailbox_loop()
        assert events[3:] == ["end", "second"]

    def test_waiting_on_a_quiesced_mailbox_ends_with_an_error(self) -> None:
        """Where Flink waits for ever: no resume can come any more."""

        def action(controller: MailboxController) -> None:
            controller.suspend_default_action()
            processor.prepare_close()

        processor = MailboxProcessor(action)
        with pytest.raises(MailboxClosedError, match="no mail of priority -1 or more can come"):
            processor.run_mailbox_loop()
