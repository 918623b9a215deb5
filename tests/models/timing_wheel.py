"""What `flinkish._core.wheel.timing_wheel.TimingWheel` does, in the most obvious way."""

from collections.abc import Iterable
from itertools import count

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class ModelTimingWheel:
    """A dictionary of timers; a tick is how many times ``tick_ms`` fits after ``start_ms``."""

    def __init__(self, tick_ms: int, wheel_size: int, start_ms: int) -> None:
        self.tick_ms, self.start = tick_ms, start_ms
        self.clock = 0
        self.timers: dict[int, tuple[int, object]] = {}  # number: tick, payload
        self.numbers = count()

    def __len__(self) -> int:
        return len(self.timers)

    def time(self, tick: int) -> int:
        return min(self.start + tick * self.tick_ms, HIGHEST)

    @property
    def now(self) -> int:
        return self.time(self.clock)

    @property
    def next_expiration(self) -> int | None:
        return min((self.time(tick) for tick, _ in self.timers.values()), default=None)

    def add(self, expiration: int, payload: object) -> int:
        passed = min(max(expiration, LOWEST), HIGHEST) - self.start
        number = next(self.numbers)
        self.timers[number] = max(-(-passed // self.tick_ms), self.clock), payload
        return number

    def cancel(self, number: int) -> bool:
        return self.timers.pop(number, None) is not None

    def advance(self, now: int, limit: int | None = None) -> list[object]:
        whole = (now - self.start) // self.tick_ms
        if now == HIGHEST:  # there is no later time, so the last tick ends with it
            whole = -((self.start - now) // self.tick_ms)
        target = max(self.clock, whole)
        due = sorted(number for number, (tick, _) in self.timers.items() if tick <= target)
        due.sort(key=lambda number: self.timers[number][0])
        if limit is not None and len(due) > limit:
            # It stops at the first timer that is left.
            target = self.timers[due[limit]][0]
        self.clock = target
        return [self.timers.pop(number)[1] for number in due[:limit]]

    def add_many(self, expirations: Iterable[int], payloads: Iterable[object]) -> list[int]:
        return [self.add(*row) for row in zip(expirations, payloads, strict=True)]

    def cancel_many(self, numbers: Iterable[int]) -> int:
        return sum(self.cancel(number) for number in numbers)
