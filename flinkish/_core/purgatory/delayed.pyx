# cython: freethreading_compatible=True
"""Delayed operations; described in ``delayed.pxd``."""

from functools import partial

cimport cython
from libc.stdlib cimport free, realloc

from flinkish._core.memory.atomic cimport load_flag, store_flag

include "lock.pyx"

cdef class OperationHome:
    """The purgatory as its operations see it.

    The wall provides `_report(operation, error)` for errors that reach no caller of their own
    (it returns one that the caller of a check should get after all, or None), `_untrue(operation)`, which raises for a `try_complete` that claims what is not so, and
    `_deadlock(operation, thread, circle)` for a request that was left with another thread.
    """

    cdef int _forget(self, DelayedOperation operation) except -1:
        return 0

    cdef int _count(self, bint expired) noexcept:
        with cython.critical_section(self):
            if expired:
                self.expired += 1
            else:
                self.completed += 1
        return 0


cdef class DelayedOperation(LockedTask):
    """An operation that waits for its condition, at most `delay_ms`.

    Subclasses override `try_complete`, `on_complete` and `on_expiration`.
    """

    def __dealloc__(self):
        free(self.watches)

    # --- the one completion

    cdef bint _claim(self) noexcept:
        with cython.critical_section(self):
            if self.completed:
                return False
            store_flag(&self.completed, True)
        return True

    cdef OperationHome _get_home(self):
        with cython.critical_section(self):
            return self.home

    cdef int _set_home(self, OperationHome home) except -1:
        with cython.critical_section(self):
            self.home = home
        return 0

    cdef int _finish(self) except -1:
        cdef OperationHome home = self._get_home()
        self._cancel()
        if home is not None:
            home._forget(self)
            home._count(False)
        self.on_complete()
        return 0

    cdef bint _force(self) except -1:
        cdef int got
        if load_flag(&self.completed):
            return False
        got = self._lock()
        if got != HELD:
            if not self._claim():
                return False
            if self._leave(partial(self._finish_for, False), got):
                return True
            try:
                self._finish()
            finally:
                self._unlock()
            return True
        try:
            if not self._claim():
                return False
            self._finish()
        finally:
            self._unlock()
        return True

    def _finish_for(self, bint expired):
        """Complete what another thread claimed and left with this one."""
        try:
            self._finish()
        finally:
            if expired:
                self._expired()

    def _expired(self):
        cdef OperationHome home = self._get_home()
        if home is not None:
            home._count(True)
        self.on_expiration()

    cdef int _run(self) except -1:
        try:
            self._expire_now()
        except BaseException as error:
            home = self._get_home()
            if home is None:
                raise
            home._report(self, error)
        return 0

    cdef int _expire_now(self) except -1:
        cdef bint mine = False
        cdef int got
        if load_flag(&self.completed):
            return 0
        got = self._lock()
        if got != HELD:
            if not self._claim() or self._leave(partial(self._finish_for, True), got):
                return 0
            try:
                self._finish_for(True)
            finally:
                self._unlock()
            return 0
        try:
            mine = self._claim()
            if mine:
                self._finish()
        finally:
            self._unlock()
            if mine:
                self._expired()
        return 0

    # --- attempts

    cdef bint _try(self) except -1:
        cdef bint done = self.try_complete()
        if done and not load_flag(&self.completed):
            self._untrue()
        return done

    cdef bint _safe_try(self) except -1:
        cdef int got
        if load_flag(&self.completed):
            return False
        got = self._lock()
        if got != HELD and self._leave(self._try_for_another, got):
            return False
        try:
            return not load_flag(&self.completed) and self._try()
        finally:
            self._unlock()

    def _try_for_another(self):
        if not load_flag(&self.completed):
            self._try()

    def force_complete(self):
        """Complete it, whatever its condition: True for the one caller that did.

        As in Kafka's DelayedOperation.  That caller runs `on_complete`, and gets what it raises;
        the timer and all watches are gone before.
        """
        return self._force()

    def safe_try_complete(self):
        """Call `try_complete` under the lock, unless it is completed: whether this completed it."""
        return self._safe_try()

    def safe_try_complete_or_else(self, action):
        """Try; if that fails run `action()` and try again, all under the lock."""
        cdef int got = self._lock()
        if got != HELD and self._leave(partial(self.safe_try_complete_or_else, action), got):
            return False
        try:
            if not load_flag(&self.completed) and self._try():
                return True
            action()
            return not load_flag(&self.completed) and self._try()
        finally:
            self._unlock()

    def is_completed(self):
        """Whether somebody completed it; `on_complete` may still be running."""
        return load_flag(&self.completed)

    @property
    def _home(self):
        return self._get_home()

    def try_complete(self):
        """Complete it if its condition holds: ``return self.force_complete()``; else False."""
        return False

    def on_complete(self):
        """The action of its completion; runs once."""

    def on_expiration(self):
        """The action of its expiry, after `on_complete`."""

    def run(self):
        """Expire it: what its timer does."""
        self._run()

    # --- hooks of the lock

    cdef long long _patience(self) except -1:
        cdef OperationHome home = self._get_home()
        return 10_000_000 if home is None else home.patience_ms * 1000

    cdef int _stuck(self, unsigned long owner, int why) except -1:
        home = self._get_home()
        if home is not None:
            home._deadlock(self, owner, why == CIRCLE)
        return 0

    cdef object _serve(self, object request):
        error = LockedTask._serve(self, request)
        home = self._get_home()
        if error is not None and home is not None:
            return home._report(self, error)
        return error

    # --- where it is watched

    cdef int _remember(self, uint32_t shard, uint32_t node) except -1:
        cdef WatchRef* at
        cdef void* grown
        if self.watch_count == 0:
            at = &self.watch
        else:
            if self.watch_count > self.watch_room:
                grown = realloc(self.watches, (<size_t>self.watch_room * 2 + 4) * sizeof(WatchRef))
                if grown == NULL:
                    raise MemoryError("no memory to watch an operation under one more key")
                self.watches = <WatchRef*>grown
                self.watch_room = self.watch_room * 2 + 4
            at = &self.watches[self.watch_count - 1]
        at.shard = shard
        at.node = node
        self.watch_count += 1
        return 0
