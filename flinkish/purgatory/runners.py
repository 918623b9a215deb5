"""The runners of a timer: jobs of an executor that run the timer's due tasks.

A runner runs ready tasks one by one until there are none, or until its turn is over; then another
runner takes its place at the end of the executor's queue.  There are never more of them than the
executor has threads, so that its own queue stays short and a slow task holds up no task that
another thread could run.

Invariants.  All these fields change only under ``_lock``, and no foreign code is called under it:

    R1  For each task in ``_ready`` that no runner has begun there is a runner without a task
        (``_sent`` less ``_busy``), unless every thread of the executor has a runner, however long
        its task; or ``wake`` has been called, so that the thread that drives the timer calls
        ``send``.
    R2  ``_waiting`` holds a token for each job that was submitted and has not begun.  The token is
        removed by the job when it begins, or by the thread that first learns that it never will;
        the remover accounts for the job.  So a job that comes late, or a second time, does nothing,
        and no job is lost.
    R3  A turn runs one task, or several within TURN_NS.  So however busy the timer is, a job in the
        executor's queue waits for at most one turn of each runner.
    R4  ``_in_flight`` counts all tasks of the batches in ``_ready``, so it is at least the number
        of tasks that have not begun.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import thread as pools
from functools import partial

from flinkish._core.wheel.timer_tasks import DueTasks, TimerTask
from flinkish.common.errors import RejectedExecutionError
from flinkish.purgatory.timer import log

__all__ = ["HAND_OVER", "Runners"]

HAND_OVER = 8_192  # tasks
TURN_NS = 5_000_000
THREADS_OF_A_STRANGER = 8  # runners for an executor that does not say how many threads it has


class Runners:
    """Runs batches of due tasks on an executor; on the calling threads if it takes no jobs.

    ``wake()`` makes the thread that drives the timer call ``send`` soon.  If not ``is_driven``,
    there is no such thread until a user calls ``advance_clock``.
    """

    def __init__(
        self,
        name: str,
        executor: Executor,
        report: Callable[[TimerTask, BaseException], object],
        wake: Callable[[], object],
        *,
        is_driven: bool,
    ) -> None:
        self.threads = int(getattr(executor, "_max_workers", THREADS_OF_A_STRANGER))
        self._name = name
        self._executor = executor
        self._report = report
        self._wake = wake
        self._is_driven = is_driven
        self._lock = threading.RLock()  # a finalizer may come back to its own thread's timer
        self._room = threading.Condition(self._lock)
        self._ready: deque[DueTasks] = deque()
        self._in_flight = 0
        self._waiting: set[object] = set()
        self._sent = 0  # runners that wait or run
        self._busy = 0  # those of them that are in the tasks of a batch
        self._idents: set[int] = set()  # of threads that run tasks
        self._passing: dict[int, bool] = {}  # by thread that submits its successor: whether it ran
        self._lost = False  # a job that the executor took has failed
        self._refused = False

    # --- for the timer

    @property
    def in_flight(self) -> int:
        """Tasks that were handed over and have not ended."""
        return self._in_flight

    def is_inside(self) -> bool:
        """Whether the calling thread runs a task."""
        return threading.get_ident() in self._idents

    def put(self, due: DueTasks, *, even_if_full: bool) -> bool:
        """Let runners have tasks.  False, and nothing happens, when there is no room for them."""
        with self._lock:
            if self._in_flight >= HAND_OVER and not even_if_full:
                return False
            self._ready.append(due)
            self._in_flight += len(due)
            wanted = self._wanted()
        for _ in range(wanted):
            self._send()
        return True

    def send(self) -> None:
        """Replace runners that the executor has dropped; run tasks here if it failed to."""
        with self._lock:
            wanted = self._wanted()
            lost, self._lost = self._lost, False
        for _ in range(wanted):
            if lost:
                self._run_here()
            else:
                self._send()

    def wait_for_room(self, timeout: float | None, closed: Callable[[], bool]) -> int:
        """How many tasks may be handed over; 0 if none within ``timeout`` seconds, or if closed."""
        with self._room:
            self._room.wait_for(lambda: self._in_flight < HAND_OVER or closed(), timeout)
            return max(HAND_OVER - self._in_flight, 0)

    def stop_waiting(self) -> None:
        """Make ``wait_for_room`` check whether the timer is closed."""
        with self._room:
            self._room.notify_all()

    def forked(self) -> None:
        """In a forked child: no thread holds its lock."""
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)

    # --- sending

    def _wanted(self) -> int:
        """How many to send: as many as there are tasks, and threads for them.  Under the lock."""
        idle = self._sent - self._busy
        wanted = max(min(self.threads - self._sent, self._in_flight - idle), 0)
        self._sent += wanted
        return wanted

    def _send(self) -> None:
        if not self._submit():
            self._run_here()

    def _submit(self) -> bool:
        """Submit a job; True if the executor has taken it, or has already run it."""
        token = object()
        with self._lock:
            self._waiting.add(token)
        try:
            job = self._executor.submit(self._work, token)
            if not hasattr(job, "add_done_callback"):
                raise RejectedExecutionError(
                    f"its submit returned {job!r} and no future, which would tell of a lost job"
                )
        except Exception as error:  # it was shut down, is full or broken: better here than never
            if not self._take(token):
                return True
            self._say("takes no tasks, so they run on the threads that hand them over", error)
            return False
        job.add_done_callback(partial(self._ended, token))
        return True

    def _take(self, token: object) -> bool:
        """Claim the job of this token; False if another thread already has (R2)."""
        with self._lock:
            if token not in self._waiting:
                return False
            self._waiting.remove(token)
            return True

    def _ended(self, token: object, job: Future[None]) -> None:
        """A job has ended.  If it never ran, its executor dropped it, or could not run it.

        When it was dropped, ``Executor.shutdown`` makes this call and holds a lock that ``submit``
        needs; so the work is left to the thread that drives the timer.
        """
        if not self._take(token):
            return
        with self._lock:
            self._sent -= 1
            self._lost |= not job.cancelled()
        if not job.cancelled():
            error = job.exception() or RejectedExecutionError("the job ended and had not run")
            self._say("could not run the timer's tasks, which need a thread of this process", error)
        self._wake()

    def _say(self, what: str, error: BaseException) -> None:
        """Once, and not when the program ends: every executor refuses what is due from then on."""
        first, self._refused = not self._refused, True
        if first and not _program_ends():
            log.error("timer %s: its executor %s (%r)", self._name, what, error)

    # --- running

    def _work(self, token: object) -> None:
        """Run tasks: a job of the executor."""
        ident = threading.get_ident()
        with self._lock:
            if not self._take(token):
                return
            if ident in self._passing:  # an executor that runs its jobs at once, in ``submit``
                self._passing[ident] = True
                return
        while self._turn() and not self._pass_on(ident):
            pass

    def _pass_on(self, ident: int) -> bool:
        """Submit a successor to the end of the queue; False if this thread must go on itself."""
        self._passing[ident] = False
        try:
            submitted = self._submit()
        finally:
            is_here = self._passing.pop(ident)
        return submitted and not is_here

    def _run_here(self) -> None:
        """Do the work of a runner that the executor did not take."""
        while self._turn():
            if self._is_driven:  # that thread must keep time, and an adder has other work to do
                with self._lock:
                    self._sent -= 1
                self._wake()
                return

    def _turn(self) -> bool:
        """Run ready tasks for a turn; True if there are more.  If not, the runner has ended."""
        ident = threading.get_ident()
        until = time.monotonic_ns() + TURN_NS
        with self._lock:
            nested = ident in self._idents
            self._idents.add(ident)
        try:
            while self._run_batch(until):
                if time.monotonic_ns() >= until:
                    return True
            return False
        except BaseException:  # such as MemoryError; the remaining tasks need another runner
            with self._lock:
                self._sent -= 1
            self._wake()
            raise
        finally:
            if not nested:
                with self._lock:
                    self._idents.discard(ident)

    def _run_batch(self, until: int) -> bool:
        """Run tasks of the first batch; False, and the runner has ended, if there is none."""
        with self._lock:
            if not self._ready:
                self._sent -= 1
                return False
            due = self._ready[0]
            self._busy += 1
        is_empty = False
        try:
            is_empty = due.run(self._report, time.monotonic_ns, until)
        finally:
            with self._lock:
                self._busy -= 1
                if is_empty and self._ready and self._ready[0] is due:
                    self._ready.popleft()
                    is_full = self._in_flight >= HAND_OVER
                    self._in_flight -= len(due)
                    if is_full:
                        self._room.notify_all()
        return True


def _program_ends() -> bool:
    """Whether the interpreter is shutting down, so that the standard library's pools refuse work.

    While it waits for their threads the main thread is still alive; only their own flag tells.
    """
    pools_end: bool = getattr(pools, "_shutdown", False)
    return pools_end or not threading.main_thread().is_alive()
