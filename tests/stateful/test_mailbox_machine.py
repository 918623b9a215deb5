"""The mailbox against its model, step by step, with its own check after every step."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from flinkish.common.errors import MailboxClosedError
from flinkish.mailbox import MAX_PRIORITY, Mail, MailOptions, TaskMailbox
from tests.models.mailbox import BURST, FRONT, NORMAL, URGENT, ModelMailbox

priorities = st.integers(-1, 3) | st.just(MAX_PRIORITY)
options = st.sampled_from([MailOptions.DEFAULT, *MailOptions])


def nothing() -> None:
    pass


class MailboxMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.mailbox = TaskMailbox()
        self.model = ModelMailbox()
        self.stormed = False

    def put_one(self, priority: int, option: MailOptions, first: bool = False) -> None:
        mail = Mail(nothing, priority, "a mail", options=option)
        kind = FRONT if first else URGENT if option is MailOptions.URGENT else NORMAL
        deferrable = option is MailOptions.DEFERRABLE
        put = self.mailbox.put_first if first else self.mailbox.put
        if self.model.put(mail, kind, priority, deferrable):
            put(mail)
        else:
            with pytest.raises(MailboxClosedError):
                put(mail)

    @rule(priority=priorities, option=options, times=st.integers(1, 4))
    def put(self, priority: int, option: MailOptions, times: int) -> None:
        for _ in range(times):
            self.put_one(priority, option)

    @rule(priority=priorities, option=options)
    def put_first(self, priority: int, option: MailOptions) -> None:
        self.put_one(priority, option, first=True)

    @rule(priority=priorities, times=st.integers(1, 3))
    def try_take(self, priority: int, times: int) -> None:
        for _ in range(times):
            if self.model.state == "CLOSED":
                with pytest.raises(MailboxClosedError):
                    self.mailbox.try_take(priority)
            else:
                assert self.mailbox.try_take(priority) is self.model.take(priority)

    @rule(priority=priorities)
    def take(self, priority: int) -> None:
        """A take that would wait is one of the other tests'."""
        if self.model.state == "OPEN" and all(e.priority < priority for e in self.model.entries):
            return
        expected = None if self.model.state == "CLOSED" else self.model.take(priority)
        if expected is None:
            with pytest.raises(MailboxClosedError):
                self.mailbox.take(priority)
        else:
            assert self.mailbox.take(priority) is expected

    @precondition(lambda self: self.model.state != "CLOSED")
    @rule(priority=priorities)
    def take_by_original_priority(self, priority: int) -> None:
        taken = self.mailbox.try_take_ignoring_deferrable(priority)
        assert taken is self.model.take(priority, original=True)

    @rule()
    def create_batch(self) -> None:
        assert self.mailbox.create_batch() is self.model.create_batch()

    @precondition(lambda self: self.model.state != "CLOSED")
    @rule(times=st.integers(1, 4))
    def take_from_batch(self, times: int) -> None:
        for _ in range(times):
            assert self.mailbox.try_take_from_batch() is self.model.take_from_batch()

    @precondition(lambda self: not self.stormed and self.model.state == "OPEN")
    @rule(batch=st.booleans(), priority=priorities)
    def urgent_storm(self, batch: bool, priority: int) -> None:
        """Each urgent mail that is run puts another one."""
        self.stormed = True
        for _ in range(BURST + 3):
            self.put_one(priority, MailOptions.URGENT)
            if batch:
                assert self.mailbox.try_take_from_batch() is self.model.take_from_batch()
            else:
                assert self.mailbox.try_take(priority) is self.model.take(priority)

    @rule()
    def drain(self) -> None:
        assert self.mailbox.drain() == self.model.drain()

    @precondition(lambda self: len(self.model) > 6)
    @rule()
    def quiesce(self) -> None:
        self.mailbox.quiesce()
        self.model.quiesce()

    @precondition(lambda self: len(self.model) > 8)
    @rule()
    def close(self) -> None:
        assert self.mailbox.close() == self.model.close()

    @invariant()
    def holds_together(self) -> None:
        self.mailbox._check()
        assert self.mailbox.size() == len(self.model)
        assert self.mailbox.has_mail() == bool(self.model.entries)
        assert self.mailbox.state.name == self.model.state


MailboxMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50)
TestMailbox = MailboxMachine.TestCase
