"""A task's part of a checkpoint besides its operator's state.

A task without any of that gives its operator's bytes as they are, so the reader of a checkpoint
finds them; else a sealed frame around both.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from flinkish._core.values.codec import CorruptFrame, NewerFrame, frame_header, seal, unseal
from flinkish.common.elements import StreamElement, StreamRecord, Watermark, WatermarkStatus
from flinkish.common.errors import CorruptStateError, SerializationError
from flinkish.common.formats import newer_format
from flinkish.common.futures import complete, fail, shared_future

__all__ = ["InFlightElements", "TaskSnapshot"]

FORMAT_VERSION = 1
KIND_TASK = 6
_HEADER = 32  # bytes of a frame before its body
_KEPT = (StreamRecord, Watermark, WatermarkStatus)


@dataclass(frozen=True)
class TaskSnapshot:
    """A task's part of a checkpoint.

    ``in_flight`` are the elements that the checkpoint overtook, pickled one by one, by channel;
    ``finished`` says that the operator had finished, so a restart has nothing to do for it.
    """

    operator: bytes
    in_flight: list[list[bytes]] = field(default_factory=list)
    finished: bool = False

    def to_bytes(self) -> bytes:
        """As bytes."""
        if not any(self.in_flight) and not self.finished:
            return self.operator
        whole = pickle.dumps((self.operator, self.in_flight, self.finished))
        return seal(KIND_TASK, FORMAT_VERSION, 0, whole)

    @classmethod
    def from_bytes(cls, state: bytes) -> TaskSnapshot:
        """From bytes; those that are no frame of ours are an operator's.

        CorruptStateError; IncompatibleStateError for those of a later flinkish.
        """
        try:
            sealed = frame_header(state[:_HEADER]).kind == KIND_TASK
        except CorruptFrame:
            sealed = False
        except NewerFrame as error:
            raise newer_format(error, "the state of the task") from error
        if not sealed:
            return cls(state)
        try:
            return cls(*pickle.loads(unseal(state, KIND_TASK, 0, version=FORMAT_VERSION)))
        except NewerFrame as error:
            raise newer_format(error, "the state of the task") from error
        except CorruptFrame as error:
            raise CorruptStateError(
                f"the state of the task is damaged: {error}", version=FORMAT_VERSION
            ) from error

    def elements(self) -> list[list[StreamElement]]:
        """The elements that were in flight."""
        return [[pickle.loads(one) for one in channel] for channel in self.in_flight]


class InFlightElements:
    """Collects what an unaligned checkpoint overtakes.

    ``collected`` has the elements by channel once all barriers are there, and a CheckpointError if
    they are not awaited any longer.  Elements are pickled when they are added: the operator may
    change a value after that.
    """

    def __init__(self, checkpoint_id: int, channels: int) -> None:
        self.checkpoint_id = checkpoint_id
        self.collected: Future[list[list[bytes]]] = shared_future()
        self._channels: list[list[bytes]] = [[] for _ in range(channels)]

    def add(self, channel: int, elements: Iterable[StreamElement]) -> None:
        """Elements of a channel; those that have to do with checkpoints are left out."""
        for element in elements:
            if isinstance(element, _KEPT):
                try:
                    self._channels[channel].append(pickle.dumps(element))
                except Exception as error:
                    raise SerializationError(
                        f"{element!r} is overtaken by checkpoint {self.checkpoint_id}, so it is to "
                        f"be kept, and cannot be pickled ({error}): take aligned checkpoints"
                    ) from error

    def end(self, all_received: Future[None]) -> None:
        """The last barrier is there, or is not awaited any longer."""
        error = all_received.exception()
        if error is None:
            complete(self.collected, self._channels)
        else:
            fail(self.collected, error)
