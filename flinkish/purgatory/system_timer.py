"""A timer by the system's monotonic clock, with a thread that keeps the time.

Threads and what they share:

    adders ──put──> wheel ──reaper takes what is due──> Runners ──jobs of the executor──> task.run()

- The reaper sleeps until the wheel's next bucket or an earlier add.  It only hands over.
- When HAND_OVER tasks are handed over the reaper leaves the rest in the wheel, where they are held
  anyway, may be cancelled, and cost an add nothing; so do adders of what is due already.  So the
  queue of the executor is bounded (Kafka's is not), and neither adders nor the reaper ever wait
  for tasks while they hold a lock.  What the reaper has taken out is handed over even if adders
  have filled the room meanwhile that it was taken out for: there may be twice as many, then.
- Runners are jobs that run ready tasks for a short turn; ``runners.py`` has their invariants.  If
  the executor has dropped one (`shutdown(cancel_futures=True)`) the reaper is woken to send
  another, or to run the tasks itself if the executor takes none any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NoReturn

from flinkish._core.wheel.timer_tasks import DueTasks, TimerTask
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, RejectedExecutionError
from flinkish.common.forks import AFTER_FORK, call_in_children
from flinkish.purgatory.runners import Runners
from flinkish.purgatory.timer import Timer, TimerStatistics, log

__all__ = ["SystemTimer"]

POLL_S = 0.2  # the longest sleep of the reaper while it has other work to check for
_ELSEWHERE = ("concurrent.futures.process", "concurrent.futures.interpreter")


class SystemTimer(Timer):
    """Runs tasks on an executor when their time has come (Kafka: SystemTimer and its reaper).

    `executor` is any ``concurrent.futures.Executor`` of threads, which stays the caller's to shut
    down and may be shared: the timer's jobs take turns of some milliseconds with those of others.
    By default it is a thread of the timer's own, in which tasks that are due in the same tick run
    in the order in which they were added (Kafka: TimingWheel).  One that runs jobs in other
    processes is an ArgumentTypeError.  Without `reaper_enabled` time stands still but for
    `advance_clock`.

    Threading: any method from any thread, tasks included.  `close` returns when the tasks that
    were handed over to the timer's own executor have run.
    """

    def __init__(
        self,
        name: str,
        tick_ms: int = 1,
        wheel_size: int = 256,
        *,
        executor: Executor | None = None,
        reaper_enabled: bool = True,
    ) -> None:
        if executor is not None:
            _check(executor)
        super().__init__(name, tick_ms, wheel_size, time.monotonic_ns)
        self._own_executor = executor is None
        self._executor = executor or ThreadPoolExecutor(1, f"executor-{name}")
        self._runners = Runners(
            name, self._executor, self._report, self._wake, is_driven=reaper_enabled
        )
        self._reaper_enabled = self.drives_itself = reaper_enabled
        self._chores: tuple[Callable[[], object], ...] = ()  # of the reaper, after each pass
        self._reaper: threading.Thread | None = None
        self._alarm = threading.Event()
        self._lock = threading.RLock()  # a finalizer may come back to its own thread's timer
        self._changed = threading.Condition(self._lock)
        self._driving = threading.Lock()  # held by who takes tasks out of the wheel
        self._passes = 0  # how often something expired
        self._passes_told = 0
        self._in_child = False
        call_in_children(self)

    # --- time

    def advance_clock(self, timeout_ms: DurationLike = 0) -> bool:
        """Wait at most ``timeout_ms`` for a task to become due, and hand over all that are.

        True if any expired since the last call; a bucket whose tasks were all cancelled is gone
        and does not count (Kafka: SystemTimer, where it does).  With a reaper this only waits for
        it.
        """
        timeout = _seconds(to_millis(timeout_ms, "timeout_ms", minimum=0))
        if self._in_child:
            raise RejectedExecutionError(f"timer {self.name!r} {AFTER_FORK}")
        if not self._reaper_enabled:
            return self._expire_next(timeout)
        with self._changed:
            told = self._changed.wait_for(
                lambda: self._passes != self._passes_told or self.closed, timeout
            )
            told = told and self._passes != self._passes_told
            self._passes_told = self._passes
        return told

    def _expire_next(self, timeout: float | None) -> bool:
        """Hand over what is due, waiting for the first of it at most `timeout` seconds.

        False also when another caller has driven the timer for all of that time.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._driving.acquire(timeout=-1 if timeout is None else timeout):
            return False
        try:
            while True:
                # First: what rings the alarm has changed what is looked at from here on.
                self._alarm.clear()
                if self.closed:
                    return False
                self._runners.send()
                pause = self._before_sleep()
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                if pause == 0 and (room := self._runners.wait_for_room(left, self._is_closed)):
                    due = self._take_due(room)
                    if due is not None:
                        self._hand_over(due, even_if_full=True)
                        return True
                if left == 0:
                    return False
                seconds = None if pause is None else _seconds(pause)
                waits = [wait for wait in (seconds, left) if wait is not None]
                self._alarm.wait(min(waits) if waits else None)
        finally:
            self._driving.release()

    def _reap(self) -> None:
        while not self.closed:
            try:
                expired = self._expire_next(POLL_S if self._chores else None)
                for chore in self._chores:
                    chore()
            except Exception:  # of memory, for instance: time must go on
                log.exception("timer %s could not expire tasks and tries again", self.name)
                time.sleep(0.1)
                continue
            if expired:
                with self._changed:
                    self._passes += 1
                    self._changed.notify_all()

    def _add_chore(self, chore: Callable[[], object]) -> None:
        with self._lock:
            self._chores += (chore,)
        self._alarm.set()

    def _remove_chore(self, chore: Callable[[], object]) -> None:
        with self._lock:
            self._chores = tuple(other for other in self._chores if other != chore)

    # --- what the floor calls

    def _wake(self) -> None:
        self._alarm.set()
        if self._reaper is None and self._reaper_enabled:
            with self._lock:
                if self._reaper is None and not self.closed:
                    self._reaper = threading.Thread(
                        target=self._reap, name=f"reaper-{self.name}", daemon=True
                    )
                    self._reaper.start()

    def _hand_over(self, due: DueTasks, *, even_if_full: bool = False) -> bool:
        """Let runners have tasks.  False, and nothing happens, when there is no room for them."""
        with self._count:
            self._expired += len(due)
        is_taken = self._runners.put(due, even_if_full=even_if_full)
        if not is_taken:
            with self._count:
                self._expired -= len(due)
        return is_taken

    def _is_closed(self) -> bool:
        return self.closed

    # --- the end

    def close(self) -> None:
        """Take no more tasks, stop the reaper, cancel the pending tasks.

        Tasks that are due and handed over still run.
        """
        if not self._close_adds():
            return
        self._alarm.set()
        with self._changed:
            self._changed.notify_all()
            reaper = self._reaper
        self._runners.stop_waiting()
        if reaper is not None and reaper is not threading.current_thread():
            reaper.join()
        self._cancel_all()
        if self._own_executor:
            self._executor.shutdown(wait=not self._runners.is_inside())

    def statistics(self) -> TimerStatistics:
        """Counts so far."""
        return self._statistics(self._runners.in_flight)

    def _forked(self) -> None:
        """In a forked child: refuse work, unless no thread was started for it yet."""
        unused = not self.added and not self._runners.in_flight
        self._count, self._lock = threading.RLock(), threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._alarm, self._driving = threading.Event(), threading.Lock()
        self._runners.forked()
        if not unused:
            self._in_child = True
            self._close_adds()

    def _rejected(self, task: TimerTask) -> NoReturn:
        if self._in_child:
            raise RejectedExecutionError(f"timer {self.name!r} {AFTER_FORK}")
        super()._rejected(task)


def _check(executor: object) -> None:
    if not isinstance(executor, Executor):
        raise ArgumentTypeError(f"executor must be a concurrent.futures.Executor, not {executor!r}")
    if any(base.__module__ in _ELSEWHERE for base in type(executor).__mro__):
        raise ArgumentTypeError(
            f"executor is a {type(executor).__name__}, which cannot run the tasks of a timer: they "
            "are objects of this process. Give a ThreadPoolExecutor, and let a task submit what is "
            "to run in other processes"
        )


def _seconds(millis: float) -> float:
    """A time to wait, cut to what the system can wait for; the caller then waits again."""
    return min(millis / 1_000, threading.TIMEOUT_MAX)
