"""Several channels as one input: turns, watermarks, barriers.

Invariants:
  M1  A channel is in one place: it has the turn, is in ``_ready``, is ``_parked`` because a barrier
      blocks it, has ``_notify`` called when it has something, or has ended.
  M2  ``_notify`` adds to ``_ready`` and takes out ``_news`` under ``_lock``, and
      ``get_available_future`` looks at the one and makes the other under it, so no news is lost.
  M3  What elements of the channels lead to, watermarks and checkpoints, is in ``_due`` in its
      order, and goes out before anything else does.
  M4  Between the unaligned barrier that goes out and the last that comes in, every element that is
      given out of a channel whose barrier is missing has been added to ``_log``.

Everything but ``_notify`` and ``_announce`` belongs to the mailbox thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    StreamElement,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import (
    IllegalArgumentError,
    IncompatibleStateError,
    RejectedExecutionError,
)
from flinkish.common.futures import complete, shared_future
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.mailbox import MailboxExecutor, MailOptions
from flinkish.task.alignment import BarrierAlignment
from flinkish.task.element_io import Available, InputStatus, StreamTaskInput, check_protocol
from flinkish.task.in_flight import InFlightElements
from flinkish.task.watermark_valve import WatermarkValve
from flinkish.time import ProcessingTimeService

__all__ = ["CheckpointedInput", "MultiChannelInput"]

TURN = 64  # elements of one channel before the next has its turn
_READY: Future[None] = Future()
_READY.set_result(None)


@runtime_checkable
class CheckpointedInput(Protocol):
    """An input with a part of its own in checkpoints; StreamTaskInput is the rest of it."""

    def start(
        self,
        take: Callable[[StreamElement], None],
        executor: MailboxExecutor,
        timers: ProcessingTimeService,
    ) -> None:
        """The task runs: ``take`` is for what overtakes, in mails of ``executor``."""
        ...

    def in_flight(self, checkpoint_id: int) -> Future[list[list[bytes]]] | None:
        """The elements to keep with a checkpoint that has been given out, if there can be any."""
        ...

    def restore_in_flight(self, elements: list[list[StreamElement]]) -> None:
        """Give out, before all others, elements that were in flight."""
        ...


@runtime_checkable
class _Overtakable(Protocol):
    """A channel in which a barrier may overtake what is before it."""

    def watch(self, callback: Callable[[CheckpointBarrier], object]) -> None:
        """Call ``callback(barrier)`` when an unaligned barrier is put, on any thread."""
        ...

    def overtake(self, checkpoint_id: int) -> list[StreamElement] | None:
        """Take the barrier of this id out; the elements before it, which stay.  None without it."""
        ...


class MultiChannelInput:
    """Reads ``channels`` in turns.

    - A watermark goes out when the least of the active channels has risen (see WatermarkValve).
    - A barrier goes out when those of all channels are there; meanwhile, channels that have given
      theirs are not read (Flink: SingleCheckpointBarrierHandler).  An unaligned one goes out when
      the first is there: it overtakes what is queued in an ElementChannel, nothing is blocked, and
      the elements of other channels that come before their barriers are kept with the checkpoint.
    - Data end when those of all channels have, as STOPPED if any channel was stopped.

    Values that a barrier overtakes are pickled into the checkpoint, and unpickled at a restart.

    Threading: the mailbox thread of the task that reads it.
    """

    def __init__(
        self, channels: Sequence[StreamTaskInput], *, checkpoints_after_finish: bool = True
    ) -> None:
        if not channels:
            raise IllegalArgumentError("an input needs at least one channel")
        for channel in channels:
            check_protocol("a channel", channel, ("poll_next", "get_available_future"))
        self.alignment = BarrierAlignment(
            len(channels), checkpoints_after_finish=checkpoints_after_finish
        )
        self._valve = WatermarkValve(len(channels))
        self._channels = list(channels)
        self._polls = [channel.poll_next for channel in channels]
        self._replays: list[deque[StreamElement]] = [deque() for _ in channels]
        self._with_data = self._open = len(channels)
        self._drain = True
        self._lock = threading.Lock()
        self._ready = deque(range(len(channels)))
        self._news: Future[None] | None = None
        self._parked: list[int] = []
        self._turn = -1  # the channel that has it, if ``_left``
        self._left = 0
        self._due: deque[StreamElement | InputStatus] = deque()
        self._log: InFlightElements | None = None
        self._last_log: InFlightElements | None = None
        self._take: Callable[[StreamElement], None] | None = None

    # --- reading

    def poll_next(self) -> StreamElement | InputStatus:
        """The next element of any channel, each in its turn; or a status if there is none now."""
        while True:
            if self._due:
                return self._due.popleft()
            if not self._left and not self._next_turn():
                return InputStatus.NOTHING_AVAILABLE if self._open else InputStatus.END_OF_INPUT
            self._left -= 1
            element = self._polls[self._turn]()
            if self._log is not None and isinstance(element, StreamElement):
                self._keep(element)
            if type(element) is StreamRecord:
                if not self._left:
                    self._ready.append(self._turn)
                return element
            self._on_other(element)

    def _next_turn(self) -> bool:
        """Give the turn to a channel that may have something; whether there is one."""
        while self._ready:
            channel = self._ready.popleft()
            if channel in self.alignment.blocked:
                self._parked.append(channel)
            else:
                self._turn, self._left = channel, TURN
                return True
        return False

    def _on_other(self, element: StreamElement | InputStatus) -> None:
        """Anything but a record, of the channel that has the turn."""
        channel = self._turn
        if isinstance(element, InputStatus):
            self._left = 0
            self._on_input_status(channel, element)
            return
        if isinstance(element, Watermark):
            self._due.extend(self._valve.on_watermark(channel, element.timestamp))
        elif isinstance(element, WatermarkStatus):
            self._due.extend(self._valve.on_status(channel, element))
        elif isinstance(element, CheckpointBarrier):
            self._on_barrier(channel, element, ())
        elif isinstance(element, CancelCheckpointMarker):
            self._tell(self.alignment.on_cancel(element.checkpoint_id))
        else:
            self._due.append(element)
        if channel in self.alignment.blocked:
            self._left = 0
        if not self._left:
            self._ready.append(channel)

    def _on_input_status(self, channel: int, status: InputStatus) -> None:
        if status is InputStatus.NOTHING_AVAILABLE:
            available = self._channels[channel].get_available_future()
            available.add_done_callback(lambda _: self._notify(channel))
        elif status is InputStatus.END_OF_INPUT:
            self._open -= 1
            self._tell(self.alignment.on_end(channel))
        else:
            if status is InputStatus.END_OF_DATA:
                self._due.extend(self._valve.on_watermark(channel, MAX_TIMESTAMP))
            self._drain &= status is InputStatus.END_OF_DATA
            self._with_data -= 1
            if self._with_data == 0:
                end = InputStatus.END_OF_DATA if self._drain else InputStatus.STOPPED
                self._due.append(end)
            self._ready.append(channel)

    def _notify(self, channel: int) -> None:
        with self._lock:
            self._ready.append(channel)
            news, self._news = self._news, None
        if news is not None:
            complete(news, None)

    def get_available_future(self) -> Available:
        """A future that ends when ``poll_next`` has something to say."""
        with self._lock:
            if self._due or self._left or self._ready or not self._open:
                return _READY
            if self._news is None:
                self._news = shared_future()
            return self._news

    # --- checkpoints

    def _on_barrier(
        self, channel: int, barrier: CheckpointBarrier, overtaken: Iterable[StreamElement]
    ) -> None:
        if self._log is not None and self._log.checkpoint_id == barrier.id:
            self._log.add(channel, overtaken)  # before the last barrier completes it
        first = barrier.id > self.alignment.current_id
        self._tell(self.alignment.on_barrier(channel, barrier), channel, overtaken)
        if first and not isinstance(self._channels[channel], _Overtakable):
            self._arm(channel, barrier)  # it was not announced

    def _tell(
        self,
        told: list[StreamElement],
        channel: int = 0,
        overtaken: Iterable[StreamElement] = (),
    ) -> None:
        """Give out what the alignment says; an unaligned barrier begins to overtake."""
        self._due.extend(told)
        if self._parked:
            parked, blocked = self._parked, self.alignment.blocked
            self._parked = [one for one in parked if one in blocked]
            for one in parked:
                if one not in blocked:
                    self._notify(one)
        last = told[-1] if told else None
        if isinstance(last, CheckpointBarrier) and last.unaligned:
            log = self._log = self._last_log = InFlightElements(last.id, len(self._channels))
            log.add(channel, overtaken)
            self.alignment.all_barriers_received(last.id).add_done_callback(
                lambda received: self._end_log(log, received)
            )
            self._overtake_rest(last)

    def _end_log(self, log: InFlightElements, received: Future[None]) -> None:
        if self._log is log:
            self._log = None
        log.end(received)

    def _keep(self, element: StreamElement) -> None:
        assert self._log is not None
        if self._turn not in self.alignment.arrived:
            self._log.add(self._turn, [element])

    def _overtake_rest(self, barrier: CheckpointBarrier) -> None:
        """Barriers that are queued in other channels need not wait for what is before them."""
        for channel in range(len(self._channels)):
            if self.alignment.is_overtaking and channel not in self.alignment.arrived:
                self._overtake(channel, barrier)

    def _overtake(self, channel: int, barrier: CheckpointBarrier) -> None:
        source = self._channels[channel]
        overtaken = source.overtake(barrier.id) if isinstance(source, _Overtakable) else None
        if overtaken is not None:
            self._on_barrier(channel, barrier, [*self._replays[channel], *overtaken])

    def in_flight(self, checkpoint_id: int) -> Future[list[list[bytes]]] | None:
        """A future of the elements that the barrier of this checkpoint overtook, by channel.

        None if it overtook none.
        """
        log = self._last_log
        return log.collected if log is not None and log.checkpoint_id == checkpoint_id else None

    def restore_in_flight(self, elements: list[list[StreamElement]]) -> None:
        """Give these elements, by channel, before those of the channels themselves.

        IncompatibleStateError if they are of another number of channels.
        """
        if len(elements) != len(self._channels):
            raise IncompatibleStateError(
                f"the checkpoint overtook elements of {len(elements)} channels, and this input has "
                f"{len(self._channels)}: restore it with as many, or an aligned checkpoint",
                setting="channels",
                was=len(elements),
                now=len(self._channels),
            )
        for channel, replay in enumerate(map(deque, elements)):
            self._replays[channel] = replay
            if replay:
                self._polls[channel] = partial(self._replay, channel)

    def _replay(self, channel: int) -> StreamElement | InputStatus:
        if self._replays[channel]:
            return self._replays[channel].popleft()
        self._polls[channel] = self._channels[channel].poll_next
        return self._polls[channel]()

    # --- what cannot wait for its turn

    def start(
        self,
        take: Callable[[StreamElement], None],
        executor: MailboxExecutor,
        timers: ProcessingTimeService,
    ) -> None:
        """Watch the channels for barriers that overtake; ``take`` gets what they announce."""
        self._take, self._executor, self._timers = take, executor, timers
        for channel, source in enumerate(self._channels):
            if isinstance(source, _Overtakable):
                source.watch(partial(self._announce, channel))

    def _announce(self, channel: int, barrier: CheckpointBarrier) -> None:
        """A barrier was put that may overtake, now or later."""
        if barrier.unaligned:
            self._soon(lambda: self._overtake(channel, barrier))
        else:
            self._soon(lambda: self._arm(channel, barrier))

    def _arm(self, channel: int, barrier: CheckpointBarrier) -> None:
        """Wait for the other barriers until the time of this one is over."""
        if self._take is None or barrier.alignment_timeout is None:
            return

        def overtake() -> None:
            self._tell(self.alignment.overtake(barrier.id))
            self._overtake(channel, replace(barrier, unaligned=True))

        deadline = barrier.timestamp + barrier.alignment_timeout
        overtaking = self.alignment.is_overtaking and barrier.id == self.alignment.current_id
        if overtaking or deadline <= self._timers.get_current_processing_time():
            overtake()
        else:
            self._timers.register_timer(deadline, lambda _: self._soon(overtake))

    def _soon(self, action: Callable[[], None]) -> None:
        """Do something in a mail, and hand over what is due then, even if there is no room."""
        with suppress(RejectedExecutionError):  # the task ends
            self._executor.execute(
                lambda: self._hand_over(action), "overtake", options=MailOptions.URGENT
            )

    def _hand_over(self, action: Callable[[], None]) -> None:
        self._empty_due()
        action()
        self._empty_due()

    def _empty_due(self) -> None:
        assert self._take is not None
        while self._due:
            element = self._due[0]
            if isinstance(element, InputStatus):
                return  # the end; it has its turn
            self._due.popleft()
            self._take(element)
