"""A bounded pool of threads for plain functions that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from flinkish.common.errors import RejectedExecutionError
from flinkish.common.forks import AFTER_FORK, call_in_children

__all__ = ["ThreadPool"]


class ThreadPool:
    """Runs tasks on at most ``size`` threads, which are made as they are needed.

    The threads are daemons, unlike those of `concurrent.futures`: a call that hangs keeps its
    thread, but neither its operator nor the process from ending.

    Threading: ``submit`` and ``close`` are for one thread.  Tasks raise nothing.  A child that is
    forked once there are threads is refused.
    """

    def __init__(self, size: int, name: str) -> None:
        self.size = size
        self._name = name
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads = 0
        self._idle = threading.Semaphore(0)
        self._in_child = False
        call_in_children(self)

    def __len__(self) -> int:
        return self._threads

    def submit(self, task: Callable[[], object]) -> None:
        """Run ``task()`` on one of the threads, after those that were submitted before."""
        if self._in_child:
            raise RejectedExecutionError(f"the thread pool {self._name!r} {AFTER_FORK}")
        self._tasks.put(task)
        # Each thread that waits for a task has released the semaphore once.
        if not self._idle.acquire(blocking=False) and self._threads < self.size:
            self._threads += 1
            threading.Thread(
                target=self._run, name=f"{self._name}-{self._threads}", daemon=True
            ).start()

    def close(self) -> None:
        """Let the threads end when they have done what was submitted; does not wait for them."""
        for _ in range(self._threads):
            self._tasks.put(None)

    def _forked(self) -> None:
        """In a forked child, where none of the threads are."""
        self._in_child = self._in_child or self._threads > 0
        self._threads = 0

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            del task
            self._idle.release()
