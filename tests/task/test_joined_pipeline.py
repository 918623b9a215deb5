"""Two sources into one task, stopped at any time and started again: each record counts once."""

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from flinkish.common.elements import StreamRecord
from flinkish.functions import SourceFunction
from flinkish.task import (
    AlignmentType,
    CheckpointCoordinator,
    CheckpointOptions,
    ElementChannel,
    FileSystemCheckpointStorage,
    MultiChannelInput,
    OneInputStreamTask,
    SourceStreamTask,
    StreamTask,
    TaskState,
)
from flinkish.task.in_flight import TaskSnapshot
from tests.task.jobs import Counting, Tracing, running
from tests.task.pipeline import SinkOutput
from tests.waiting import PATIENCE, until

END = 2_000
FIRST = 150  # records behind which a checkpoint is asked for
ALLOWED = 400  # of each source until then, so that no run comes to its end: END is five times it


class Fed(Counting):
    """Waits for a checkpoint when it has emitted what it is allowed."""

    def __init__(self) -> None:
        super().__init__(END)
        self.taken = threading.Event()

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        self.end = self.next + ALLOWED
        super().run(ctx)
        self.taken.wait()
        self.end = END
        super().run(ctx)

    def cancel(self) -> None:
        super().cancel()
        self.taken.set()

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        self.taken.set()
        return super().snapshot_state(checkpoint_id)


class Gate(SinkOutput):
    """Has room while it is open."""

    def __init__(self) -> None:
        self.room: Future[None] = Future()
        self.open()

    def shut(self) -> None:
        self.room = Future()

    def open(self) -> None:
        if not self.room.done():
            self.room.set_result(None)

    def is_available(self) -> bool:
        return self.room.done()

    def get_available_future(self) -> Future[None]:
        return self.room


class Collecting(Tracing):
    """Its state is every value it has taken; it is slower than its sources.

    Behind the first of them it shuts its gate, if it is given one, or is slow until its state is
    taken.
    """

    def __init__(self, gate: Gate | None) -> None:
        super().__init__()
        self.values: list[int] = []
        self.restored = 0
        self.gate = gate
        self.hurries = gate is not None

    def restore_state(self, state: bytes) -> None:
        self.values = json.loads(state)
        self.restored = len(self.values)
        super().initialize_state(state)

    def taken(self) -> int:
        """Of this run."""
        return len(self.values) - self.restored

    def process_element(self, record: StreamRecord) -> None:
        self.values.append(record.value)
        if len(self.values) % 10 == 0 or (not self.hurries and self.taken() > FIRST):
            time.sleep(0.001)
        if self.gate is not None and self.taken() == FIRST:
            self.gate.shut()

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        self.hurries = True
        return json.dumps(self.values).encode()


class Job:
    """Two sources, and the task that reads both."""

    def __init__(
        self,
        storage: FileSystemCheckpointStorage,
        options: CheckpointOptions,
        gate: Gate | None,
        sources: Sequence[SourceFunction],
    ) -> None:
        self.channels = [ElementChannel(200), ElementChannel(50)]
        self.operator = Collecting(gate)
        reader = MultiChannelInput([channel.input for channel in self.channels])
        self.joined = OneInputStreamTask(self.operator, reader, gate or SinkOutput())
        self.tasks: dict[str, StreamTask] = {
            "left": SourceStreamTask(sources[0], self.channels[0].output),
            "right": SourceStreamTask(sources[1], self.channels[1].output),
            "joined": self.joined,
        }
        self.coordinator = CheckpointCoordinator(
            self.tasks, storage, options=options, tolerable_failures=99
        )
        self.coordinator.restore_latest()


def run_past_a_checkpoint(
    storage: FileSystemCheckpointStorage, options: CheckpointOptions, gate: Gate | None
) -> None:
    """Run from the latest checkpoint past one more.

    With a gate it is taken while there is no room, and elements queue in both channels.
    """
    job = Job(storage, options, gate, [Fed(), Fed()])
    with job.coordinator, running(*job.tasks.values()):
        until(lambda: job.operator.taken() >= FIRST)
        if gate is not None:
            until(lambda: not gate.is_available() and all(map(len, job.channels)))
        job.coordinator.trigger_checkpoint().result(PATIENCE)
        if gate is not None:
            assert job.operator.taken() == FIRST
            gate.open()
        until(lambda: job.operator.taken() > 2 * FIRST)


@pytest.mark.parametrize(
    "options",
    [
        CheckpointOptions(),
        CheckpointOptions(AlignmentType.UNALIGNED),
        CheckpointOptions(alignment_timeout=1),
    ],
    ids=["aligned", "unaligned", "timed"],
)
def test_each_record_counts_once(tmp_path: Path, options: CheckpointOptions) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    overtakes = options != CheckpointOptions()
    for round_ in range(4):
        gate = Gate() if overtakes and round_ % 2 else None
        run_past_a_checkpoint(storage, options, gate)
        stored = storage.load_latest()
        assert stored is not None
        in_flight = TaskSnapshot.from_bytes(stored.state["joined"]).in_flight
        if gate is not None:
            assert all(in_flight)
        assert overtakes or not any(in_flight)
    last = Job(storage, options, None, [Counting(END), Counting(END)])
    last.operator.hurries = True
    with last.coordinator, running(*last.tasks.values()):
        until(lambda: last.joined.state.is_terminal)
    assert last.joined.state is TaskState.FINISHED
    assert sorted(last.operator.values) == sorted([*range(END), *range(END)])
