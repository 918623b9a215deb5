"""Mails and mailboxes in wrong hands: bad arguments, exclusion, garbage."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from flinkish._core.mailbox.mailbox import Mail, MailboxQueue, MailOptions
from flinkish._core.testing.state import limit_segments

T = 300.0  # s, for what must not hang


def nothing() -> None:
    pass


def put_all(queue: MailboxQueue, mails: list[Mail]) -> None:
    for mail in mails:
        queue.put(mail)


class TestMails:
    def test_a_mail_runs_its_command(self) -> None:
        calls: list[int] = []
        mail = Mail(lambda: calls.append(1), 3, "append")
        mail.run()
        mail.run()
        assert calls == [1, 1]
        assert (mail.priority, mail.options, mail.description) == (3, MailOptions.DEFAULT, "append")

    def test_an_executor_runs_the_command(self) -> None:
        class Executor:
            def run_throwing(self, command: object) -> None:
                assert command is nothing
                raise KeyError("ran")

        with pytest.raises(KeyError, match="ran"):
            Mail(nothing, 0, action_executor=Executor()).run()

    def test_a_deferrable_mail_hides_its_priority(self) -> None:
        """A.20."""
        mail = Mail(nothing, 3, options=MailOptions.DEFERRABLE)
        assert (mail.priority, mail.original_priority) == (-1, 3)
        assert repr(mail) == "<Mail 'nothing' priority=3 deferrable>"

    def test_a_description_is_made_when_it_is_read(self) -> None:
        """A.20."""
        made: list[int] = []

        class Part:
            def __str__(self) -> str:
                made.append(1)
                return "7"

        mail = Mail(nothing, 0, "checkpoint %s of %d %%", description_args=(Part(), 9))
        assert made == []
        assert mail.description == "checkpoint 7 of 9 %"
        assert made == [1]
        assert Mail(nothing, 0, "100 %").description == "100 %"
        assert Mail(Part, 0).description.endswith("Part")

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            ((7, 0), None, TypeError, "must be callable without arguments, not int"),
            ((nothing, "1"), None, TypeError, "an int from -1 to 2147483647, not '1' of type str"),
            ((nothing, -2), None, ValueError, "priority -2 is out of range"),
            ((nothing, 2**31), None, ValueError, "2147483648 is out of range"),
            ((nothing, 2**80), None, ValueError, "out of range"),
            ((nothing, 0), 1, TypeError, r"MailOptions.DEFAULT, .URGENT or .DEFERRABLE, not 1"),
        ],
    )
    def test_bad_mails(
        self, arguments: tuple[object, ...], options: object, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            Mail(*arguments, options=options)  # type: ignore[arg-type]

    def test_a_mailbox_holds_mails_only(self) -> None:
        queue = MailboxQueue()
        for put in (queue.put, queue.put_first):
            with pytest.raises(TypeError, match="objects of the class Mail, not function"):
                put(nothing)  # type: ignore[arg-type]
        for take in (queue.take, queue.try_take, queue.try_take_ignoring_deferrable):
            with pytest.raises(ValueError, match="out of range"):
                take(-2)
        assert queue.size() == 0


class TestExclusion:
    def test_close_waits_and_sees_all_that_was_put(self) -> None:
        """A.19."""
        queue = MailboxQueue()
        inside = threading.Event()

        def put_ten() -> None:
            inside.set()
            for _ in range(10):
                queue.put(Mail(nothing, 1))
                threading.Event().wait(0.002)

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(queue.run_exclusively, put_ten)
            assert inside.wait(T)
            assert len(queue.close()) == 10
            done.result(T)

    def test_it_may_be_nested_and_fail(self) -> None:
        queue = MailboxQueue()

        def inner() -> int:
            queue.put(Mail(nothing, 0))
            raise KeyError("inner")

        def outer() -> int:
            with pytest.raises(KeyError):
                queue.run_exclusively(inner)
            assert queue.try_take() is not None
            queue._check()
            return 3

        assert queue.run_exclusively(outer) == 3
        with ThreadPoolExecutor(1) as pool:
            pool.submit(queue.put, Mail(nothing, 0)).result(T)
        queue._check()

    def test_waiting_within_is_refused(self) -> None:
        queue = MailboxQueue()
        with pytest.raises(RuntimeError, match="use try_take there"):
            queue.run_exclusively(queue.take)

    def test_others_wait_for_their_turn(self) -> None:
        queue = MailboxQueue()
        order: list[str] = []
        with ThreadPoolExecutor(8) as pool:
            started = threading.Barrier(9)

            def put(name: str) -> None:
                started.wait(T)
                queue.put(Mail(nothing, 0, name))
                order.append("outside")

            def hold() -> None:
                started.wait(T)
                for _ in range(20):
                    queue.put(Mail(nothing, 0, "inside"))
                    threading.Event().wait(0.001)
                order.append("inside")

            done = [pool.submit(put, str(number)) for number in range(8)]
            queue.run_exclusively(hold)
            for future in done:
                future.result(T)
        assert order == ["inside"] + ["outside"] * 8
        found = [mail.description for mail in queue.close()]
        assert found[:20] == ["inside"] * 20
        assert sorted(found[20:]) == list("01234567")


class TestShortOfMemory:
    def test_a_put_that_finds_no_memory_changes_nothing(self) -> None:
        queue = MailboxQueue()
        mail = Mail(nothing, 0, "mail")
        limit_segments(4_000)
        try:
            with pytest.raises((MemoryError, OverflowError)):
                put_all(queue, [mail] * 1_000)
            held = queue.size()
            assert 100 < held < 1_000
            queue._check()
            assert queue.try_take() is mail
            queue.put(mail)
            with pytest.raises((MemoryError, OverflowError)):
                queue.put(mail)
        finally:
            limit_segments(None)
        queue.put(mail)
        queue._check()
        assert len(queue.drain()) == held + 1

    def test_a_lane_that_finds_no_memory_changes_nothing(self) -> None:
        queue = MailboxQueue()
        limit_segments(1_000)
        try:
            with pytest.raises((MemoryError, OverflowError)):
                put_all(queue, [Mail(nothing, priority) for priority in range(1_000)])
            held = queue.size()
            queue._check()
        finally:
            limit_segments(None)
        assert [mail.priority for mail in queue.drain()] == list(range(held))


class TestGarbage:
    def test_a_circle_through_a_mailbox_is_collected(self) -> None:
        class Owner:
            def __init__(self) -> None:
                self.queue = MailboxQueue()
                for _ in range(100):
                    self.queue.put(Mail(lambda: self, 0))

        gone = weakref.ref(Owner())
        gc.collect()
        assert gone() is None

    def test_mails_are_given_up_with_their_mailbox(self) -> None:
        class Command:
            def __call__(self) -> None:
                pass

        command = Command()
        gone = weakref.ref(command)
        queue = MailboxQueue()
        queue.put(Mail(command, 0))
        queue.put(Mail(command, 4, options=MailOptions.URGENT))
        del command, queue
        gc.collect()
        assert gone() is None

    def test_a_finaliser_may_use_the_mailbox(self) -> None:
        """No Python code runs while the lock is held."""
        queue = MailboxQueue()

        class Command:
            def __call__(self) -> None:
                pass

            def __del__(self) -> None:
                if queue.size() < 5_000:
                    queue.put(Mail(nothing, 0))

        for _ in range(200):
            queue.put(Mail(Command(), 0))
            queue.try_take()
            queue.try_take()
        queue.drain()
        queue._check()
