"""A window operator as plain as can be: elements in lists, windows looked through one by one."""

from __future__ import annotations

from typing import Any

LOWEST = -(1 << 63)


class Window:
    """Elements of a key between two times."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.elements: list[Any] = []
        self.counted = 0
        self.waits = False  # for the watermark to pass its end


class WindowModel:
    """Windows in event time.

    ``counts`` is None for the trigger that waits for the end, or fires at every so many elements;
    ``purges`` has firings empty the window.
    """

    def __init__(
        self, assigner: Any, lateness: int = 0, counts: int | None = None, *, purges: bool = False
    ) -> None:
        self.assigner, self.lateness = assigner, lateness
        self.counts, self.purges = counts, purges
        self.watermark = LOWEST
        self.windows: dict[Any, list[Window]] = {}
        self.output: list[tuple[Any, int, int, list[Any]]] = []
        self.late: list[tuple[Any, Any]] = []

    def process(self, key: Any, value: Any, time: int) -> None:
        taken = False
        for span in self.assigner.assign_windows(value, time, None):
            window = self.window_of(key, span.start, span.end)
            if window is None:
                continue
            taken = True
            window.elements.append(value)
            self.ask(key, window)
        if not taken and time + self.lateness <= self.watermark:
            self.late.append((key, value))

    def window_of(self, key: Any, start: int, end: int) -> Window | None:
        """The window of a span, made when there is none, others merged into it."""
        mine = self.windows.setdefault(key, [])
        if self.assigner.is_merging:
            group = [one for one in mine if one.start <= end and one.end >= start]
        else:
            group = [one for one in mine if (one.start, one.end) == (start, end)]
        if not group and end - 1 + self.lateness <= self.watermark:
            return None
        made = Window(min([start, *(w.start for w in group)]), max([end, *(w.end for w in group)]))
        for one in group:
            made.elements += one.elements
            made.counted += one.counted
            made.waits |= one.waits and one.end == made.end
            mine.remove(one)
        if group and self.counts is None and made.end - 1 > self.watermark:
            made.waits = True
        mine.append(made)
        return made

    def ask(self, key: Any, window: Window) -> None:
        """The trigger's answer to an element."""
        window.counted += 1
        if self.counts is not None:
            if window.counted >= self.counts:
                window.counted = 0
                self.fire(key, window)
        elif window.end - 1 <= self.watermark:
            self.fire(key, window)
        else:
            window.waits = True

    def fire(self, key: Any, window: Window) -> None:
        if window.elements:
            self.output.append((key, window.start, window.end, sorted(window.elements)))
        if self.purges:
            window.elements = []

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        for key, mine in self.windows.items():
            for window in list(mine):
                if window.waits and window.end - 1 <= watermark:
                    window.waits = False
                    self.fire(key, window)
                if window.end - 1 + self.lateness <= watermark:
                    mine.remove(window)

    def take(self) -> list[tuple[Any, int, int, list[Any]]]:
        """What was given since the last call, sorted."""
        taken, self.output = sorted(self.output), []
        return taken
