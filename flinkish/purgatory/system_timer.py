"""A timer by the system's monotonic clock, with a thread that keeps the time.

Threads and what they share:

    adders ──put──> wheel ──reaper takes what is due──> _ready ──runners──> task.run()

- The reaper sleeps until the wheel's next bucket or an earlier add.  It only hands over.
- When `_ready` holds HAND_OVER tasks the reaper leaves the rest in the wheel, where they are held
  anyway, may be cancelled, and cost an add nothing; so do adders of what is due already.  So the
  queue of the executor is bounded (Kafka's is not), and neither adders nor the reaper ever wait
  for tasks while they hold a lock.  What the reaper has taken out goes to `_ready` even if adders
  have filled the room meanwhile that it was taken out for: there may be twice as many, then.
- A runner is a job of the executor that runs ready tasks one by one until there are none.  There
  are never more of them than the executor has threads, so that its own queue stays short and a
  slow task holds up no task that another thread could run.

Invariants: for each task in `_ready` that no runner has begun there is a runner that is in no task
(`_submitted` less `_busy`), until every thread of the executor has a runner: a runner in a task may
stay there.  If the executor has dropped a runner (`shutdown(cancel_futures=True)`) the reaper is
woken to send another, or to run the tasks itself if the executor takes none any more.  `_in_flight`
is the number of tasks in batches that are in `_ready`, so at least that of tasks not begun.  All of
these change under `_lock`, under which nothing else is called.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import thread as pools
from typing import NoReturn

from flinkish._core.wheel.timer_tasks import DueTasks, TimerTask
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, RejectedExecutionError
from flinkish.common.forks import AFTER_FORK, call_in_children
from flinkish.purgatory.timer import Timer, TimerStatistics, log

__all__ = ["SystemTimer"]

HAND_OVER = 8_192  # tasks
POLL_S = 0.2  # how long the reaper sleeps at most, if it has something else to do (Kafka: K.16)
THREADS_OF_A_STRANGER = 8  # runners for an executor that does not say how many threads it has


class SystemTimer(Timer):
    """Runs tasks on an executor when their time has come (Kafka: SystemTimer and its reaper).

    `executor` is any ``concurrent.futures.Executor``, which stays the caller's to shut down; by
    default a thread of the timer's own, in which tasks that are due in the same tick run in the
    order in which they were added (Kafka: K.12).  Without `reaper_enabled` time stands still
    but for `advance_clock`.

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
        if executor is not None and not isinstance(executor, Executor):
            raise ArgumentTypeError(
                f"executor must be a concurrent.futures.Executor, not {executor!r}"
            )
        super().__init__(name, tick_ms, wheel_size, time.monotonic_ns)
        self._own_executor = executor is None
        self._executor = executor or ThreadPoolExecutor(1, f"executor-{name}")
        self._threads = int(getattr(self._executor, "_max_workers", THREADS_OF_A_STRANGER))
        self._reaper_enabled = self.drives_itself = reaper_enabled
        self._chores: tuple[Callable[[], object], ...] = ()  # of the reaper, after each pass
        self._reaper: threading.Thread | None = None
        self._alarm = threading.Event()
        self._lock = threading.RLock()  # a finalizer may come back to its own thread's timer
        self._changed = threading.Condition(self._lock)
        self._driving = threading.Lock()  # held by who takes tasks out of the wheel
        self._ready: deque[DueTasks] = deque()
        self._in_flight = 0
        self._runners: set[int] = set()  # idents of threads
        self._submitted = 0  # runners that are running or about to
        self._busy = 0  # those of them that are in the tasks of a batch
        self._passes = 0  # how often something expired
        self._passes_told = 0
        self._refused = self._in_child = False
        call_in_children(self)

    # --- time

    def advance_clock(self, timeout_ms: DurationLike = 0) -> bool:
        """Wait at most ``timeout_ms`` for a task to become due, and hand over all that are.

        True if any expired since the last call; a bucket whose tasks were all cancelled is gone
        and does not count (Kafka: K.4, where it does).  With a reaper this only waits for it.
        """
        timeout = to_millis(timeout_ms, "timeout_ms", minimum=0) / 1_000
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
        patience = -1 if timeout is None else min(timeout, threading.TIMEOUT_MAX)
        if not self._driving.acquire(timeout=patience):
            return False
        try:
            while True:
                # First: what rings the alarm has changed what is looked at from here on.
                self._alarm.clear()
                if self.closed:
                    return False
                self._send_runners()
                pause = self._before_sleep()
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                if pause == 0 and (room := self._wait_for_room(left)):
                    due = self._take_due(room)
                    if due is not None:
                        self._hand_over(due, even_if_full=True)
                        return True
                if left == 0:
                    return False
                seconds = None if pause is None else pause / 1_000
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
        with self._lock:
            if self._in_flight >= HAND_OVER and not even_if_full:
                return False
            self._ready.append(due)
            self._in_flight += len(due)
            self._expired += len(due)
            wanted = self._runners_wanted()
        for _ in range(wanted):
            self._submit()
        return True

    # --- runners

    def _runners_wanted(self) -> int:
        """How many to submit: as many as there are tasks, and threads for them.  Under the lock."""
        idle = self._submitted - self._busy
        wanted = max(min(self._threads - self._submitted, self._in_flight - idle), 0)
        self._submitted += wanted
        return wanted

    def _send_runners(self) -> None:
        """Submit runners that an executor has dropped."""
        with self._lock:
            wanted = self._runners_wanted()
        for _ in range(wanted):
            self._submit()

    def _submit(self) -> None:
        try:
            job = self._executor.submit(self._run_ready)
        except Exception as error:  # it was shut down, is full or broken: better here than never
            self._say_refused(error)
            self._run_ready()
        else:
            job.add_done_callback(self._runner_ended)

    def _runner_ended(self, job: Future[None]) -> None:
        """A runner has returned, or never ran: its executor has dropped it.

        Then this is called by `Executor.shutdown`, which holds a lock that `submit` wants, so the
        next runner is sent by the thread that drives the timer.
        """
        if not job.cancelled() and job.exception() is None:
            return
        with self._lock:
            self._submitted -= 1
        self._wake()

    def _say_refused(self, error: Exception) -> None:
        """Once, and not when the program ends: every executor refuses what is due from then on."""
        first, self._refused = not self._refused, True
        if first and not _program_ends():
            log.error(
                "timer %s: its executor takes no tasks, so they run on the threads that hand them "
                "over (%r)",
                *(self.name, error),
            )

    def _run_ready(self) -> None:
        ident = threading.get_ident()
        with self._lock:
            nested = ident in self._runners
            self._runners.add(ident)
        while True:
            with self._lock:
                if not self._ready:
                    self._submitted -= 1
                    if not nested:
                        self._runners.discard(ident)
                    return
                due = self._ready[0]
                self._busy += 1
            due.run(self._report)
            with self._lock:
                self._busy -= 1
                if self._ready and self._ready[0] is due:
                    self._ready.popleft()
                    full = self._in_flight >= HAND_OVER
                    self._in_flight -= len(due)
                    if full:
                        self._changed.notify_all()

    def _wait_for_room(self, timeout: float | None) -> int:
        """How many tasks may be handed over; 0 if none within `timeout` seconds, or at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._in_flight < HAND_OVER or self.closed, timeout)
            return max(HAND_OVER - self._in_flight, 0)

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
            inside = threading.get_ident() in self._runners
        if reaper is not None and reaper is not threading.current_thread():
            reaper.join()
        self._cancel_all()
        if self._own_executor:
            self._executor.shutdown(wait=not inside)

    def statistics(self) -> TimerStatistics:
        """Counts so far."""
        return self._statistics(self._in_flight)

    def _forked(self) -> None:
        """In a forked child: refuse work, unless no thread was started for it yet."""
        unused = not self.added and not self._in_flight
        self._count, self._lock = threading.RLock(), threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._alarm, self._driving = threading.Event(), threading.Lock()
        if not unused:
            self._in_child = True
            self._close_adds()

    def _rejected(self, task: TimerTask) -> NoReturn:
        if self._in_child:
            raise RejectedExecutionError(f"timer {self.name!r} {AFTER_FORK}")
        super()._rejected(task)


def _program_ends() -> bool:
    """Whether the interpreter is shutting down, so that the standard library's pools refuse work.

    While it waits for their threads the main thread is still alive; only their own flag tells.
    """
    pools_end: bool = getattr(pools, "_shutdown", False)
    return pools_end or not threading.main_thread().is_alive()
