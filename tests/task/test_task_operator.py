"""What a task gives its operator: a mailbox, timers on its thread, room when it is full."""

import threading
from concurrent.futures import Future

import pytest

from flinkish.common.elements import StreamElement, StreamRecord
from flinkish.mailbox import MailOptions
from flinkish.operators import StreamOperator, SupportsSoftBackpressure
from flinkish.task import (
    CheckpointMetaData,
    InputStatus,
    OneInputStreamTask,
    StreamTask,
    TaskState,
)
from flinkish.testing import TestProcessingTimeService
from tests.task.jobs import Clock, Output, Script, Tracing, filled, running
from tests.waiting import PATIENCE, until


class Holding(Tracing):
    """Holds records back until they are completed from another thread; says when it is full."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.held: list[StreamRecord] = []
        self.room: Future[None] | None = None

    def process_element(self, record: StreamRecord) -> None:
        self.note(f"element {record.value}")
        self.held.append(record)

    def is_available(self) -> bool:
        return len(self.held) < self.capacity

    def get_available_future(self) -> Future[None]:
        if self.room is None:
            self.room = Future()
        return self.room

    def complete(self) -> None:
        executor = self.environment.mailbox_executor
        assert executor is not None
        executor.execute(self._emit_first)

    def _emit_first(self) -> None:
        self.output.emit(self.held.pop(0))
        room, self.room = self.room, None
        if room is not None:
            room.set_result(None)

    def end_input(self) -> None:
        super().end_input()
        executor = self.environment.mailbox_executor
        assert executor is not None
        while self.held:
            executor.yield_()


def values(output: Output) -> list[object]:
    return [one.value for one in output.elements if isinstance(one, StreamRecord)]


def test_a_full_operator_gets_no_records_and_checkpoints_go_on() -> None:
    """D.24: the task waits outside the operator."""
    operator, output = Holding(2), Output()
    assert isinstance(operator, SupportsSoftBackpressure)
    task = OneInputStreamTask(operator, filled(1, 2, 3).input, output)
    with running(task) as (run,):
        until(lambda: task._processor.mailbox.awaits_mail)
        assert operator.events == ["open", "element 1", "element 2"]
        assert task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE) is True
        operator.complete()
        until(lambda: "element 3" in operator.events)
        operator.complete()
        operator.complete()
        assert run.join() is None
    assert values(output) == [1, 2, 3]
    assert operator.events[-3:] == ["end input", "finish", "close"]


def test_waiting_for_a_full_operator_is_busy_time_and_for_the_output_comes_first() -> None:
    """A.45, D.24"""
    clock, operator, output = Clock(), Holding(1), Output(available=False)
    task = OneInputStreamTask(
        operator,
        filled(1, end=False).input,
        output,
        clock=clock,
        processing_time_service=TestProcessingTimeService(),  # mails come from here alone
    )
    with running(task) as (run,):
        until(lambda: task._processor.mailbox.awaits_mail)
        clock.advance(100)
        output.room.set_result(None)
        until(lambda: task.statistics().back_pressured_time_ms == 100)
        task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE)  # it waits again
        clock.advance(1000)
        operator.complete()
        until(lambda: values(output) == [1])
        statistics = task.statistics()
        task.cancel()
        assert run.join() is None
    assert statistics.back_pressured_time_ms == 100
    assert statistics.busy_time_ms == 1000
    assert statistics.idle_time_ms == 0


@pytest.mark.parametrize("ending", [False, True])
def test_cancelling_ends_an_operator_that_yields(ending: bool) -> None:
    """While it takes a record, and at the end of its input."""

    class Yielding(Holding):
        def process_element(self, record: StreamRecord) -> None:
            super().process_element(record)
            if not ending:
                self.end_input()

    operator = Yielding(5)
    task = OneInputStreamTask(operator, filled(1).input, Output())
    with running(task) as (run,):
        until(lambda: task._processor.mailbox.awaits_mail)
        task.cancel()
        assert run.join() is None
    assert task.state is TaskState.CANCELED
    assert operator.events[-2:] == ["end input", "close"]


class InParts(Tracing):
    """Works at a record in mails, each of which puts the next, as the guide advises."""

    def __init__(self, options: MailOptions | None, when: str) -> None:
        super().__init__()
        self.options = options
        self.when = when

    def process_element(self, record: StreamRecord) -> None:
        if self.when == "element":
            self.go_on(1)

    def end_input(self) -> None:
        super().end_input()
        if self.when == "end input":
            self.go_on(1)

    def go_on(self, part: int) -> None:
        executor = self.environment.mailbox_executor
        assert executor is not None

        def run() -> None:
            self.note(f"part {part}")
            self.output.emit(StreamRecord(part))
            if part < 5:
                self.go_on(part + 1)

        executor.execute(run, "part %d", description_args=(part,), options=self.options)


@pytest.mark.parametrize("when", ["element", "end input"])
@pytest.mark.parametrize("options", [None, MailOptions.DEFERRABLE, MailOptions.URGENT])
def test_mails_that_put_mails_run_before_the_operator_finishes(
    options: MailOptions | None, when: str
) -> None:
    operator, output = InParts(options, when), filled(end=False)
    task = OneInputStreamTask(operator, filled("x").input, output.output)
    with running(task) as (run,):
        assert run.join() is None
    parts = [f"part {part}" for part in range(1, 6)]
    heard = [event for event in operator.events if event in {*parts, "finish", "close"}]
    assert heard == [*parts, "finish", "close"]
    received = []
    while isinstance(element := output.input.poll_next(), StreamElement):
        received.append(element)
    assert element is InputStatus.END_OF_DATA
    assert [item.value for item in received if isinstance(item, StreamRecord)] == [1, 2, 3, 4, 5]


def test_cancelling_ends_a_task_whose_mails_never_end() -> None:
    class Endless(Tracing):
        def end_input(self) -> None:
            super().end_input()
            self.go_on()

        def go_on(self) -> None:
            executor = self.environment.mailbox_executor
            assert executor is not None
            self.count += 1
            executor.execute(self.go_on)

    operator = Endless()
    task = OneInputStreamTask(operator, filled("x").input, Output())
    with running(task) as (run,):
        until(lambda: operator.count > 100)
        task.cancel()
        assert run.join() is None
    assert task.state is TaskState.CANCELED
    assert "finish" not in operator.events


def test_an_operator_fails_its_task_from_another_thread() -> None:
    operator: StreamOperator = Tracing()
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)
    error = ValueError("from elsewhere")
    with running(task) as (run,):
        fail = operator.environment.fail_externally
        assert fail is not None
        thread = threading.Thread(target=fail, args=[error])
        thread.start()
        thread.join()
        assert run.join() is error
    fail(error)  # it has ended; nothing happens
    assert task.state is TaskState.FAILED
