"""Two sources into one task, stopped at any time and started again: each record counts once."""

import json
import time
from pathlib import Path

import pytest

from flinkish.common.elements import StreamRecord
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
from tests.waiting import until

END = 1_500


class Collecting(Tracing):
    """Its state is every value it has taken; it is slower than its sources.

    If it is to be stopped, it is slow behind 150 of them, until its state is taken: so it never
    comes to its end, however long it takes to ask for a checkpoint.
    """

    def __init__(self, ends: bool) -> None:
        super().__init__()
        self.values: list[int] = []
        self.hurries_until = END * 2 if ends else 150

    def restore_state(self, state: bytes) -> None:
        self.values = json.loads(state)
        self.hurries_until += len(self.values)
        super().initialize_state(state)

    def process_element(self, record: StreamRecord) -> None:
        self.values.append(record.value)
        if len(self.values) % 10 == 0 or len(self.values) > self.hurries_until:
            time.sleep(0.001)

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        self.hurries_until = END * 2
        return json.dumps(self.values).encode()


def run(storage: FileSystemCheckpointStorage, options: CheckpointOptions, end: bool) -> list[int]:
    """Run from the latest checkpoint to the end, or past one more; the values taken until then."""
    channels = [ElementChannel(200), ElementChannel(50)]
    operator = Collecting(ends=end)
    reader = MultiChannelInput([channel.input for channel in channels])
    joined = OneInputStreamTask(operator, reader, SinkOutput())
    tasks: dict[str, StreamTask] = {
        "left": SourceStreamTask(Counting(END), channels[0].output),
        "right": SourceStreamTask(Counting(END), channels[1].output),
        "joined": joined,
    }
    with CheckpointCoordinator(
        tasks, storage, options=options, tolerable_failures=99, timeout="20 seconds"
    ) as coordinator:
        coordinator.restore_latest()
        with running(*tasks.values()):
            seen = len(operator.values)
            if end:
                until(lambda: joined.state.is_terminal)
                assert joined.state is TaskState.FINISHED
            else:
                until(lambda: len(operator.values) > seen + 150)
                coordinator.trigger_checkpoint().result(20)
                until(lambda: len(operator.values) > seen + 300)
    return operator.values


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
    overtaken = 0
    for _ in range(4):
        run(storage, options, end=False)
        stored = storage.load_latest()
        assert stored is not None
        snapshot = TaskSnapshot.from_bytes(stored.state["joined"])
        overtaken += sum(map(len, snapshot.in_flight))
    assert sorted(run(storage, options, end=True)) == sorted([*range(END), *range(END)])
    assert (overtaken > 0) == (options != CheckpointOptions())
