"""The metrics of a mailbox."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Protocol

from flinkish._core.mailbox.mailbox import MailboxLoop
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalStateError, RejectedExecutionError
from flinkish.mailbox.executor import MailboxExecutor
from flinkish.metrics import MetricGroup

__all__ = ["LatencyTimers", "MailboxMetrics"]


class LatencyTimers(Protocol):
    """The part of a processing-time service that measuring needs."""

    def get_current_processing_time(self) -> int:
        """The time (ms)."""
        ...

    def register_timer(self, timestamp: int, callback: Callable[[int], object]) -> object:
        """Call ``callback(timestamp)`` when it is time."""
        ...


class MailboxMetrics:
    """``mailboxMails`` and ``mailboxQueueSize``, always; the rest once measuring is set up.

    Every ``interval`` a mail is put, and what passes until it runs is ``mailboxLatencyMs``
    (Flink: MailboxMetricsController); ``mailboxMailsPerSecond`` is brought up to date then.
    ``clock`` gives ns.

    Threading: setting up and starting belong to the mailbox thread; the timer may be any.
    """

    def __init__(
        self,
        loop: MailboxLoop,
        group: MetricGroup | None = None,
        *,
        interval: DurationLike = 1000,
        clock: Callable[[], int] = monotonic_ns,
    ) -> None:
        self.group = MetricGroup() if group is None else group
        self.group.gauge("mailboxMails", lambda: loop.mails_run)
        self.group.gauge("mailboxQueueSize", loop.mailbox.size)
        self.latency = self.group.distribution("mailboxLatencyMs")
        self.mails_per_second = self.group.meter("mailboxMailsPerSecond")
        self._loop = loop
        self._interval = to_millis(interval, "interval", minimum=1)
        self._clock = clock
        self._timers: LatencyTimers | None = None
        self._executor: MailboxExecutor | None = None
        self._started = False
        self._marked = 0

    @property
    def is_latency_measurement_set_up(self) -> bool:
        """Whether timers and executor are known."""
        return self._timers is not None

    @property
    def is_latency_measurement_started(self) -> bool:
        """Whether measuring has begun."""
        return self._started

    def set_up_latency_measurement(self, timers: LatencyTimers, executor: MailboxExecutor) -> None:
        """Measure from the first mail on that does not end the loop; once only."""
        if self._timers is not None:
            raise IllegalStateError(
                "latency measurement is set up already: it keeps its first timers and executor"
            )
        self._timers = timers
        self._executor = executor
        self._loop.call_after_mail(self._start_once)

    def start_latency_measurement(self) -> None:
        """Measure from now on, without waiting for a mail; once only."""
        if self._timers is None:
            raise IllegalStateError(
                "latency measurement needs timers and an executor: call "
                "set_up_latency_measurement first"
            )
        if self._started:
            raise IllegalStateError("latency measurement runs already")
        self._started = True
        self._schedule()

    def _start_once(self) -> None:
        if not self._started:
            self.start_latency_measurement()

    def _schedule(self) -> None:
        assert self._timers is not None
        due = self._timers.get_current_processing_time() + self._interval
        self._timers.register_timer(due, self._measure)

    def _measure(self, _timestamp: int) -> None:
        assert self._executor is not None
        put = self._clock()

        def measure() -> None:
            self.latency.update((self._clock() - put) / 1e6)
            mails = self._loop.mails_run
            self.mails_per_second.mark_event(mails - self._marked)
            self._marked = mails
            self._schedule()

        try:
            self._executor.execute(measure, "measure mailbox latency")
        except RejectedExecutionError:
            return  # closed meanwhile: there is no more to measure
