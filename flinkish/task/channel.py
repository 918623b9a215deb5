"""A bounded queue of elements between two tasks of one process.

Invariants, under ``_lock``:
  C1  ``_readable`` is a future that is not done only if there is nothing to read, neither element
      nor end.  ``_writable`` likewise only if the queue was full and is not half empty yet.
  C2  Futures are completed after the lock was given back: their callbacks may call in again.
      Who completes one has taken it out of its place under the lock, so it is done by one thread.
  C3  Both ends may have several waiters, so no waiter can cancel what the others wait for.
Hence no wake-up is lost: a thread that finds nothing gets a future of that same state, and one that
changes the state completes that very future.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import islice

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    StreamElement,
    StreamRecord,
)
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.common.futures import complete, shared_future
from flinkish.common.output_tag import OutputTag
from flinkish.task.element_io import InputStatus, StopMode

__all__ = ["ChannelInput", "ChannelOutput", "ElementChannel"]

_READY: Future[None] = Future()
_READY.set_result(None)


class ElementChannel:
    """Elements from one task, or from a test, to another.

    ``output`` is the writer's end, ``input`` the reader's.  From ``capacity`` elements on the
    output is not available until half of it was read; it still takes what comes, for what one
    element yields is not cut, so a channel may hold more by what one step of its writer emits.

    Threading: safe; ``emit`` and ``poll_next`` never block.
    """

    def __init__(self, capacity: int = 1024) -> None:
        if not isinstance(capacity, int) or capacity < 1:
            raise IllegalArgumentError(
                f"the capacity of a channel is an int of at least 1, not {capacity!r}"
            )
        self.capacity = capacity
        self._lock = threading.Lock()
        self._elements: deque[StreamElement] = deque()
        self._data_end: InputStatus | None = None  # still to be read
        self._late: deque[StreamElement] = deque()  # after it
        self._data_ended = self._ended = False
        self._readable: Future[None] = shared_future()
        self._writable: Future[None] = _READY
        self._watcher: Callable[[CheckpointBarrier], object] | None = None
        self.side_outputs: dict[OutputTag, list[StreamRecord]] = {}
        self.input = ChannelInput(self)
        self.output = ChannelOutput(self)

    def __len__(self) -> int:
        return len(self._elements)

    def drain(self) -> list[StreamElement]:
        """Take out all elements there are."""
        with self._lock:
            elements = list(self._elements)
            self._elements.clear()
            room = self._make_room()
        if room is not _READY:
            complete(room, None)
        return elements

    def _make_room(self) -> Future[None]:
        """The future to complete, if the queue was full and is half empty now; else ``_READY``.

        Half, for otherwise writer and reader would wake each other for every element.
        """
        if self._writable is _READY or len(self._elements) > self.capacity // 2:
            return _READY
        room, self._writable = self._writable, _READY
        return room

    def _put(self, element: StreamElement) -> None:
        with self._lock:
            late = self._data_ended
            if late:
                self._put_late(element)
            else:
                self._elements.append(element)
            if len(self._elements) >= self.capacity and self._writable is _READY:
                self._writable = shared_future()
            news, self._readable = self._readable, _READY
        if news is not _READY:
            complete(news, None)
        if type(element) is CheckpointBarrier and not late:
            self._announce(element)

    def _put_late(self, element: StreamElement) -> None:
        """Checkpoints after the end of the data; they overtake nothing.  Under the lock."""
        if self._ended or not isinstance(element, (CheckpointBarrier, CancelCheckpointMarker)):
            raise IllegalStateError(f"{element!r} was emitted after the end of the data")
        self._late.append(element)

    def _announce(self, barrier: CheckpointBarrier) -> None:
        may_overtake = barrier.unaligned or barrier.alignment_timeout is not None
        if may_overtake and self._watcher is not None:
            self._watcher(barrier)

    def _overtake(self, checkpoint_id: int) -> list[StreamElement] | None:
        with self._lock:
            elements = self._elements
            barriers = (one for one in elements if isinstance(one, CheckpointBarrier))
            barrier = next((one for one in barriers if one.id == checkpoint_id), None)
            if barrier is None:
                return None
            before = list(islice(elements, elements.index(barrier)))
            elements.remove(barrier)
            room = self._make_room()
        if room is not _READY:
            complete(room, None)
        return before

    def _end(self, mode: StopMode, more_follows: bool) -> None:
        with self._lock:
            if not self._data_ended:
                drained = mode is StopMode.DRAIN
                self._data_end = InputStatus.END_OF_DATA if drained else InputStatus.STOPPED
            self._data_ended = True
            self._ended = self._ended or not more_follows
            news, self._readable = self._readable, _READY
        if news is not _READY:
            complete(news, None)

    def _poll_end(self) -> StreamElement | InputStatus:
        """The status after the elements.  Under the lock."""
        if self._data_end is not None:
            end, self._data_end = self._data_end, None
            return end
        if self._late:
            return self._late.popleft()
        return InputStatus.END_OF_INPUT if self._ended else InputStatus.NOTHING_AVAILABLE

    def _is_readable(self) -> bool:
        more = self._data_end is not None or self._late or self._ended
        return bool(self._elements or more)

    def _poll(self) -> StreamElement | InputStatus:
        with self._lock:
            if not self._elements:
                end = self._poll_end()
                if end is InputStatus.NOTHING_AVAILABLE and self._readable is _READY:
                    self._readable = shared_future()
                return end
            element = self._elements.popleft()
            if self._writable is _READY:
                return element
            room = self._make_room()
        if room is not _READY:
            complete(room, None)
        return element


class ChannelInput:
    """The reader's end of a channel.

    ``overtake(checkpoint_id)`` takes the barrier of a checkpoint out of the queue and returns the
    elements before it, which stay; None if it is not there.
    """

    def __init__(self, channel: ElementChannel) -> None:
        self.poll_next = channel._poll
        self.overtake = channel._overtake
        self._channel = channel

    def watch(self, callback: Callable[[CheckpointBarrier], object]) -> None:
        """Have ``callback(barrier)`` called for barriers that may overtake: in ``emit``, and now.

        Now, on this thread, for those that are queued.
        """
        with self._channel._lock:
            queued = [one for one in self._channel._elements if isinstance(one, CheckpointBarrier)]
            self._channel._watcher = callback
        for barrier in queued:
            self._channel._announce(barrier)

    def get_available_future(self) -> Future[None]:
        """Done as soon as there is an element or the end."""
        channel = self._channel
        with channel._lock:
            if channel._readable is _READY and not channel._is_readable():
                channel._readable = shared_future()
            return channel._readable


class ChannelOutput:
    """The writer's end of a channel."""

    def __init__(self, channel: ElementChannel) -> None:
        self.emit = channel._put
        self._channel = channel

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        """Keep a record of a side output, in the channel's ``side_outputs``."""
        self._channel.side_outputs.setdefault(tag, []).append(record)

    def is_available(self) -> bool:
        """Whether the channel has room."""
        return self._channel._writable is _READY

    def get_available_future(self) -> Future[None]:
        """Done as soon as the channel has room."""
        return self._channel._writable

    def end_of_data(self, mode: StopMode = StopMode.DRAIN) -> None:
        """Nothing follows; said again, nothing happens."""
        self._channel._end(_checked(mode), more_follows=False)

    def notify_end_of_data(self, mode: StopMode = StopMode.DRAIN) -> None:
        """No elements follow; checkpoint barriers may, until ``end_of_data``."""
        self._channel._end(_checked(mode), more_follows=True)


def _checked(mode: StopMode) -> StopMode:
    if not isinstance(mode, StopMode):
        raise ArgumentTypeError(f"mode must be StopMode.DRAIN or .NO_DRAIN, not {mode!r}")
    return mode
