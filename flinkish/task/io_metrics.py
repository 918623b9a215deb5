"""How long a task was idle, back-pressured, busy."""

from __future__ import annotations

import threading
from collections.abc import Callable

from flinkish.metrics import MetricGroup

__all__ = ["PeriodTimer", "TaskIOMetrics"]

_NANOS = 1_000_000
_SECOND = 1_000_000_000


class PeriodTimer:
    """Adds up periods.

    Threading: any; the thread that ends a wait and that of the task may do so at once, and the
    period counts once.  ``clock`` gives ns.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._total = 0
        self._since: int | None = None

    def mark_start(self) -> None:
        """A period begins, if none is under way."""
        with self._lock:
            if self._since is None:
                self._since = self._clock()

    def mark_end(self) -> None:
        """The period ends, if one is under way."""
        with self._lock:
            if self._since is not None:
                self._total += self._clock() - self._since
                self._since = None

    def nanos(self) -> int:
        """The sum, the period under way included."""
        with self._lock:
            running = 0 if self._since is None else self._clock() - self._since
            return self._total + running


class PerSecond:
    """How many ms of each second a sum of ns grew by, from 0 to 1000.

    That is the mean since it was read last, but of a second at least: a caller that reads sooner
    gets the same again.  Nothing need run meanwhile, as Flink's updater of metrics does every five
    seconds.

    Threading: any.
    """

    def __init__(self, clock: Callable[[], int], total: Callable[[], int]) -> None:
        self._clock = clock
        self._total = total
        self._lock = threading.Lock()
        self._at = clock()
        self._before = 0
        self._value = 0

    def start(self) -> None:
        """Count from now on."""
        with self._lock:
            self._at, self._before = self._clock(), self._total()

    def value(self) -> int:
        """Ms a second."""
        with self._lock:
            now = self._clock()
            passed = now - self._at
            if passed >= _SECOND:
                total = self._total()
                self._value = max(min(1000 * (total - self._before) // passed, 1000), 0)
                self._at, self._before = now, total
            return self._value


class TaskIOMetrics:
    """The time of a task: idle without input, back-pressured without room, busy else.

    ``accumulate…TimeMs`` are sums, ``…TimeMsPerSecond`` rates (see PerSecond).

    Mails that run meanwhile are neither (Flink: MailboxProcessor), so they are busy time.
    ``knows_busy`` is False where the task cannot tell: the loop of a legacy source may wait or
    work, and Flink says NaN; here it is None.
    """

    def __init__(self, clock: Callable[[], int], group: MetricGroup, knows_busy: bool) -> None:
        self.idle = PeriodTimer(clock)
        self.back_pressured = PeriodTimer(clock)
        self._all = PeriodTimer(clock)
        self._knows_busy = knows_busy
        group.gauge("accumulateIdleTimeMs", self.idle_ms)
        group.gauge("accumulateBackPressuredTimeMs", self.back_pressured_ms)
        group.gauge("accumulateBusyTimeMs", self.busy_ms)
        self._rates = {
            "idleTimeMsPerSecond": PerSecond(clock, self.idle.nanos),
            "backPressuredTimeMsPerSecond": PerSecond(clock, self.back_pressured.nanos),
        }
        if knows_busy:
            self._rates["busyTimeMsPerSecond"] = PerSecond(clock, self._busy_nanos)
        else:
            group.gauge("busyTimeMsPerSecond", lambda: None)
        for name, rate in self._rates.items():
            group.gauge(name, rate.value)

    def start(self) -> None:
        """The task runs."""
        self._all.mark_start()
        for rate in self._rates.values():
            rate.start()

    def stop(self) -> None:
        """The task has ended."""
        self.idle.mark_end()
        self.back_pressured.mark_end()
        self._all.mark_end()

    def idle_ms(self) -> int:
        """Waited for input."""
        return self.idle.nanos() // _NANOS

    def back_pressured_ms(self) -> int:
        """Waited for room in the output."""
        return self.back_pressured.nanos() // _NANOS

    def busy_ms(self) -> int | None:
        """Did neither, since the task runs."""
        return self._busy_nanos() // _NANOS if self._knows_busy else None

    def _busy_nanos(self) -> int:
        waited = self.idle.nanos() + self.back_pressured.nanos()
        return max(self._all.nanos() - waited, 0)
