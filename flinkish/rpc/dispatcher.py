"""The few threads that run the turns of all endpoints."""

from __future__ import annotations

import threading

from flinkish._core.rpc.inbox import RunQueue
from flinkish.common.errors import IllegalArgumentError

__all__ = ["Dispatcher"]


class Dispatcher:
    """Runs the inboxes of a service.

    A turn of an endpoint delivers ``mails_per_turn`` letters at most, then the next endpoint has
    its own, so none starves.  Threads start with the first endpoint.  While a thread waits for an
    answer in a blocking ask a spare one takes its place, so that the answer can come.

    An endpoint that blocks otherwise gets a thread, and a queue, of its own.
    """

    def __init__(self, name: str, threads: int, mails_per_turn: int) -> None:
        for value, what in ((threads, "dispatcher_threads"), (mails_per_turn, "mails_per_turn")):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise IllegalArgumentError(f"{what} must be an int of at least 1, not {value!r}")
        self._name = name
        self._threads = threads
        self._limit = mails_per_turn
        self._lock = threading.Lock()
        self._common: RunQueue | None = None
        self._own: dict[str, RunQueue] = {}
        self._made = 0

    def queue(self, endpoint: str, own_thread: bool) -> RunQueue:
        """The queue for a new endpoint."""
        with self._lock:
            if own_thread:
                queue = self._with_threads([f"{self._name}-{endpoint}"])
                self._own[endpoint] = queue
                return queue
            if self._common is None:
                names = [f"{self._name}-dispatcher-{n}" for n in range(self._threads)]
                self._common = self._with_threads(names)
            return self._common

    def _with_threads(self, names: list[str]) -> RunQueue:
        """A queue with all of its workers, or none of them and the error."""
        queue = RunQueue(self._limit, len(names), self._spare)
        try:
            for name in names:
                self._start(queue, name)
        except BaseException:
            queue.close()  # those that were started end
            raise
        return queue

    def release(self, endpoint: str) -> None:
        """The endpoint has ended: so does its own thread."""
        with self._lock:
            queue = self._own.pop(endpoint, None)
        if queue is not None:
            queue.close()

    def close(self) -> None:
        """Let the threads end when they have nothing more to do."""
        with self._lock:
            queues = [*self._own.values(), *([] if self._common is None else [self._common])]
            self._own.clear()
        for queue in queues:
            queue.close()

    def _start(self, queue: RunQueue, name: str) -> None:
        self._made += 1
        threading.Thread(target=queue.work, name=name, daemon=True).start()

    def _spare(self, queue: RunQueue) -> None:
        self._start(queue, f"{self._name}-dispatcher-spare-{self._made}")

    @property
    def turns(self) -> int:
        """Turns that endpoints on the common threads had."""
        return self._common.turns if self._common is not None else 0

    @property
    def letters(self) -> int:
        """Letters that were delivered in them."""
        return self._common.letters if self._common is not None else 0
