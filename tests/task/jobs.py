"""Operators, sources and helpers that the tests of tasks share."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from flinkish.common.elements import StreamElement, StreamRecord, Watermark
from flinkish.functions import CheckpointedFunction, SourceFunction
from flinkish.operators import StreamOperator
from flinkish.task import InputStatus, StreamTask
from flinkish.task.channel import ElementChannel
from tests.processes import LONGEST_S
from tests.waiting import until


class Tracing(StreamOperator):
    """Passes records on and writes down what happens to it, and on which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []
        self.threads: set[int] = set()
        self.count = 0
        self.fail_on: Any = None

    def note(self, event: str) -> None:
        self.events.append(event)
        self.threads.add(threading.get_ident())
        if event == self.fail_on:
            raise ValueError(event)

    def restore_state(self, state: bytes) -> None:
        super().restore_state(state)
        self.count = json.loads(state)
        self.note(f"restore {self.count}")

    def open(self) -> None:
        super().open()
        self.note("open")

    def process_element(self, record: StreamRecord) -> None:
        self.note(f"element {record.value}")
        self.count += 1
        self.output.emit(record)

    def process_watermark(self, watermark: Watermark) -> None:
        self.note(f"watermark {watermark.timestamp}")
        super().process_watermark(watermark)

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        super().snapshot_state(checkpoint_id)
        self.note(f"snapshot {checkpoint_id}")
        return json.dumps(self.count).encode()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.note(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.note(f"aborted {checkpoint_id}")

    def end_input(self) -> None:
        super().end_input()
        self.note("end input")

    def finish(self) -> None:
        super().finish()
        self.note("finish")

    def close(self) -> None:
        super().close()
        self.note("close")


class Counting(SourceFunction, CheckpointedFunction):
    """Emits 0, 1, 2 … below ``end``; its state is the next one."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.next = 0
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and self.next < self.end:
            with ctx.get_checkpoint_lock():
                ctx.collect_with_timestamp(self.next, self.next)
                self.next += 1

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        return str(self.next).encode()

    def restore_state(self, state: bytes) -> None:
        self.next = int(state)


class Running:
    """A task on a thread of its own, and what it raised."""

    def __init__(self, task: StreamTask) -> None:
        self.task = task
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.task.invoke()
        except BaseException as error:
            self.error = error

    def join(self) -> BaseException | None:
        self.thread.join(LONGEST_S)
        assert not self.thread.is_alive(), "the task did not end"
        return self.error


@contextmanager
def running(*tasks: StreamTask) -> Iterator[list[Running]]:
    """Run tasks, each once it is RUNNING; cancel those that still run in the end."""
    started = [Running(task) for task in tasks]
    try:
        for one in started:
            until(lambda task=one.task: task.is_running or task.state.is_terminal)
        yield started
    finally:
        for one in started:
            one.task.cancel()
        for one in started:
            one.join()


def filled(*elements: Any, end: bool = True) -> ElementChannel:
    """A channel that holds these elements; values become records."""
    channel = ElementChannel()
    for element in elements:
        if isinstance(element, (int, str)):
            element = StreamRecord(element)
        channel.output.emit(element)
    if end:
        channel.output.end_of_data()
    return channel


class Script:
    """An input processor that returns what it is told, and counts its calls."""

    def __init__(self, *statuses: Any) -> None:
        self.statuses = list(statuses)
        self.calls = 0
        self.available: Future[None] = Future()

    def process_input(self) -> Any:
        self.calls += 1
        status = self.statuses.pop(0) if self.statuses else InputStatus.END_OF_INPUT
        return status() if callable(status) else status

    def get_available_future(self) -> Future[None]:
        return self.available


class Output:
    """An output that is available when told so."""

    def __init__(self, available: bool = True) -> None:
        self.elements: list[StreamElement] = []
        self.room: Future[None] = Future()
        self.flushed = False
        if available:
            self.room.set_result(None)

    def emit(self, element: StreamElement) -> None:
        self.elements.append(element)

    def is_available(self) -> bool:
        return self.room.done()

    def get_available_future(self) -> Future[None]:
        return self.room


class Clock:
    """Nanoseconds by hand."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def advance(self, ms: int) -> None:
        self.now += ms * 1_000_000
