"""The window operator with its default trigger in plain Python: every element in every window.

Facts C.2, C.5 - C.9, C.13, C.18, C.26 - C.28.  One key group: timers fire by time; which key of
those with equal times is first is nobody's promise, so results are compared sorted by key then.
"""

from itertools import count
from typing import Any

LOWEST = -(2**63)


class ModelWindows:
    """``starts(ts)`` gives the windows (begin, end) of a time, in the assigner's order."""

    def __init__(self, assigner: Any, aggregate: Any, lateness: int) -> None:
        self.assigner, self.aggregate, self.lateness = assigner, aggregate, lateness
        self.watermark = LOWEST
        self.windows: dict[Any, dict[tuple[int, int], Any]] = {}
        self.timers: dict[tuple[int, Any, tuple[int, int]], int] = {}
        self.numbers = count()
        self.output: list[Any] = []
        self.late: list[Any] = []

    def cleanup(self, window: tuple[int, int]) -> int:
        return min(window[1] - 1 + self.lateness, 2**63 - 1)

    def emit(self, key: Any, window: tuple[int, int]) -> None:
        result = self.aggregate.get_result(self.windows[key][window])
        self.output.append((key, *window, result))

    def merged(self, key: Any, window: tuple[int, int]) -> tuple[int, int]:
        """The session that a window becomes, with what it holds."""
        held = self.windows.get(key, {})
        touching = [w for w in held if w[0] <= window[1] and w[1] >= window[0]]
        if not touching:
            return window
        accumulator = held.pop(touching[0])
        for other in touching[1:]:
            accumulator = self.aggregate.merge(accumulator, held.pop(other))
        for other in touching:
            for time in (other[1] - 1, self.cleanup(other)):
                self.timers.pop((time, key, other), None)
        whole = min(window[0], *(w[0] for w in touching)), max(window[1], *(w[1] for w in touching))
        held[whole] = accumulator
        return whole

    def register(self, time: int, key: Any, window: tuple[int, int]) -> None:
        self.timers.setdefault((time, key, window), next(self.numbers))

    def process(self, key: Any, value: Any, time: int) -> None:
        taken = False
        for found in self.assigner.assign_windows(value, time, None):
            window = (found.start, found.end)
            if self.assigner.is_merging:
                window = self.merged(key, window)
            if self.cleanup(window) <= self.watermark:
                continue
            taken = True
            held = self.windows.setdefault(key, {})
            before = held[window] if window in held else self.aggregate.create_accumulator()
            held[window] = self.aggregate.add(value, before)
            if window[1] - 1 <= self.watermark:
                self.emit(key, window)
            else:
                self.register(window[1] - 1, key, window)
            if self.cleanup(window) < 2**63 - 1:
                self.register(self.cleanup(window), key, window)
        if not taken and time + self.lateness <= self.watermark:
            self.late.append((key, value, time))

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        while due := sorted((t, n, k, w) for (t, k, w), n in self.timers.items() if t <= watermark):
            time, _, key, window = due[0]
            del self.timers[time, key, window]
            if time == window[1] - 1:
                self.emit(key, window)
            if time == self.cleanup(window):
                del self.windows[key][window]
