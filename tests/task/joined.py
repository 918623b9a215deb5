"""Channels, the input that reads them, and a task that reads that."""

from typing import Any

from flinkish.common.elements import (
    StreamElement,
    StreamRecord,
)
from flinkish.common.errors import (
    CheckpointError,
)
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    InputStatus,
    MultiChannelInput,
    OneInputStreamTask,
)
from flinkish.task.in_flight import TaskSnapshot
from tests.task.jobs import Output, Tracing
from tests.waiting import until

NOTHING, END_OF_INPUT = InputStatus.NOTHING_AVAILABLE, InputStatus.END_OF_INPUT


class Rig:
    """Channels and the input that reads them."""

    def __init__(self, channels: int = 2, **options: Any) -> None:
        self.channels = [ElementChannel() for _ in range(channels)]
        self.input = MultiChannelInput([channel.input for channel in self.channels], **options)

    def put(self, channel: int, *elements: Any) -> None:
        for element in elements:
            if not isinstance(element, StreamElement):
                element = StreamRecord(element)
            self.channels[channel].output.emit(element)

    def polled(self) -> list[Any]:
        """What there is to poll, records as their values, without the status behind it."""
        found: list[Any] = []
        while True:
            element = self.input.poll_next()
            if element in (NOTHING, END_OF_INPUT):
                return found
            found.append(element.value if isinstance(element, StreamRecord) else element)


class Responder:
    """Keeps what a task says of its checkpoints."""

    def __init__(self) -> None:
        self.states: dict[int, TaskSnapshot] = {}
        self.declined: list[tuple[int, str | None]] = []

    def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> None:
        self.states[meta.id] = TaskSnapshot.from_bytes(state)

    def decline_checkpoint(self, meta: CheckpointMetaData, error: BaseException) -> None:
        assert isinstance(error, CheckpointError)
        self.declined.append((meta.id, error.reason))

    def close(self) -> None: ...


class Joined(Rig):
    """A task that reads the channels."""

    def __init__(
        self, channels: int = 2, output: Any = None, state: bytes | None = None, **options: Any
    ) -> None:
        super().__init__(channels)
        self.output = Output() if output is None else output
        self.operator, self.responder = Tracing(), Responder()
        self.task = OneInputStreamTask(self.operator, self.input, self.output, **options)
        self.task.set_checkpoint_responder(self.responder)
        if state is not None:
            self.task.set_initial_state(1, state)

    def settle(self) -> None:
        """Wait until the task has nothing to do."""
        until(lambda: self.task._processor.mailbox.awaits_mail)

    def values(self) -> list[Any]:
        return [one.value for one in self.output.elements if isinstance(one, StreamRecord)]


def elements(snapshot: TaskSnapshot) -> list[list[Any]]:
    return [
        [one.value if isinstance(one, StreamRecord) else one for one in channel]
        for channel in snapshot.elements()
    ]
