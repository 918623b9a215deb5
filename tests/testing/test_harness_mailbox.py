"""The mailbox of a harness, as an operator with threads of its own uses it."""

import threading
from collections.abc import Callable

import pytest

from flinkish.common import StreamRecord
from flinkish.common.errors import MailboxClosedError, RejectedExecutionError
from flinkish.mailbox import MailboxExecutor
from flinkish.operators import StreamOperator
from flinkish.testing import OneInputStreamOperatorTestHarness


class Elsewhere(StreamOperator):
    """Has another thread put a mail for each record; takes ``capacity`` at a time."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.under_way = 0

    @property
    def executor(self) -> MailboxExecutor:
        executor = self.environment.mailbox_executor
        assert executor is not None
        return executor

    def process_element(self, record: StreamRecord) -> None:
        while self.under_way == self.capacity:
            self.executor.yield_()
        self.under_way += 1
        self.elsewhere(lambda: self.executor.execute(lambda: self.complete(record)))

    def complete(self, record: StreamRecord) -> None:
        self.under_way -= 1
        if record.value == "bad":
            raise ValueError("bad")
        self.output.emit(record)

    def elsewhere(self, action: Callable[[], object]) -> None:
        thread = threading.Thread(target=action)
        thread.start()
        thread.join()

    def end_input(self) -> None:
        super().end_input()
        while self.under_way:
            self.executor.yield_()


def opened(capacity: int = 10) -> OneInputStreamOperatorTestHarness[Elsewhere]:
    harness = OneInputStreamOperatorTestHarness(Elsewhere(capacity))
    harness.open()
    return harness


def test_mails_run_when_the_test_says_so_and_where_the_operator_yields() -> None:
    with opened(capacity=2) as harness:
        harness.run_mailbox()  # nothing is there, and nobody waits for it
        harness.process_elements([1, 2])
        assert harness.extract_output_values() == []
        harness.process_element(3)  # full: one goes out first
        assert harness.extract_output_values() == [1]
        harness.run_mailbox()
        assert harness.extract_output_values() == [1, 2, 3]
        assert harness.failure is None
        harness.process_element(4)
        harness.end_input()
        assert harness.extract_output_values()[-1] == 4


def test_failure_is_what_a_task_would_have_failed_with() -> None:
    with opened() as harness:
        harness.process_elements(["good", "bad", "late"])
        harness.run_mailbox()
        assert isinstance(harness.failure, ValueError)
        assert harness.extract_output_values() == ["good"]
        assert harness.mailbox.size() == 1
        harness.run_mailbox()  # the task has failed
        assert harness.extract_output_values() == ["good"]


def test_an_operator_reports_a_failure_from_elsewhere() -> None:
    with opened() as harness:
        fail = harness.operator.environment.fail_externally
        assert fail is not None
        errors = [ValueError("first"), ValueError("second")]
        for error in errors:
            harness.operator.elsewhere(lambda error=error: fail(error))
        assert harness.failure is errors[0]


def test_an_operator_is_told_of_a_completed_checkpoint() -> None:
    told: list[int] = []
    with opened() as harness:
        harness.operator.notify_checkpoint_complete = told.append  # type: ignore[method-assign]
        harness.notify_of_completed_checkpoint(3)
    assert told == [3]


def test_mails_that_come_after_the_end_are_refused() -> None:
    harness = opened()
    harness.process_element(1)
    harness.close()
    harness.close()
    assert harness.extract_output_values() == []
    with pytest.raises(RejectedExecutionError):
        harness.operator.executor.execute(lambda: None)
    with pytest.raises(MailboxClosedError):
        harness.run_mailbox()
