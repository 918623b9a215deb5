"""A limit that halves when a service complains and creeps back up: AIMD, as TCP does.

D.-M. Chiu, R. Jain: Analysis of the increase and decrease algorithms for congestion avoidance in
computer networks (1989): added up and divided down, limits of several jobs that share a service
converge to fair shares of it.
"""

from __future__ import annotations

from flinkish.spark.limits.rate import Adaptive

__all__ = ["Aimd"]


class Aimd:
    """A limit in time; times are ns of one monotonic clock, limits of any unit.

    Without ``rules`` it stays what it is, and is only told when to pause.
    """

    def __init__(self, full: float, rules: Adaptive | None) -> None:
        self.full = full
        self.decreases = 0
        self.paused_until_ns = -(2**62)
        self._rules = rules
        self._base = full  # the limit at _since_ns
        self._since_ns = -(2**62)
        self._decided_ns = -(2**62)

    def limit(self, now_ns: int) -> float:
        """The limit at this time."""
        if self._base >= self.full or self._rules is None:
            return self.full
        grown = max(now_ns - self._since_ns, 0) / 1e9 * self._rules.increase * self.full
        return min(self.full, self._base + grown)

    def throttled(self, started_ns: int, retry_after_ns: int, now_ns: int) -> None:
        """A call that was started then was told now that it was too much."""
        if self._rules is None:
            return
        self.paused_until_ns = max(self.paused_until_ns, now_ns + retry_after_ns)
        lower = self.limit(now_ns)
        if started_ns >= self._decided_ns:
            lower *= self._rules.decrease
            self._decided_ns = now_ns
            self.decreases += 1
        self._base = max(lower, self.full * self._rules.minimum)
        # What grew while nobody may call would not have been earned.
        self._since_ns = max(now_ns, self.paused_until_ns)
