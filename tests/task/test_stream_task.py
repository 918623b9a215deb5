"""The task's loop, its times and its end (Flink: A.43 - A.46, A.51, A.52)."""

import signal
import threading

import pytest

from flinkish.common.elements import (
    StreamRecord,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalStateError,
)
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    InputStatus,
    OneInputStreamTask,
    StreamTask,
    TaskState,
)
from flinkish.testing import TestProcessingTimeService
from tests.task.jobs import Clock, Output, Script, Tracing, filled, running
from tests.waiting import PATIENCE, until

META = CheckpointMetaData(1, 10)


# --- the loop


def test_input_is_processed_until_its_end() -> None:
    """A.45"""
    script = Script(*[InputStatus.MORE_AVAILABLE] * 5, InputStatus.END_OF_DATA)
    task = StreamTask(script, Output())
    task.invoke()
    assert script.calls == 7
    assert task.state is TaskState.FINISHED


def test_without_input_the_task_waits_and_is_idle() -> None:
    """A.45, A.46: mails run meanwhile, and their time is not idle time (A.43)."""
    clock = Clock()
    script = Script(InputStatus.NOTHING_AVAILABLE)
    timers = TestProcessingTimeService()  # so that mails come from here alone
    task = StreamTask(script, Output(), clock=clock, processing_time_service=timers)
    with running(task) as (run,):
        until(lambda: script.calls == 1)
        task.mailbox_executor.submit(lambda: clock.advance(5)).result(PATIENCE)  # busy
        until(lambda: task._processor.mailbox.awaits_mail)
        clock.advance(20)
        script.available.set_result(None)
        assert run.join() is None
    statistics = task.statistics()
    assert (statistics.idle_time_ms, statistics.back_pressured_time_ms) == (20, 0)
    assert statistics.busy_time_ms == 5


def test_without_room_the_task_waits_and_is_back_pressured() -> None:
    """A.45: the output comes before the input, whichever status there was."""
    for status in (InputStatus.MORE_AVAILABLE, InputStatus.NOTHING_AVAILABLE):
        clock = Clock()
        output = Output(available=False)
        script = Script(status)
        script.available.set_result(None)
        task = StreamTask(script, output, clock=clock)
        with running(task) as (run,):
            until(lambda task=task: task._processor.mailbox.awaits_mail)
            clock.advance(30)
            output.room.set_result(None)
            assert run.join() is None
        assert task.statistics().back_pressured_time_ms == 30
        assert task.statistics().idle_time_ms == task.statistics().busy_time_ms == 0


def test_what_is_available_by_now_suspends_nobody() -> None:
    """A.45: the future is done when it is looked at, so there is no mail and no wait."""
    script = Script(*[InputStatus.NOTHING_AVAILABLE] * 3)
    script.available.set_result(None)
    task = StreamTask(script)
    task.invoke()
    assert script.calls == 4
    assert task.statistics().idle_time_ms == 0


@pytest.mark.stress
def test_no_wake_up_is_lost() -> None:
    """A.46: availability that comes at any moment resumes the task."""
    total = 1_500
    channel, out = ElementChannel(2), ElementChannel(10**9)
    task = OneInputStreamTask(Tracing(), channel.input, out.output)
    with running(task) as (run,):
        for number in range(total):
            channel.output.emit(StreamRecord(number))
            if number % 7 == 0:
                until(lambda: len(channel) == 0)
        channel.output.end_of_data()
        assert run.join() is None
    values = [one.value for one in out.drain() if isinstance(one, StreamRecord)]
    assert values == list(range(total))


def test_a_wrong_status_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="must return an InputStatus, not 7"):
        StreamTask(Script(7)).invoke()


def test_bad_parts_are_refused_at_once() -> None:
    with pytest.raises(ArgumentTypeError, match="has no process_input"):
        StreamTask(object())  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="has no emit, is_available"):
        StreamTask(Script(), [])  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="is a class: make an instance"):
        StreamTask(Script)  # type: ignore[arg-type]


# --- life


def test_the_order_of_the_end() -> None:
    """A.51: loop, timers quiesced, mailbox closed to new mail, drained, flush, close."""
    operator, events = Tracing(), []
    operator.events = events

    class Flushing(Output):
        def flush(self) -> None:
            events.append(f"flush, mailbox {task._mailbox.state.name}")

        def end_of_data(self, mode: object) -> None:
            events.append("end of data")

    def last() -> InputStatus:
        task.mailbox_executor.execute(lambda: events.append("mail"))
        task._processor.main_mailbox_executor.execute(lambda: events.append("last mail"))
        return InputStatus.END_OF_INPUT

    task = StreamTask(Script(InputStatus.END_OF_DATA, last), Flushing(), operator=operator)
    task.invoke()
    assert events == [
        *("open", "end input", "finish", "end of data"),
        *("mail", "last mail", "flush, mailbox QUIESCED", "close"),
    ]
    assert task.state is TaskState.FINISHED


def test_a_stop_without_drain_does_not_end_the_input() -> None:
    """A.45: STOPPED is endData(NO_DRAIN)."""
    operator = Tracing()
    StreamTask(Script(InputStatus.STOPPED), operator=operator).invoke()
    assert operator.events == ["open", "finish", "close"]


def test_an_error_comes_out_unchanged_and_everything_is_closed() -> None:
    operator = Tracing()
    operator.fail_on = "element 2"
    task = OneInputStreamTask(operator, filled(1, 2, 3).input, Output())
    with pytest.raises(ValueError, match="element 2"):
        task.invoke()
    assert operator.events == ["open", "element 1", "element 2", "close"]
    assert task.state is TaskState.FAILED
    with pytest.raises(IllegalStateError, match="failed: make a new task"):
        task.invoke()


def test_what_fails_at_the_end_too_is_noted() -> None:
    class Failing(Tracing):
        def close(self) -> None:
            raise KeyError("close")

    operator = Failing()
    operator.fail_on = "open"
    with pytest.raises(ValueError, match="open") as raised:
        StreamTask(Script(), operator=operator).invoke()
    assert "KeyError('close')" in raised.value.__notes__[0]


def test_errors_of_mails_and_of_other_threads_fail_the_task() -> None:
    for report in (True, False):
        task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE))
        with running(task) as (run,):
            error = ValueError("from outside")
            if report:
                task.report_throwable(error)
            else:

                def fail(error: ValueError = error) -> None:
                    raise error

                task.mailbox_executor.execute(fail)
            assert run.join() is error
        task.report_throwable(error)  # nothing happens any more
        assert task.state is TaskState.FAILED


def test_cancelling() -> None:
    """The operator is closed and not finished; before invoke it is never opened."""
    operator = Tracing()
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)
    with running(task) as (run,):
        task.cancel()
        task.cancel()
        assert run.join() is None
    assert operator.events == ["open", "close"]
    assert task.state is TaskState.CANCELED
    task.cancel()

    operator = Tracing()
    task = StreamTask(Script(), operator=operator)
    task.cancel()
    task.invoke()
    assert operator.events == ["close"]
    assert task.state is TaskState.CANCELED


def test_everything_runs_on_the_thread_of_invoke() -> None:
    operator = Tracing()
    task = OneInputStreamTask(operator, filled(1, end=False).input, Output())
    with running(task) as (run,):
        assert task.trigger_checkpoint_async(META).result(PATIENCE) is True
        task.notify_checkpoint_complete_async(1).result(PATIENCE)
    assert operator.threads == {run.thread.ident}
    with pytest.raises(IllegalStateError, match="belongs to the mailbox thread"):
        task.mailbox_executor.try_yield()


def test_ctrl_c_ends_a_task_that_waits() -> None:
    operator = Tracing()
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)

    def interrupt() -> None:
        until(lambda: task._processor.mailbox.awaits_mail)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        task.invoke()
    thread.join()
    assert operator.events == ["open", "close"]
    assert task.state is TaskState.FAILED


# --- timers


def test_timers_are_deferred_to_the_mailbox() -> None:
    """A.52: the timer's thread only puts a mail."""
    clock = TestProcessingTimeService()
    fired: list[tuple[int, int]] = []

    class Timed(Tracing):
        def open(self) -> None:
            super().open()
            service = self.environment.processing_time_service
            assert service is not None
            service.register_timer(100, lambda t: fired.append((t, threading.get_ident())))

    task = StreamTask(
        Script(InputStatus.NOTHING_AVAILABLE), operator=Timed(), processing_time_service=clock
    )
    with running(task) as (run,):
        clock.set_current_time(100)
        until(lambda: fired)
    assert fired == [(100, run.thread.ident)]


def test_an_error_of_a_timer_fails_the_task() -> None:
    """A.52"""

    class Timed(Tracing):
        def open(self) -> None:
            super().open()
            service = self.environment.processing_time_service
            assert service is not None
            service.register_timer(0, lambda t: self.note(f"timer {t}"))

    operator = Timed()
    operator.fail_on = "timer 0"
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)
    with pytest.raises(ValueError, match="timer 0") as raised:
        task.invoke()
    assert "processing-time timer of 0" in raised.value.__notes__[0]
