# cython: freethreading_compatible=True
# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""Timer tasks and the timer that holds them; described in ``timer_tasks.pxd``."""

cimport cython
from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t

from flinkish._core.memory.atomic cimport load_flag, store_flag

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1

cdef int64_t NEVER = INT64_MAX
cdef int64_t UNSET = INT64_MIN         # the delay of a task whose __init__ never ran
cdef int64_t NO_HANDLE = -1
cdef int64_t NANOS = 1_000_000


cdef class TimerTask:
    """TimerTask(delay_ms)\n--\n\nSomething to run after a delay; subclasses override `run`.

    `delay_ms` is an int that fits 64 bits; anything else goes through `_read_delay`, which the
    wall provides.  Zero or less is due at once (Kafka: SystemTimer).
    """

    def __cinit__(self):
        self.delay_ms = UNSET
        self.handle = NO_HANDLE

    def __init__(self, delay_ms):
        cdef int overflow = 1
        cdef long long millis = 0
        if type(delay_ms) is int:
            millis = PyLong_AsLongLongAndOverflow(delay_ms, &overflow)
        if overflow != 0 or millis == UNSET:
            millis = self._read_delay(delay_ms)
        self.delay_ms = millis

    cdef uint32_t _arm(self, TaskTimer timer, int64_t expiration) except? 0:
        cdef TaskTimer before
        cdef int64_t handle
        cdef uint32_t epoch
        with cython.critical_section(self):
            before = self.timer
            handle = self.handle
            self.epoch = epoch = self.epoch + 1
            self.state_code = PENDING
            self.expiration = expiration
            self.handle = NO_HANDLE
            self.timer = timer
        if handle != NO_HANDLE:
            before.wheel.drop(handle)
        return epoch

    cdef bint _settle(self, uint32_t epoch, int64_t handle) noexcept:
        with cython.critical_section(self):
            if self.epoch == epoch and self.state_code == PENDING:
                self.handle = handle
                return True
        return False

    cdef bint _expire(self, int64_t now) except -1:
        cdef TaskTimer timer
        cdef int64_t handle = NO_HANDLE
        with cython.critical_section(self):
            timer = self.timer
            if self.state_code != PENDING or self.expiration > now:
                return False
            self.state_code = EXPIRED
            if self.epoch > 1:  # the entry that brought us here may be that of an earlier add
                handle = self.handle
            self.handle = NO_HANDLE
            self.timer = None
        if handle != NO_HANDLE:
            timer.wheel.drop(handle)
        return True

    cdef bint _cancel(self) except -1:
        cdef TaskTimer timer
        cdef int64_t handle
        with cython.critical_section(self):
            timer = self.timer
            if self.state_code != PENDING:
                return False
            self.state_code = CANCELLED
            handle = self.handle
            self.handle = NO_HANDLE
            self.timer = None
        if handle != NO_HANDLE:
            timer.wheel.drop(handle)
        with cython.critical_section(timer):
            timer.cancelled += 1
        return True

    cdef int _run(self) except -1:
        self.run()
        return 0

    def cancel(self):
        """Keep it from running: True if this call did, and then it never runs.

        As in Kafka's TimerTaskList.  False when it is not pending: not added yet, running or run,
        or cancelled before.
        """
        return self._cancel()

    def is_cancelled(self):
        """Whether `cancel` won, and it was not added again since."""
        return self._read_state() == CANCELLED

    @property
    def _state(self):
        return self._read_state()

    cdef int8_t _read_state(self) noexcept:
        cdef int8_t found
        with cython.critical_section(self):
            found = self.state_code
        return found


@cython.final
cdef class DueTasks:
    """Tasks that were due at a time, each run by exactly one of the threads that call `run`."""

    def __init__(self, list tasks not None, int64_t now):
        self.tasks = tasks
        self.now = now

    def __len__(self):
        return len(self.tasks)

    def run(self, report, clock=None, int64_t until=NEVER):
        """Run what nobody took yet, until `clock()` says so; whether all are taken.

        At least one task runs, if one is left.  `report(task, error)` gets what a task raises.
        """
        cdef TimerTask task
        cdef Py_ssize_t at
        while True:
            with cython.critical_section(self):
                at = self.at
                if at < len(self.tasks):
                    self.at = at + 1
            if at >= len(self.tasks):
                return True
            task = self.tasks[at]
            self.tasks[at] = None  # nothing that ran is kept for the rest of the batch
            try:
                if task._expire(self.now):
                    task._run()
            except BaseException as error:
                report(task, error)
            if until != NEVER and clock() >= until:
                return self.at >= len(self.tasks)

    def cancel(self):
        """Cancel all that nobody took; how many were pending."""
        cdef TimerTask task
        cdef Py_ssize_t count = 0
        for task in self.tasks[self.at:]:
            count += task._cancel()
        return count


cdef class TaskTimer:
    """A wheel of tasks and the clock they are due by; the wall adds threads.

    It calls, on the adding thread and outside of any section: `_wake()` after an add that is
    due before `wake_at`, `_hand_over(due)` for a task that is due already (False: no room,
    keep it in the wheel); and, to raise, `_rejected(task)` for an add after `_close_adds` and
    `_unset(task)` for a task without a delay.
    """

    def __init__(self, TimingWheel wheel not None, clock):
        self.wheel = wheel
        self.clock = clock
        self.wake_at = NEVER

    cdef int64_t _now(self, bint up) except? -1:
        cdef int64_t nanos = self.clock()
        # Rounded up for the start of a delay and down for its end: never early (Kafka:
        # TimingWheel).
        return (nanos + NANOS - 1) // NANOS if up else nanos // NANOS

    cdef int _add(self, TimerTask task) except -1:
        cdef int64_t now
        if load_flag(&self.is_closed):
            self._rejected(task)
        if task.delay_ms == UNSET:
            self._unset(task)
        now = self._now(task.delay_ms > 0)
        if task.delay_ms > 0:  # an overflow saturates, and so is never early (Kafka: SystemTimer)
            return self._place(task, now + task.delay_ms if task.delay_ms <= NEVER - now else NEVER)
        task._arm(self, now)
        if not self._hand_over(DueTasks([task], now)):
            return self._place(task, now)
        with cython.critical_section(self):
            self.added += 1
        return 0

    cdef int _place(self, TimerTask task, int64_t expiration) except -1:
        cdef uint32_t epoch = task._arm(self, expiration)
        cdef int64_t handle = self.wheel.put(expiration, task)
        cdef bint wake, closed
        if not task._settle(epoch, handle):
            self.wheel.drop(handle)
            return 0
        with cython.critical_section(self):
            self.added += 1
            closed = self.is_closed
            wake = expiration < self.wake_at
            if wake:
                self.wake_at = -NEVER  # once is enough until the reaper looks again
        if closed:  # `close` may have looked before the task was in the wheel
            task._cancel()
            self._rejected(task)
        if wake:
            self._wake()
        return 0

    def add(self, TimerTask task not None):
        """Run `task` after its delay; adding a pending one again moves it (Kafka: TimerTaskList).

        One whose delay is not positive goes to the executor at once and is not counted in
        `size` (Kafka: SystemTimer).  RejectedExecutionError after `close`.
        """
        self._add(task)

    @property
    def closed(self):
        """Whether it takes no more tasks."""
        return load_flag(&self.is_closed)

    def size(self):
        """How many tasks wait for their time."""
        return len(self.wheel)

    def _before_sleep(self):
        """Milliseconds until something is due, at least 0; None when nothing is pending.

        Every add that is due earlier than what this saw calls `_wake`: until it has looked,
        all do.
        """
        cdef int64_t earliest = 0
        with cython.critical_section(self):
            self.wake_at = NEVER
        if not self.wheel.next_wake(&earliest):
            return None
        with cython.critical_section(self):
            if self.wake_at == NEVER:
                self.wake_at = earliest
        return max(earliest - self.clock() / 1e6, 0.0)

    def _take_due(self, size_t limit):
        """Take out at most `limit` of what is due by the clock, as DueTasks; None: nothing is."""
        cdef int64_t now = self._now(False)
        cdef list tasks = self.wheel.expire(now, limit)
        return DueTasks(tasks, now) if tasks else None

    def _close_adds(self):
        """Refuse further adds; False when it was closed before."""
        with cython.critical_section(self):
            if self.is_closed:
                return False
            store_flag(&self.is_closed, True)
        return True

    def _take_all(self):
        """Take out everything, to be cancelled."""
        return DueTasks(self.wheel.expire(NEVER, <size_t>-1), NEVER)
