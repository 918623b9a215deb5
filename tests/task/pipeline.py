"""A job of three tasks - source, count by key, file - that its tests kill and start again.

``python -m tests.task.pipeline DIRECTORY END`` runs it until it ends or is killed.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from flinkish.common.elements import StreamRecord
from flinkish.common.typeinfo import Types
from flinkish.functions import KeyedProcessFunction, RuntimeContext, SourceFunction
from flinkish.operators import KeyedProcessOperator, OperatorEnvironment, StreamOperator
from flinkish.state import ValueStateDescriptor
from flinkish.task import (
    CheckpointCoordinator,
    ElementChannel,
    FileSystemCheckpointStorage,
    OneInputStreamTask,
    SourceStreamTask,
    StreamTask,
)
from tests.task.jobs import Counting, Running
from tests.waiting import until

KEYS = 7


class Unhurried(Counting):
    """Sleeps between elements; emits ``fail_at`` when there is a checkpoint to go back to.

    That is one of this run, taken behind its first element.
    """

    def __init__(self, end: int, directory: Path, fail_at: int | None) -> None:
        super().__init__(end)
        self.directory, self.fail_at = directory, fail_at
        self.first_taken: int | None = None

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        if self.next > 0 and self.first_taken is None:
            self.first_taken = checkpoint_id
        return super().snapshot_state(checkpoint_id)

    def may_fail(self) -> bool:
        return self.first_taken is not None and newest(self.directory) >= self.first_taken

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and self.next < self.end:
            if self.next == self.fail_at:
                until(lambda: self.may_fail() or not self.running)
            with ctx.get_checkpoint_lock():
                ctx.collect_with_timestamp(self.next, self.next)
                self.next += 1
            time.sleep(0.0002)


def newest(directory: Path) -> int:
    """The id of the newest checkpoint, by its name; 0 without one."""
    names = [path.name for path in (directory / "checkpoints").glob("checkpoint-*")]
    return max((int(name.partition("-")[2]) for name in names), default=0)


class CountByKey(KeyedProcessFunction):
    """Numbers the values of each key; at ``fail_at`` it fails."""

    def __init__(self, fail_at: int | None) -> None:
        self.fail_at = fail_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if value == self.fail_at:
            raise ValueError(f"failed at {value}")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield line(value, count)


def line(value: int, count: int) -> str:
    return f"{value % KEYS} {count} {value}\n"


def expected(end: int) -> str:
    return "".join(line(value, value // KEYS + 1) for value in range(end))


class FileSink(StreamOperator):
    """Appends values to a file; a restart cuts off what its checkpoint does not know of."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.length = 0

    def restore_state(self, state: bytes) -> None:
        super().restore_state(state)
        self.length = int(state)

    def open(self) -> None:
        super().open()
        self.file = self.path.open("ab")
        self.file.truncate(self.length)

    def process_element(self, record: StreamRecord) -> None:
        self.length += self.file.write(record.value.encode())

    def process_watermark(self, watermark: object) -> None:
        """Nobody is behind it."""

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        self.file.flush()
        os.fsync(self.file.fileno())
        return str(self.length).encode()

    def close(self) -> None:
        super().close()
        self.file.close()


class SinkOutput:
    """Takes the barriers that come through the sink."""

    def emit(self, element: object) -> None: ...

    def is_available(self) -> bool:
        return True

    def get_available_future(self) -> object:
        raise AssertionError("it is always available")


def run(directory: Path, end: int, fail_at: int | None = None) -> list[BaseException]:
    """Run the job from its latest checkpoint until it ends or fails; what failed."""
    first, second = ElementChannel(64), ElementChannel(64)
    environment = OperatorEnvironment(key_selector=lambda value: value % KEYS)
    tasks: dict[str, StreamTask] = {
        "source": SourceStreamTask(Unhurried(end, directory, fail_at), first.output),
        "count": OneInputStreamTask(
            KeyedProcessOperator(CountByKey(fail_at)),
            first.input,
            second.output,
            environment=environment,
        ),
        "sink": OneInputStreamTask(FileSink(directory / "out.txt"), second.input, SinkOutput()),
    }
    storage = FileSystemCheckpointStorage(directory / "checkpoints")
    with CheckpointCoordinator(tasks, storage, interval=15, tolerable_failures=9) as coordinator:
        coordinator.restore_latest()
        started = [Running(task) for task in tasks.values()]
        coordinator.start()
        try:
            until(
                lambda: (
                    any(one.error for one in started)
                    or not any(one.thread.is_alive() for one in started)
                ),
                seconds=180,
            )
        finally:
            for task in tasks.values():
                task.cancel()
        return [error for one in started if (error := one.join()) is not None]


if __name__ == "__main__":
    if run(Path(sys.argv[1]), int(sys.argv[2])) or threading.active_count() > 1:
        raise SystemExit(1)
