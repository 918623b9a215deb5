"""Timers of operators: named services, namespaces, and one physical timer for all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish._core.state.named_timers import NamedTimers, next_timer, poll_timer
from flinkish._core.state.table import StateTable
from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
    UnsupportedOperationError,
)
from flinkish.metrics import MetricGroup
from flinkish.time.namespaces import VOID_NAMESPACE, NamespaceSerializer
from flinkish.time.processing_time_service import ProcessingTimeService, ScheduledFuture

__all__ = [
    "InternalTimeServiceManager",
    "InternalTimer",
    "InternalTimerService",
    "ProcessingTimeHead",
    "Triggerable",
]


@dataclass(frozen=True, slots=True)
class InternalTimer:
    """A timer that fires: its time in ms, its key, its namespace (None without one)."""

    timestamp: int
    key: Any
    namespace: Any = None


class Triggerable(ABC):
    """The callbacks of a timer service.  The timer's key and namespace are current then."""

    @abstractmethod
    def on_event_time(self, timer: InternalTimer) -> None:
        """The watermark has reached the timer."""

    @abstractmethod
    def on_processing_time(self, timer: InternalTimer) -> None:
        """The clock has passed the timer."""


class ProcessingTimeHead:
    """The one physical timer of an operator, at its earliest processing-time timer.

    As in Flink's InternalTimerServiceImpl.  ``next_timer`` says when that is, ``fire(t)`` runs what
    is due at ``t``: the time that was registered, not the clock's.  Timers that are due later than
    ``t`` but by now get the next physical timer, which fires at once; none does after ``fire``
    returned False.
    """

    def __init__(
        self,
        service: ProcessingTimeService,
        next_timer: Callable[[], int | None],
        fire: Callable[[int], bool],
    ) -> None:
        self._service = service
        self._next_timer = next_timer
        self._fire = fire
        self._future: ScheduledFuture | None = None
        self._at = 0
        self._firing = False

    def move(self, timestamp: int) -> None:
        """The earliest timer is now at ``timestamp``: have the physical one no later."""
        # While timers fire the head changes with each; one registration at the end will do.
        if self._firing:
            return
        if self._future is not None:
            if self._at <= timestamp:
                return
            self._future.cancel()
        self._at = timestamp
        self._future = self._service.register_timer(timestamp, self._on_time)

    def start(self) -> None:
        """Register for the earliest timer, if there is one."""
        head = self._next_timer()
        if head is not None:
            self.move(head)

    def stop(self) -> None:
        """Cancel the physical timer; timers stay."""
        if self._future is not None:
            self._future.cancel()
            self._future = None

    def _on_time(self, timestamp: int) -> None:
        self._future = None
        self._firing = True
        more = True
        try:
            more = self._fire(timestamp)
        finally:
            self._firing = False
            if more:
                self.start()


class InternalTimerService:
    """Timers of one name within an operator, each of a key and a namespace.

    They are those of the current key.  A timer is known by (timestamp, key, namespace), in each
    clock on its own (Flink: InternalTimerServiceImpl); registering one that is there and deleting
    one that is not do nothing.  Made by :class:`InternalTimeServiceManager`.
    """

    def __init__(
        self,
        name: str,
        timers: NamedTimers,
        triggerable: Triggerable,
        serializer: NamespaceSerializer,
        clock: ProcessingTimeService,
        table: StateTable,
    ) -> None:
        self.name = name
        self.triggerable = triggerable
        self.serializer = serializer
        self._timers = timers
        self._clock = clock
        self._table = table

    def current_processing_time(self) -> int:
        """The clock's time in ms."""
        return self._clock.get_current_processing_time()

    def current_watermark(self) -> int:
        """The watermark in ms; -2**63 before the first."""
        return self._table.watermark

    def register_event_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Fire when the watermark reaches ``timestamp``; if it has, with its next advance."""
        self._timers.add(True, timestamp, self.serializer.to_key(namespace))

    def delete_event_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Forget exactly this timer."""
        self._timers.remove(True, timestamp, self.serializer.to_key(namespace))

    def register_processing_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Fire when the clock has passed ``timestamp``."""
        self._timers.add(False, timestamp, self.serializer.to_key(namespace))

    def delete_processing_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Forget exactly this timer; the physical timer stays and may find nothing."""
        self._timers.remove(False, timestamp, self.serializer.to_key(namespace))

    def for_each_event_time_timer(self, consumer: Callable[[Any, int], object]) -> None:
        """``consumer(namespace, timestamp)`` for each, its key current, in no order."""
        self._for_each(True, consumer)

    def for_each_processing_time_timer(self, consumer: Callable[[Any, int], object]) -> None:
        """The same for processing-time timers."""
        self._for_each(False, consumer)

    def _for_each(self, event: bool, consumer: Callable[[Any, int], object]) -> None:
        """The consumer may register timers, which it does not see, and delete them."""
        for timestamp, row in self._timers.timers(event):
            found = self._timers.use(event, timestamp, row)
            if found is not None:
                consumer(self.serializer.from_key(found[1]), timestamp)
        self._table.clear_current_key()

    def num_event_time_timers(self) -> int:
        """Event-time timers of all keys and namespaces."""
        return self._timers.count(True)

    def num_processing_time_timers(self) -> int:
        """Processing-time timers of all keys and namespaces."""
        return self._timers.count(False)

    def num_event_time_timers_in(self, namespace: Any) -> int:
        """Event-time timers of all keys in one namespace."""
        return self._timers.count_in(True, self.serializer.to_key(namespace))

    def num_processing_time_timers_in(self, namespace: Any) -> int:
        """Processing-time timers of all keys in one namespace."""
        return self._timers.count_in(False, self.serializer.to_key(namespace))


def _never() -> bool:
    return False


class InternalTimeServiceManager:
    """All timer services of one operator, over one table.

    The services share the table's two heaps and so fire in the order of time across services,
    equal timestamps in the order of registration (Flink leaves both open:
    InternalTimerServiceImpl).

    Args:
        table: state and timers; None is refused: only operators with keys have timers (Flink:
            InternalTimeServiceManagerImpl).
        clock: the processing-time service.
        metrics: gets the counter ``numFiredTimers`` (Flink: InternalTimerServiceImpl).
        is_cancelled: asked before each timer; once it is true, no more fire.

    Threading: everything, the callbacks of ``clock`` included, on the operator's thread.
    """

    def __init__(
        self,
        table: StateTable | None,
        clock: ProcessingTimeService,
        *,
        metrics: MetricGroup | None = None,
        is_cancelled: Callable[[], bool] = _never,
    ) -> None:
        if table is None:
            raise UnsupportedOperationError(
                "Timers can only be used on keyed operators: key the stream before this operator"
            )
        table.illegal_state = IllegalStateError
        self._table = table
        self._clock = clock
        self._fired = (metrics or MetricGroup()).counter("numFiredTimers")
        self._is_cancelled = is_cancelled
        self._services: dict[str, InternalTimerService] = {}
        self._by_number: dict[int, InternalTimerService] = {}
        self._declared: dict[str, str] = {}
        self._head = ProcessingTimeHead(
            clock, lambda: next_timer(table, False), self._on_processing_time
        )

    def get_internal_timer_service(
        self,
        name: str,
        triggerable: Triggerable,
        serializer: NamespaceSerializer = VOID_NAMESPACE,
    ) -> InternalTimerService:
        """The service of this name; made, with its restored timers, when it is not there.

        IllegalArgumentError for a known name with another serializer, IllegalStateError when
        its timers were written with another one.
        """
        service = self._services.get(name)
        if service is not None:
            if service.serializer != serializer:
                raise IllegalArgumentError(
                    f"the timer service {name!r} was started with namespaces of "
                    f"{service.serializer.name} and cannot be had with {serializer.name}: "
                    "use another name"
                )
            return service
        written = self._declared.setdefault(name, serializer.name)
        if written != serializer.name:
            raise IllegalStateError(
                f"the restored timers of service {name!r} have namespaces of {written}, and the "
                f"program asks for {serializer.name}: use another name for the new service"
            )
        number = list(self._declared).index(name)
        timers = NamedTimers(self._table, number, self._head.move)
        service = self._services[name] = InternalTimerService(
            name, timers, triggerable, serializer, self._clock, self._table
        )
        self._by_number[number] = service
        return service

    # --- snapshots: timers are in the table's; only their services' names are not

    def declarations(self) -> list[tuple[str, str]]:
        """(name, name of its serializer) of each service, in the order of their numbers."""
        return list(self._declared.items())

    def restore(self, declarations: Sequence[tuple[str, str]]) -> None:
        """Take the services of a snapshot, before the first service is asked for."""
        if self._services:
            raise IllegalStateError("restore the timer services before they are asked for")
        self._declared = merge_services(self._declared, dict(declarations))

    def start(self) -> None:
        """Register the physical timer for restored processing-time timers."""
        self._head.start()

    def stop(self) -> None:
        """Cancel the physical timer."""
        self._head.stop()

    # --- time

    def advance_watermark(self, watermark: int) -> None:
        """Set the watermark (ms), then fire what is due by it; it may go back."""
        self.try_advance_watermark(watermark, _never)

    def try_advance_watermark(self, watermark: int, should_stop: Callable[[], bool]) -> bool:
        """The same, asking ``should_stop()`` after each timer; False if some are left."""
        self._table.watermark = watermark
        return self._fire(True, watermark, should_stop)

    def _on_processing_time(self, timestamp: int) -> bool:
        return self._fire(False, timestamp, _never)

    def _fire(self, event: bool, until: int, should_stop: Callable[[], bool]) -> bool:
        fired = 0
        try:
            while not self._is_cancelled():
                polled = poll_timer(self._table, event, until)
                if polled is None:
                    return True
                fired += 1
                self._dispatch(event, *polled)
                if should_stop():
                    break
            return False
        finally:
            self._fired.inc(fired)
            self._table.clear_current_key()

    def _dispatch(self, event: bool, number: int, timestamp: int, key: Any, space: Any) -> None:
        service = self._by_number.get(number)
        if service is None:
            NamedTimers(self._table, number).add(event, timestamp, space)  # for another try
            raise IllegalStateError(
                f"a timer of the service {list(self._declared)[number : number + 1]} is due at "
                f"{timestamp}, and the operator has not asked for that service since it was "
                "restored: ask for it in open()"
            )
        timer = InternalTimer(timestamp, key, service.serializer.from_key(space))
        if event:
            service.triggerable.on_event_time(timer)
        else:
            service.triggerable.on_processing_time(timer)


def merge_services(known: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Services by number, of two snapshots of one operator, or of one and the program.

    IncompatibleStateError unless one list goes on where the other ends: a number in a timer
    would mean another service.
    """
    if any(one != other for one, other in zip(known.items(), more.items(), strict=False)):
        raise IncompatibleStateError(
            f"the snapshots number their timer services differently: {list(known.items())} and "
            f"{list(more.items())}; all subtasks must ask for their services in one order",
            setting="timer services",
            was=list(known.items()),
            now=list(more.items()),
        )
    return dict(known if len(known) > len(more) else more)
