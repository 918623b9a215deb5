"""A job of a source and a sum, that tests tell when to fail and when to go on."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flinkish.common.elements import StreamRecord
from flinkish.functions import CheckpointedFunction, SourceFunction
from flinkish.task import (
    ElementChannel,
    FileSystemCheckpointStorage,
    Job,
    OneInputStreamTask,
    SourceStreamTask,
    StreamTask,
)
from tests.task.jobs import Tracing
from tests.waiting import PATIENCE

WAIT = int(PATIENCE * 1000)  # ms


class Numbers(SourceFunction, CheckpointedFunction):
    """Counts, and waits at ``pause_at`` until it may go on."""

    def __init__(self, end: int, pause_at: int = -1) -> None:
        self.next, self.end, self.pause_at = 0, end, pause_at
        self.go_on = threading.Event()
        self.canceled = False

    def run(self, ctx: Any) -> None:
        while not self.canceled and self.next < self.end:
            if self.next == self.pause_at:
                self.go_on.wait(PATIENCE)
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1

    def cancel(self) -> None:
        self.canceled = True
        self.go_on.set()

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        return str(self.next).encode()

    def restore_state(self, state: bytes) -> None:
        self.next = int(state)


class Sum(Tracing):
    """Adds up, and raises what it is told to at a value."""

    def __init__(self, fails: Callable[[int], bool]) -> None:
        super().__init__()
        self.fails = fails

    def process_element(self, record: StreamRecord) -> None:
        if self.fails(record.value):
            raise ValueError(f"no {record.value}")
        self.count += record.value
        self.output.emit(StreamRecord(self.count))


class Pipeline:
    """A job of a source and a sum; each start is kept, and what came out of it."""

    def __init__(self, path: Path, *, end: int = 100, pause_at: int = -1, **settings: Any) -> None:
        self.storage = FileSystemCheckpointStorage(path)
        self.end, self.pause_at = end, pause_at
        self.fails: Callable[[int], bool] = lambda value: False
        self.tasks: list[dict[str, StreamTask]] = []
        self.sources: list[Numbers] = []
        self.sums: list[Sum] = []
        self.outs: list[ElementChannel] = []
        self.job = Job(self.make, self.storage, name="sums", **settings)

    def make(self) -> Mapping[str, StreamTask]:
        between, out = ElementChannel(16), ElementChannel(100_000)
        self.sources.append(Numbers(self.end, self.pause_at))
        self.sums.append(Sum(lambda value: self.fails(value)))
        self.outs.append(out)
        self.tasks.append(
            {
                "numbers": SourceStreamTask(self.sources[-1], between.output),
                "sum": OneInputStreamTask(self.sums[-1], between.input, out.output),
            }
        )
        return self.tasks[-1]

    def result(self) -> int:
        values = [one.value for one in self.outs[-1].drain() if isinstance(one, StreamRecord)]
        return int(values[-1])


def once(value: int) -> Callable[[int], bool]:
    left = [value]

    def fails(one: int) -> bool:
        if left and one == left[0]:
            left.clear()
            return True
        return False

    return fails


def alive(job: str) -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(job)]
