"""The lock of a delayed operation; described in ``purgatory/lock.pxd``."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals

from flinkish._core.memory.atomic cimport load_thread, store_thread

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock)
    int PyThread_acquire_lock(PyThread_type_lock, int)
    int PyThread_acquire_lock_timed(PyThread_type_lock, long long, int)
    void PyThread_release_lock(PyThread_type_lock)
    unsigned long PyThread_get_thread_ident()
    enum:
        PY_LOCK_ACQUIRED
        PY_LOCK_INTR


@cython.final
cdef class _Guard:
    pass


cdef dict _waiting = {}
cdef _Guard _guard = _Guard()


cdef bint _may_wait(unsigned long me, LockedTask task) except -1:
    """Enter `me` as waiting for `task`, unless that closes a circle."""
    cdef LockedTask held = task
    cdef Py_ssize_t steps
    cdef unsigned long owner
    ident = me
    with cython.critical_section(_guard):
        for steps in range(len(_waiting) + 1):
            owner = load_thread(&held.owner)
            if owner == me:
                return False
            held = _waiting.get(owner)
            if held is None:
                break
        _waiting[ident] = task
    return True


cdef void _no_longer_waits(unsigned long me) noexcept:
    ident = me
    with cython.critical_section(_guard):
        _waiting.pop(ident, None)


@cython.final
cdef class Parker:
    """One thread's place in the queue."""

    def __cinit__(self):
        self.ident = PyThread_get_thread_ident()
        self.gate = PyThread_allocate_lock()
        if self.gate == NULL:
            raise MemoryError("no memory for a lock to wait on")
        PyThread_acquire_lock(self.gate, 1)

    def __dealloc__(self):
        if self.gate != NULL:
            PyThread_free_lock(self.gate)

    cdef int wait(self, long long micros) except -1:
        """1: woken; 0: not in time.  Raises what a signal handler raises."""
        cdef int status = PY_LOCK_INTR
        while status == PY_LOCK_INTR:
            with nogil:
                status = PyThread_acquire_lock_timed(self.gate, micros, 1)
            if status == PY_LOCK_INTR:
                PyErr_CheckSignals()
        return status == PY_LOCK_ACQUIRED

    cdef void wake(self) noexcept:
        PyThread_release_lock(self.gate)


cdef class LockedTask(TimerTask):
    """A timer task with a re-entrant, fair lock that is part of no deadlock."""

    cdef bint _grant(self, unsigned long me) noexcept:
        with cython.critical_section(self):
            if self.owner == 0:
                store_thread(&self.owner, me)
                self.depth = 1
                return True
            if self.owner == me:
                self.depth += 1
                return True
        return False

    cdef int _lock(self) except -1:
        cdef unsigned long me = PyThread_get_thread_ident()
        if self._grant(me):
            return HELD
        return self._await_lock(me)

    cdef bint _leave(self, object request, int why) except -1:
        cdef unsigned long me = PyThread_get_thread_ident(), owner
        cdef list requests = [request]
        with cython.critical_section(self):
            owner = self.owner
            if owner == 0:
                store_thread(&self.owner, me)
                self.depth = 1
            elif self.requests is None:
                self.requests = requests
            else:
                self.requests.append(request)
        if owner == 0:
            return False
        self._stuck(owner, why)
        return True

    cdef int _await_lock(self, unsigned long me) except -1:
        cdef Parker parker = Parker()
        cdef list waiters = [parker]
        cdef bint free = False
        if not _may_wait(me, self):
            return CIRCLE
        try:
            with cython.critical_section(self):
                if self.owner == 0:
                    store_thread(&self.owner, me)
                    self.depth = 1
                    free = True
                elif self.waiters is None:
                    self.waiters = waiters
                else:
                    self.waiters.append(parker)
            if free:
                return HELD
            try:
                if parker.wait(self._patience()):
                    return HELD
            except BaseException:
                if self._leave_queue(parker):
                    self._unlock()
                raise
            return HELD if self._leave_queue(parker) else LATE
        finally:
            _no_longer_waits(me)

    cdef bint _leave_queue(self, Parker parker) noexcept:
        """True: the lock was granted meanwhile; False: it will not be."""
        cdef Py_ssize_t at
        with cython.critical_section(self):
            if parker.granted:
                return True
            for at in range(len(self.waiters)):
                if self.waiters[at] is parker:
                    del self.waiters[at]
                    break
        return False

    cdef int _unlock(self) except -1:
        cdef Parker next_one = None
        cdef list requests
        cdef object failed = None
        while True:
            with cython.critical_section(self):
                if self.depth > 1:
                    self.depth -= 1
                    return 0
                requests = self.requests
                self.requests = None
                if requests is None:
                    if self.waiters:
                        next_one = self.waiters.pop(0)
                        next_one.granted = True
                        store_thread(&self.owner, next_one.ident)
                    else:
                        store_thread(&self.owner, 0)
                        self.depth = 0
            if requests is None:
                if next_one is not None:
                    next_one.wake()
                if failed is not None:
                    raise failed
                return 0
            for request in requests:
                failed = self._serve(request) or failed

    @property
    def _waiters(self):
        """How many threads wait for the lock."""
        return len(self.waiters) if self.waiters is not None else 0

    cdef long long _patience(self) except -1:
        return 10_000_000

    cdef int _stuck(self, unsigned long owner, int why) except -1:
        return 0

    cdef object _serve(self, object request):
        try:
            request()
        except BaseException as error:
            return error
