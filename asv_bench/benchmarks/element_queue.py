"""The queue of the asynchronous operator, one by one, with ``DEPTH`` elements in it.

Figures are seconds for ``ELEMENTS`` put, completed and emitted: divide to get the cost of one.
"""

import random
from collections import deque

from flinkish._core.operators.element_queue import ElementQueue

ELEMENTS = 200_000
DEPTH = 100


class ElementQueueCycle:
    """Put, complete and emit, ordered and not; a deque beside them, which knows no order."""

    params = ("ordered", "unordered")
    param_names = ("mode",)
    number = 1
    repeat = (5, 15, 10.0)
    warmup_time = 0

    def setup(self, mode: str) -> None:
        self.queue = ElementQueue(DEPTH, ordered=mode == "ordered")
        self.element = object()
        self.order = list(range(DEPTH))
        random.Random(7).shuffle(self.order)

    def time_in_order(self, mode: str) -> None:
        put, complete, emit = self.queue.put, self.queue.complete, self.queue.emit
        element = self.element
        for _ in range(ELEMENTS // DEPTH):
            for handle in [put(element) for _ in range(DEPTH)]:
                complete(handle or 0, element)
            while emit() is not None:
                pass

    def time_shuffled(self, mode: str) -> None:
        put, complete, emit = self.queue.put, self.queue.complete, self.queue.emit
        element = self.element
        for _ in range(ELEMENTS // DEPTH):
            handles = [put(element) for _ in range(DEPTH)]
            for at in self.order:
                complete(handles[at] or 0, element)
            while emit() is not None:
                pass

    def time_a_watermark_every_10(self, mode: str) -> None:
        queue, element = self.queue, self.element
        put, complete, emit = queue.put, queue.complete, queue.emit
        for _ in range(ELEMENTS // (DEPTH - 10)):
            handles = []
            for row in range(DEPTH):
                if row % 10 == 9:
                    queue.put_watermark(element)
                else:
                    handles.append(put(element))
            for handle in handles:
                complete(handle or 0, element)
            while emit() is not None:
                pass

    def time_emit_in_batches(self, mode: str) -> None:
        put, complete, emit_many = self.queue.put, self.queue.complete, self.queue.emit_many
        element = self.element
        for _ in range(ELEMENTS // DEPTH):
            for handle in [put(element) for _ in range(DEPTH)]:
                complete(handle or 0, element)
            emit_many(DEPTH)

    def time_deque(self, mode: str) -> None:
        """The peer: append and popleft, nothing to complete."""
        queue: deque[object] = deque()
        element = self.element
        for _ in range(ELEMENTS // DEPTH):
            for _ in range(DEPTH):
                queue.append(element)
            while queue:
                queue.popleft()
