"""Callers that stop waiting for a future: nothing else may notice."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event, Thread
from typing import Any

from flinkish.common.elements import StreamRecord
from flinkish.task import (
    CheckpointCoordinator,
    CheckpointMetaData,
    ElementChannel,
    FileSystemCheckpointStorage,
    InputStatus,
    MultiChannelInput,
    OneInputStreamTask,
    TaskState,
)
from flinkish.time import SystemProcessingTimeService
from tests.racing import switched_every
from tests.task.jobs import Tracing
from tests.waiting import PATIENCE, until


def test_a_checkpoint_is_kept_though_its_caller_gave_up(bench: Any) -> None:
    one = bench()
    future = one.trigger()
    waiting = one.trigger()
    assert future.cancel()
    one.complete(1)
    assert one.a.told == one.b.told == [1]
    assert one.a.triggered == [1, 2]  # the one that was queued has its turn
    one.complete(2)
    assert waiting.result(0).checkpoint_id == 2
    assert one.storage.load_latest().checkpoint_id == 2
    assert wait([future], PATIENCE).done == {future}


def test_a_checkpoint_fails_though_its_caller_gave_up(bench: Any) -> None:
    one = bench(tolerable_failures=0, timeout=100)
    one.trigger().cancel()
    one.clock.set_current_time(1_100)
    assert one.a.told == [(1, 0)]
    assert one.a.failure.reason == "CHECKPOINT_EXPIRED"  # of too many failures, and of nothing else


def test_shutting_down_with_callers_that_gave_up(bench: Any) -> None:
    one = bench()
    futures = [one.trigger() for _ in range(3)]
    for future in futures:
        future.cancel()
    one.coordinator.shutdown()
    assert one.a.told == [(1, 0)]
    assert wait(futures, PATIENCE).not_done == set()


def test_asyncio_gives_up_while_tasks_take_a_checkpoint(tmp_path: Path) -> None:
    """With real threads, over and over; the job goes on and ends well."""
    channel, out = ElementChannel(), ElementChannel(1_000_000)
    task = OneInputStreamTask(Tracing(), channel.input, out.output, name="sum")
    storage = FileSystemCheckpointStorage(tmp_path)
    kept = []

    async def give_up(coordinator: CheckpointCoordinator) -> None:
        for turn in range(60):
            channel.output.emit(StreamRecord(turn))
            future = coordinator.trigger_checkpoint()
            try:
                await asyncio.wait_for(asyncio.wrap_future(future), turn / 20_000)
            except asyncio.TimeoutError:
                continue

    with switched_every(1e-5), CheckpointCoordinator({"sum": task}, storage) as coordinator:
        thread = Thread(target=task.invoke)
        thread.start()
        until(lambda: task.is_running)
        asyncio.run(give_up(coordinator))
        kept.append(coordinator.trigger_checkpoint().result(PATIENCE).checkpoint_id)
        channel.output.end_of_data()
        thread.join(PATIENCE)
    assert task.state is TaskState.FINISHED
    latest = storage.load_latest()
    assert latest is not None
    assert [latest.checkpoint_id] == kept == [61]


def test_a_task_is_told_though_nobody_waits_for_that(tmp_path: Path) -> None:
    channel = ElementChannel()
    task = OneInputStreamTask(Tracing(), channel.input, ElementChannel().output)
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(task.invoke)
        until(lambda: task.is_running)
        for number in range(1, 200):
            task.notify_checkpoint_complete_async(number).cancel()
            task.trigger_checkpoint_async(CheckpointMetaData(number, 0)).cancel()
        channel.output.end_of_data()
        ended.result(PATIENCE)
    assert task.statistics().last_completed_checkpoint == 199


def test_a_save_that_its_responder_cancels_has_kept_nothing() -> None:
    save: Future[None] = Future()

    class Responder:
        def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> Future[None]:
            return save

        def decline_checkpoint(self, meta: CheckpointMetaData, error: BaseException) -> None:
            raise AssertionError

        def close(self) -> None:
            save.cancel()

    channel = ElementChannel()
    task = OneInputStreamTask(Tracing(), channel.input, ElementChannel().output)
    task.set_checkpoint_responder(Responder())
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(task.invoke)
        until(lambda: task.is_running)
        taken = task.trigger_checkpoint_async(CheckpointMetaData(1, 0))
        until(lambda: task.statistics().checkpoints_taken)
        channel.output.end_of_data()
        ended.result(PATIENCE)
    assert taken.result(PATIENCE) is False


# --- channels


def test_a_feeder_that_gives_up_harms_neither_end() -> None:
    channel = ElementChannel(1)
    news = channel.input.get_available_future()
    assert not news.cancel()
    channel.output.emit(StreamRecord(1))
    assert news.done()
    room = channel.output.get_available_future()
    assert not room.cancel()
    assert channel.input.poll_next() == StreamRecord(1)
    assert room.done()


def test_a_feeder_that_gives_up_does_not_wake_the_reader() -> None:
    inputs = [ElementChannel() for _ in range(2)]
    several = MultiChannelInput([one.input for one in inputs])
    for source in (inputs[0].input, several):
        assert source.poll_next() is InputStatus.NOTHING_AVAILABLE
        available = source.get_available_future()
        assert isinstance(available, Future)
        assert not available.cancel()
        assert not available.done()
    inputs[0].output.emit(StreamRecord(1))
    assert available.done()


def test_a_feeder_waits_for_room_in_asyncio_with_a_time_limit() -> None:
    """The room it does not wait for any longer is room for the task all the same."""
    channel, out = ElementChannel(1), ElementChannel(1_000)
    entered = Event()

    class Slow(Tracing):
        def process_element(self, record: StreamRecord) -> None:
            entered.wait(PATIENCE)
            super().process_element(record)

    task = OneInputStreamTask(Slow(), channel.input, out.output)

    async def feed() -> int:
        gave_up = 0
        for number in range(20):
            while not channel.output.is_available():
                room = asyncio.wrap_future(channel.output.get_available_future())
                try:
                    await asyncio.wait_for(room, 0.001)
                except asyncio.TimeoutError:
                    gave_up += 1
                    entered.set()
            channel.output.emit(StreamRecord(number))
        return gave_up

    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(task.invoke)
        assert asyncio.run(feed()) > 0
        channel.output.end_of_data()
        ended.result(PATIENCE)
    assert task.state is TaskState.FINISHED


# --- timers


def test_nobody_cancels_the_end_of_a_timer_service_for_others() -> None:
    running, go_on = Event(), Event()
    service = SystemProcessingTimeService(lambda error: None)

    def call(timestamp: int) -> None:
        running.set()
        go_on.wait(PATIENCE)

    service.register_timer(0, call)
    assert running.wait(PATIENCE)
    assert not service.quiesce().cancel()
    go_on.set()
    service.quiesce().result(PATIENCE)
    assert service.shutdown_and_await("60 seconds")
