"""How a processor is made and how it ends."""

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    MailboxClosedError,
    RejectedExecutionError,
)
from flinkish.mailbox import (
    Mail,
    MailboxProcessor,
    MailboxState,
    TaskMailbox,
)
from tests.mailbox.rig import nothing


class TestTheEnd:
    def test_prepare_close_refuses_and_close_cancels(self) -> None:
        """A.27, A.38."""
        processor = MailboxProcessor(nothing)
        executor = processor.get_mailbox_executor(0)
        future = executor.submit(nothing, "pending")
        executor.execute(nothing, "dropped")
        processor.prepare_close()
        assert processor.mailbox.state is MailboxState.QUIESCED
        with pytest.raises(RejectedExecutionError, match="QUIESCED"):
            executor.execute(nothing, "dummy")
        assert not future.done()
        processor.close()
        assert future.cancelled()
        for call in (executor.yield_, executor.try_yield, executor.try_yield_ignoring_deferrable):
            with pytest.raises(MailboxClosedError):
                call()
        statistics = processor.statistics()
        assert (statistics.state, statistics.mails_dropped) == (MailboxState.CLOSED, 2)

    def test_errors_of_cancelling_are_gathered(self) -> None:
        """A.38."""
        from concurrent.futures import Future

        class Stubborn(Future[None]):
            def __call__(self) -> None:
                pass

            def cancel(self) -> bool:
                raise KeyError(id(self))

        processor = MailboxProcessor(nothing)
        stubborn = [Stubborn(), Stubborn()]
        for future in stubborn:
            processor.main_mailbox_executor.execute(future)
        last = processor.main_mailbox_executor.submit(nothing)
        with pytest.raises(KeyError, match=str(id(stubborn[0]))) as raised:
            processor.close()
        assert last.cancelled()
        assert str(id(stubborn[1])) in str(raised.value.__notes__)  # type: ignore[attr-defined]

    def test_drain_runs_what_is_left(self) -> None:
        """A.39."""
        runs: list[str] = []
        processor = MailboxProcessor(nothing)
        for name in "ab":
            processor.main_mailbox_executor.execute(lambda name=name: runs.append(name))
        processor.prepare_close()
        processor.drain()
        assert runs == ["a", "b"]
        assert processor.statistics().mails_queued == 0

    def test_drain_loses_nothing_when_a_mail_fails(self) -> None:
        runs: list[int] = []
        processor = MailboxProcessor(nothing)
        processor.main_mailbox_executor.execute(lambda: [][0])
        processor.main_mailbox_executor.execute(lambda: runs.append(1))
        processor.prepare_close()
        with pytest.raises(IndexError):
            processor.drain()
        processor.drain()
        assert runs == [1]

    def test_with_closes(self) -> None:
        with MailboxProcessor(nothing) as processor:
            future = processor.main_mailbox_executor.submit(nothing)
        assert future.cancelled()


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="the default action must be callable with a Mailbox"):
        MailboxProcessor(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="mailbox must be a TaskMailbox or None, not int"):
        MailboxProcessor(nothing, 7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="action_executor must be a StreamTask"):
        MailboxProcessor(nothing, None, 7)  # type: ignore[arg-type]
    mailbox = TaskMailbox()
    mailbox.put(Mail(nothing, 0))
    assert MailboxProcessor(nothing, mailbox).mailbox is mailbox
