"""The loop: mails and default actions, step by step or all at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from flinkish.common.errors import (
    IllegalStateError,
    MailboxClosedError,
)
from flinkish.mailbox import (
    MailboxController,
    MailboxProcessor,
    MailOptions,
    Suspension,
    TaskMailbox,
)
from tests.mailbox.rig import MailboxThread, T, Turns, nothing


class TestLoop:
    def test_the_default_action_runs_until_all_is_done(self) -> None:
        """A.32."""
        action = Turns(3)
        processor = MailboxProcessor(action)
        assert processor.is_mailbox_loop_running
        processor.run_mailbox_loop()
        assert action.count == 3
        assert not processor.is_mailbox_loop_running

    def test_a_turn_is_a_batch_and_an_action(self) -> None:
        """A.30: what a mail puts waits for the next turn, unless the action is suspended."""
        events: list[str] = []
        suspensions: list[Suspension] = []

        def twice(name: str) -> None:
            events.append(name)
            executor.execute(lambda: events.append(f"{name} again"))

        def action(controller: MailboxController) -> None:
            events.append("action")
            if len(suspensions) == 1:
                controller.all_actions_completed()
                return
            suspensions.append(controller.suspend_default_action())
            executor.execute(lambda: twice("c"))
            executor.execute(lambda: executor.execute(suspensions[0].resume))

        processor = MailboxProcessor(action)
        executor = processor.main_mailbox_executor
        for name in "ab":
            executor.execute(lambda name=name: twice(name))
        processor.run_mailbox_loop()
        first = ["a", "b", "action"]
        assert events == [*first, "a again", "b again", "c", "c again", "action"]

    def test_mails_and_actions_take_turns(self) -> None:
        """A.32: mails from another thread stop a busy default action."""
        stop = threading.Event()
        runs: list[int] = []

        def action(controller: MailboxController) -> None:
            runs.append(1)
            if stop.is_set():
                controller.all_actions_completed()

        with MailboxThread(action) as processor:
            processor.get_mailbox_executor(0).execute(stop.set, "stop")
        assert runs
        assert processor.statistics().mails_run >= 1

    def test_a_mail_that_puts_itself_starves_no_action(self) -> None:
        """A.31: three actions, three mails."""
        action = Turns(3)
        processor = MailboxProcessor(action)
        executor = processor.get_mailbox_executor(0)
        runs: list[int] = []

        def again() -> None:
            runs.append(1)
            executor.execute(again, "again")

        executor.execute(again, "again")
        processor.run_mailbox_loop()
        assert (action.count, len(runs)) == (3, 3)

    def test_urgent_mail_that_puts_itself_starves_nobody(self) -> None:
        action = Turns(3)
        processor = MailboxProcessor(action)
        executor = processor.get_mailbox_executor(0)
        normal: list[int] = []

        def urgent() -> None:
            executor.execute(urgent, "urgent", options=MailOptions.URGENT)

        urgent()
        for _ in range(5):
            executor.execute(lambda: normal.append(1), "normal")
        processor.run_mailbox_loop()
        assert action.count == 3
        assert len(normal) == 5

    def test_urgent_mail_starves_nobody_while_the_action_is_suspended(self) -> None:
        suspensions: list[Suspension] = []
        action = Turns(2, t1=lambda c: suspensions.append(c.suspend_default_action()))
        processor = MailboxProcessor(action)
        executor = processor.get_mailbox_executor(0)

        def urgent() -> None:
            executor.execute(urgent, "urgent", options=MailOptions.URGENT)
            if suspensions and executor.mailbox.size() == 1:
                executor.execute(lambda: suspensions[0].resume(), "resume")

        urgent()
        processor.run_mailbox_loop()
        assert action.count == 2

    def test_an_error_of_a_mail_comes_out_unchanged(self) -> None:
        """A.22."""
        processor = MailboxProcessor(nothing)
        error = KeyError("expected")

        def fail() -> None:
            raise error

        processor.main_mailbox_executor.execute(fail, "fail")
        with pytest.raises(KeyError) as raised:
            processor.run_mailbox_loop()
        assert raised.value is error

    def test_an_error_of_the_default_action_comes_out_unchanged(self) -> None:
        def fail(_: MailboxController) -> None:
            raise KeyError("expected")

        with pytest.raises(KeyError, match="expected"):
            MailboxProcessor(fail).run_mailbox_loop()

    def test_a_reported_error_comes_before_all_mail(self) -> None:
        """A.40: whatever it is, unchanged."""
        for error in (KeyError("reported"), KeyboardInterrupt()):
            processor = MailboxProcessor(nothing)
            runs: list[int] = []
            processor.main_mailbox_executor.execute(lambda runs=runs: runs.append(1))
            processor.main_mailbox_executor.execute(
                lambda runs=runs: runs.append(1), options=MailOptions.URGENT
            )
            processor.report_throwable(error)
            with pytest.raises(type(error)) as raised:
                processor.run_mailbox_loop()
            assert raised.value is error
            assert runs == []
        with pytest.raises(TypeError, match="needs an exception, not 'text'"):
            processor.report_throwable("text")  # type: ignore[arg-type]

    def test_an_error_is_reported_from_another_thread(self) -> None:
        suspended = threading.Event()

        def wait(controller: MailboxController) -> None:
            controller.suspend_default_action()
            suspended.set()

        def report() -> None:
            with MailboxThread(wait) as processor:
                assert suspended.wait(T)
                processor.report_throwable(KeyError("reported"))

        with pytest.raises(KeyError, match="reported"):
            report()

    def test_an_action_in_c_lets_other_threads_run(self) -> None:
        """The loop gives the GIL up where the action never does."""
        items = [0] * 10**6
        mailbox = TaskMailbox()
        processor = MailboxProcessor(type, mailbox)  # type(controller), no Python code
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(lambda: (sum(items), processor.all_actions_completed()))
            processor.run_mailbox_loop()
            done.result(T)


class TestSuspendingTheLoop:
    def test_a_suspended_loop_goes_on_later(self) -> None:
        """A.35: mails stay, the loop counts as running."""
        stop: list[int] = []
        processor = MailboxProcessor(lambda c: c.all_actions_completed() if stop else None)

        def suspend_and_stop() -> None:
            processor.suspend()
            processor.main_mailbox_executor.execute(lambda: stop.append(1), "stop")

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(suspend_and_stop)
            processor.run_mailbox_loop()
            done.result(T)
        assert processor.is_mailbox_loop_running
        assert stop == []
        processor.run_mailbox_loop()
        assert not processor.is_mailbox_loop_running
        assert stop == [1]

    def test_suspended_before_it_ran(self) -> None:
        """A.35."""
        action = Turns(1)
        processor = MailboxProcessor(action)
        processor.suspend()
        processor.run_mailbox_loop()
        assert action.count == 0
        processor.run_mailbox_loop()
        assert action.count == 1

    def test_completed_before_it_ran(self) -> None:
        """A.36."""
        action = Turns(9)
        processor = MailboxProcessor(action)
        processor.all_actions_completed()
        processor.run_mailbox_loop()
        processor.run_mailbox_loop()
        assert action.count == 0
        assert not processor.is_mailbox_loop_running
        assert not processor.run_mailbox_step()
        assert not processor.run_single_mailbox_loop()

    def test_nothing_happens_after_close(self) -> None:
        """A.37."""
        processor = MailboxProcessor(nothing)
        processor.close()
        processor.all_actions_completed()
        processor.suspend()
        with pytest.raises(MailboxClosedError, match="loop cannot start"):
            processor.run_mailbox_loop()

    def test_a_mail_that_closes_ends_the_loop(self) -> None:
        processor = MailboxProcessor(nothing)
        processor.main_mailbox_executor.execute(processor.close, "close")
        processor.main_mailbox_executor.execute(lambda: pytest.fail("ran"), "behind")
        processor.run_mailbox_loop()
        assert processor.statistics().mails_dropped == 1

    def test_a_quiesced_loop_can_be_completed_from_within(self) -> None:
        action = Turns(3, t1=lambda c: processor.prepare_close())
        processor = MailboxProcessor(action)
        processor.run_mailbox_loop()
        assert action.count == 3


class TestSteps:
    def test_a_step_runs_one_thing(self) -> None:
        """A.41."""
        runs: list[str] = []
        processor = MailboxProcessor(lambda _: runs.append("action"))
        executor = processor.main_mailbox_executor
        for name in "ab":
            executor.execute(lambda name=name: runs.append(name))
        assert [processor.run_mailbox_step() for _ in range(3)] == [True] * 3
        assert runs == ["a", "b", "action"]

    def test_a_single_loop_runs_one_of_each(self) -> None:
        """A.41."""
        runs: list[str] = []
        processor = MailboxProcessor(lambda _: runs.append("action"))
        executor = processor.main_mailbox_executor
        for name in "ab":
            executor.execute(lambda name=name: runs.append(name))
        assert [processor.run_single_mailbox_loop() for _ in range(3)] == [True] * 3
        assert runs == ["a", "action", "b", "action", "action"]

    def test_no_step_without_mail_or_action(self) -> None:
        """A.41: and none of them waits."""
        processor = MailboxProcessor(lambda c: c.suspend_default_action())
        assert processor.run_mailbox_step()
        assert not processor.run_mailbox_step()
        assert not processor.run_single_mailbox_loop()
        processor.main_mailbox_executor.execute(nothing)
        assert processor.run_single_mailbox_loop()
        processor.suspend()
        assert processor.run_mailbox_step()
        assert not processor.run_mailbox_step()

    def test_steps_belong_to_the_mailbox_thread(self) -> None:
        processor = MailboxProcessor(nothing)
        with ThreadPoolExecutor(1) as pool:
            for call in (
                processor.run_mailbox_loop,
                processor.run_mailbox_step,
                processor.run_single_mailbox_loop,
                processor.drain,
                processor.prepare_close,
                processor.close,
            ):
                with pytest.raises(IllegalStateError, match="belongs to the mailbox thread"):
                    pool.submit(call).result(T)

    def test_a_mailbox_may_change_hands(self) -> None:
        action = Turns(3)
        processor = MailboxProcessor(action)

        def work() -> None:
            processor.mailbox.adopt()
            processor.run_mailbox_loop()

        with ThreadPoolExecutor(1) as pool:
            pool.submit(work).result(T)
        assert action.count == 3
