"""Legacy sources: their thread, their lock, their end (Flink: A.53, A.54)."""

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from flinkish.common.elements import (
    CheckpointBarrier,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    CancelTaskError,
    CorruptStateError,
    TaskCancellationError,
    UnsupportedOperationError,
)
from flinkish.functions import CheckpointListener, SourceFunction
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    FileSystemCheckpointStorage,
    SourceStreamTask,
    TaskState,
)
from flinkish.task.checkpoint_lock import CheckpointLock
from tests.task.jobs import Counting, Running, running
from tests.waiting import PATIENCE, until

Context = SourceFunction.SourceContext
WIDE = 10**9


class Scripted(SourceFunction):
    """Runs a function of the context."""

    def __init__(self, script: Any) -> None:
        self.script = script
        self.cancelled = threading.Event()

    def run(self, ctx: Context) -> None:
        self.script(ctx)

    def cancel(self) -> None:
        self.cancelled.set()


def test_a_source_that_returns_ends_the_stream() -> None:
    """A.53: the greatest watermark, the end of the data, on another thread than the task's."""
    threads = set()

    def script(ctx: Context) -> None:
        threads.add(threading.get_ident())
        ctx.collect("a")
        ctx.collect_with_timestamp("b", 5)
        ctx.emit_watermark(4)
        ctx.emit_watermark(Watermark(5))
        ctx.mark_as_temporarily_idle()
        ctx.mark_as_temporarily_idle()
        ctx.collect("c")

    out = ElementChannel()
    task = SourceStreamTask(Scripted(script), out.output)
    task.invoke()
    assert out.drain() == [
        *(StreamRecord("a"), StreamRecord("b", 5), Watermark(4), Watermark(5)),
        *(WatermarkStatus.IDLE, WatermarkStatus.ACTIVE, StreamRecord("c")),
        Watermark.MAX_WATERMARK,
    ]
    assert threading.get_ident() not in threads
    assert task.state is TaskState.FINISHED
    assert task.statistics().busy_time_ms is None


def test_what_a_source_raises_fails_the_task() -> None:
    """A.53"""

    def script(ctx: Context) -> None:
        ctx.collect(1)
        raise ValueError("broken")

    task = SourceStreamTask(Scripted(script), ElementChannel().output)
    with pytest.raises(ValueError, match="broken"):
        task.invoke()
    assert task.state is TaskState.FAILED


def test_no_checkpoint_sees_a_hold_that_failed_half_way() -> None:
    """The trigger waits for the lock while the hold fails, and is declined."""
    held = threading.Event()

    class Halfway(Counting):
        def run(self, ctx: Context) -> None:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                held.set()
                until(lambda: not task._lock._gate.is_set())
                raise ValueError("before the state")

    out, source = ElementChannel(), Halfway(5)
    task = SourceStreamTask(source, out.output)
    with running(task) as (run,):
        held.wait(PATIENCE)
        assert task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE) is False
        assert str(run.join()) == "before the state"
    assert out.drain() == [StreamRecord(0)]
    assert task.statistics().checkpoints_taken == 0


def test_an_error_that_leaves_a_hold_fails_the_task_wherever_it_is_caught() -> None:
    def script(ctx: Context) -> None:
        try:
            with ctx.get_checkpoint_lock():
                ctx.collect(1)
                raise ValueError("caught")
        except ValueError:
            source.cancelled.wait(PATIENCE)

    source = Scripted(script)
    task = SourceStreamTask(source, ElementChannel().output)
    with pytest.raises(ValueError, match="caught"):
        task.invoke()


def test_an_error_that_a_hold_keeps_is_its_own_affair() -> None:
    def script(ctx: Context) -> None:
        with ctx.get_checkpoint_lock():
            try:
                with ctx.get_checkpoint_lock():
                    raise ValueError("kept")
            except ValueError:
                ctx.collect(1)

    out = ElementChannel()
    SourceStreamTask(Scripted(script), out.output).invoke()
    assert out.drain() == [StreamRecord(1), Watermark.MAX_WATERMARK]


def test_cancelling_a_source_that_listens() -> None:
    source = Counting(WIDE)
    task = SourceStreamTask(source, ElementChannel(WIDE).output)
    with running(task) as (run,):
        until(lambda: source.next > 10)
        task.cancel()
        assert run.join() is None
    assert not source.running
    assert task.state is TaskState.CANCELED


def test_a_source_that_ignores_cancel_but_emits_is_ended() -> None:
    ended, begun = [], threading.Event()

    def script(ctx: Context) -> None:
        begun.set()
        try:
            while True:
                ctx.collect(1)
        except CancelTaskError as error:
            ended.append(str(error))
            raise

    task = SourceStreamTask(Scripted(script), ElementChannel(WIDE).output)
    with running(task) as (run,):
        assert begun.wait(PATIENCE)  # a task that is cancelled before that starts no source
        task.cancel()
        assert run.join() is None
    assert "was cancelled" in ended[0]


def test_a_source_that_waits_for_room_is_cancelled() -> None:
    source, out = Counting(WIDE), ElementChannel(2)
    task = SourceStreamTask(source, out.output)
    with running(task) as (run,):
        until(lambda: len(out) == 2)
        task.cancel()
        assert run.join() is None
    assert source.next == 2


def test_a_source_that_never_returns_is_shown() -> None:
    """A bounded wait, then an error with the stack of its thread."""
    begun, let_go = threading.Event(), threading.Event()

    def sleeps_through_it(ctx: Context) -> None:
        begun.set()
        let_go.wait(PATIENCE)
        ctx.collect("too late")

    out = ElementChannel()
    task = SourceStreamTask(Scripted(sleeps_through_it), out.output, cancel_timeout=50)
    with running(task) as (run,):
        assert begun.wait(PATIENCE)
        task.cancel()
        error = run.join()
        assert isinstance(error, TaskCancellationError)
        assert "within 50 ms" in str(error)
        assert "sleeps_through_it" in error.stack
        assert task.state is TaskState.FAILED
        let_go.set()
    assert len(out) == 0


def test_a_cancel_that_raises_does_not_stop_the_cancelling(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Bad(Counting):
        def cancel(self) -> None:
            raise ValueError("bad cancel")

    task = SourceStreamTask(Bad(WIDE), ElementChannel(WIDE).output)
    with running(task) as (run,):
        task.cancel()
        assert run.join() is None
    assert "bad cancel" in caplog.text


def test_an_error_of_a_mail_cancels_the_source() -> None:
    class Failing(Counting, CheckpointListener):
        def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
            raise ValueError(checkpoint_id)

    source = Failing(WIDE)
    task = SourceStreamTask(source, ElementChannel(WIDE).output)
    with running(task) as (run,):
        until(lambda: source.next > 0)
        task.notify_checkpoint_complete_async(7)
        error = run.join()
    assert isinstance(error, ValueError)
    assert not source.running


# --- checkpoints


class Pairs(Counting):
    """Emits each number twice, in one step, slowly enough for mails to come between."""

    def run(self, ctx: Context) -> None:
        while self.running and self.next < self.end:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                time.sleep(0.0002)
                ctx.collect(self.next)
                self.next += 1


@pytest.mark.stress
def test_a_checkpoint_never_sees_a_half_emitted_record() -> None:
    """A.53: the barrier stands between two steps, and the state is that of its place."""
    source, out = Pairs(WIDE), ElementChannel(WIDE)
    states: dict[int, int] = {}

    class Responder:
        def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> None:
            states[meta.id] = int(state)

        def decline_checkpoint(self, meta: object, error: BaseException) -> None: ...

        def close(self) -> None: ...

    task = SourceStreamTask(source, out.output)
    task.set_checkpoint_responder(Responder())
    with running(task):
        for number in range(1, 101):
            meta = CheckpointMetaData(number, 0)
            assert task.trigger_checkpoint_async(meta).result(PATIENCE) is True
    records = 0
    for element in out.drain():
        if isinstance(element, CheckpointBarrier):
            assert records == 2 * states[element.id]
        else:
            records += 1
    assert len(states) == 100


def test_a_quick_loop_does_not_keep_mails_out() -> None:
    """A bare lock would be taken again before a mail gets it, for seconds."""
    source = Counting(WIDE)
    task = SourceStreamTask(source, ElementChannel(WIDE).output)
    with running(task):
        for number in range(1, 201):
            meta = CheckpointMetaData(number, 0)
            assert task.trigger_checkpoint_async(meta).result(PATIENCE) is True
    assert task.statistics().checkpoints_taken == 200


def test_a_checkpoint_passes_a_source_that_waits_for_room() -> None:
    source, out = Counting(WIDE), ElementChannel(2)
    task = SourceStreamTask(source, out.output)
    with running(task):
        until(lambda: len(out) == 2)
        assert task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE) is True
        assert out.drain()[2:] == [CheckpointBarrier(1, 0)]
        until(lambda: len(out) == 2)
    assert task.statistics().back_pressured_time_ms >= 0


def test_the_lock_is_reentrant_and_others_wait() -> None:
    lock = CheckpointLock(lambda: None, lambda _: None)
    lock.adopt()
    seen = []

    def other() -> None:
        with lock, lock:
            seen.append("other")

    thread = threading.Thread(target=other)
    with lock:
        thread.start()
        with lock:
            seen.append("inner")
        seen.append("outer")
    thread.join()
    assert seen == ["inner", "outer", "other"]


def test_a_source_starts_again_where_its_checkpoint_was(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    source, out = Counting(WIDE), ElementChannel(WIDE)
    task = SourceStreamTask(source, out.output, checkpoint_storage=storage)
    with running(task):
        until(lambda: source.next > 5)
        assert task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE) is True
        until(lambda: source.next > 1000)
    elements = out.drain()
    first = [one.value for one in elements[: elements.index(CheckpointBarrier(1, 0))]]
    again = Counting(first[-1] + 4)
    SourceStreamTask(again, out.output, checkpoint_storage=storage).invoke()
    rest = [one.value for one in out.drain() if isinstance(one, StreamRecord)]
    assert first + rest == list(range(len(first) + 3))


def test_state_for_a_source_without_state_is_refused() -> None:
    task = SourceStreamTask(Scripted(lambda ctx: None), ElementChannel().output)
    task.set_initial_state(1, b"5")
    with pytest.raises(CorruptStateError, match="is no CheckpointedFunction"):
        task.invoke()


@pytest.mark.stress
def test_cancelling_at_any_moment_ends_everything() -> None:
    """The task ends, its thread too, and each trigger is answered."""
    for round_ in range(80):
        source, out = Counting(WIDE), ElementChannel(4 if round_ % 2 else WIDE)
        task = SourceStreamTask(source, out.output)
        run = Running(task)
        answers = []
        for number in range(1, 1 + random.randint(0, 5)):
            answers.append(task.trigger_checkpoint_async(CheckpointMetaData(number, 0)))
            time.sleep(random.random() / 1000)
        task.cancel()
        assert run.join() is None
        assert task.state is TaskState.CANCELED
        taken = [answer.result(0) for answer in answers]
        barriers = [one for one in out.drain() if isinstance(one, CheckpointBarrier)]
        assert taken.count(True) == len(barriers)


def test_bad_parts_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="must be a SourceFunction"):
        SourceStreamTask(object(), ElementChannel().output)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="has no emit"):
        SourceStreamTask(Counting(1), None)  # type: ignore[arg-type]
    task = SourceStreamTask(Counting(1), ElementChannel().output)
    assert task.operator is not None
    with pytest.raises(UnsupportedOperationError, match="takes no elements"):
        task.operator.process_element(StreamRecord(1))
