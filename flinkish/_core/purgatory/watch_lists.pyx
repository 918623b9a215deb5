# cython: freethreading_compatible=True
"""Watch lists and their timer; described in ``watch_lists.pxd``."""

from functools import partial

cimport cython
from libc.stdint cimport uint32_t, uint64_t

from flinkish._core.memory.atomic cimport load_flag, store_flag
from flinkish._core.memory.segment cimport set_count
from flinkish._core.purgatory.delayed cimport HELD, WatchRef

include "watch_shard.pyx"

cdef enum:
    SHARDS = 512


cdef class WatchLists(OperationHome):
    """Operations by key, and the timer that expires them: the hot half of the purgatory.

    The wall provides `_keys(keys)`, a tuple or an error; `_refused(operation)` and
    `_foreign(operation, home)`, which raise; and what OperationHome wants.
    """

    def __init__(self, TaskTimer timer not None):
        self.timer = timer
        self.shards = [Shard() for _ in range(SHARDS)]

    @property
    def closed(self):
        """Whether it takes no more operations, since ``shutdown``."""
        return load_flag(&self.is_closed)

    def try_complete_else_watch(self, DelayedOperation operation not None, keys):
        """Complete `operation` now, or watch it under `keys` until it is, or expires.

        True if this call completed it.  `try_complete` is called once, and once more when it
        is watched, so that no change in between is missed (Kafka: DelayedOperationPurgatory); all
        under the operation's lock.  What it raises arrives here, and then this call watched
        nothing.
        """
        cdef int got
        if type(keys) is not tuple or not keys:
            keys = self._keys(keys)
        got = operation._lock()
        if got != HELD and operation._leave(partial(self._watch_later, operation, keys), got):
            return False
        try:
            return self._try_or_watch(operation, keys)
        finally:
            operation._unlock()

    def _watch_later(self, DelayedOperation operation, keys):
        self._try_or_watch(operation, keys)

    cdef bint _try_or_watch(self, DelayedOperation operation, object keys) except -1:
        cdef Py_hash_t hashed
        cdef uint32_t index, node
        cdef uint32_t before = operation.watch_count
        cdef bint done, forgotten
        if load_flag(&operation.completed):
            return False
        if load_flag(&self.is_closed):
            self._refused(operation)
        home = operation._get_home()
        if home is None:
            operation._set_home(self)
        elif home is not self:
            self._foreign(operation, home)
        if operation._try():
            return True
        if load_flag(&operation.completed):
            return False
        if before == 0:
            with cython.critical_section(self):
                self.entered += 1
        try:
            if len(<tuple>keys) > 1:
                for key in <tuple>keys:
                    hashed = hash(key)
                    index = <uint32_t>(<uint64_t>hashed % SHARDS)
                    (<Shard>self.shards[index])._ask_for_key(hashed)
            for key in <tuple>keys:
                hashed = hash(key)
                index = <uint32_t>(<uint64_t>hashed % SHARDS)
                node = (<Shard>self.shards[index])._link(key, hashed, operation)
                if node == 0:
                    self._refused(operation)
                operation._remember(index, node)
            done = operation._try()
            if not load_flag(&operation.completed):
                self.timer._add(operation)
        except BaseException:
            # One that has completed, and whose `on_complete` raised, is forgotten already.
            forgotten = load_flag(&operation.completed) and operation.watch_count == 0
            if before == 0:
                operation._cancel()
            if not forgotten:
                self._drop(operation, before)
            raise
        return done

    cdef int _forget(self, DelayedOperation operation) except -1:
        return self._drop(operation, 0) if operation.watch_count != 0 else 0

    cdef int _drop(self, DelayedOperation operation, uint32_t first) except -1:
        """Unlink all watches but the `first` ones."""
        cdef uint32_t i
        cdef WatchRef* watch
        cdef object dropped
        cdef int step
        if operation.watch_count > 1:
            for step in range(3):
                for i in range(first, operation.watch_count):
                    watch = &operation.watches[i - 1] if i != 0 else &operation.watch
                    (<Shard>self.shards[watch.shard])._ask_for_node(watch.node, step)
        for i in range(first, operation.watch_count):
            watch = &operation.watches[i - 1] if i != 0 else &operation.watch
            dropped = (<Shard>self.shards[watch.shard])._unlink(watch.node, operation)
        if first == 0:
            with cython.critical_section(self):
                self.left += 1
        operation.watch_count = first
        return 0

    def check_and_complete(self, key):
        """Try every operation that is watched under `key`; how many this call completed.

        What an operation raises is reported and counted, and keeps no other from its turn.  A
        DeadlockError (in debug mode) is the caller's, and is raised when all had theirs.  Call it
        without any lock that a completion may want.
        """
        cdef Py_hash_t hashed = hash(key)
        cdef DelayedOperation operation
        cdef Py_ssize_t count = 0
        cdef list found
        cdef object deadlock = None
        found = (<Shard>self.shards[<uint64_t>hashed % SHARDS])._watchers(key, hashed, False)
        for operation in found:
            try:
                count += operation._safe_try()
            except Exception as error:
                deadlock = self._report(operation, error) or deadlock
        if deadlock is not None:
            raise deadlock
        return count

    def cancel_for_key(self, key):
        """Stop watching `key`: its operations, their timers cancelled, none completed.

        One that is watched under another key too can still complete there.
        """
        cdef Py_hash_t hashed = hash(key)
        cdef DelayedOperation operation
        cdef list found
        found = (<Shard>self.shards[<uint64_t>hashed % SHARDS])._watchers(key, hashed, True)
        for operation in found:
            operation._cancel()
        return [*dict.fromkeys(found)] if len(found) > 1 else found

    def watched(self):
        """How many watches there are: an operation counts once for each of its keys.

        Completed operations leave at once, where Kafka's stay until a check.
        """
        cdef Shard shard
        cdef Py_ssize_t count = 0
        for shard in self.shards:
            count += shard.live_nodes
        return count

    def num_delayed(self):
        """How many operations have a timer running."""
        return self.timer.size()

    def _keys_watched(self):
        cdef Shard shard
        cdef Py_ssize_t count = 0
        for shard in self.shards:
            count += set_count(&shard.found)
        return count

    def _trim(self):
        """Give the memory of empty shards back."""
        cdef Shard shard
        for shard in self.shards:
            shard.trim()

    def _close_watches(self):
        """Refuse operations from now on, and name those that are watched; None: closed before."""
        cdef Shard shard
        cdef list found = []
        with cython.critical_section(self):
            if self.is_closed:
                return None
            store_flag(&self.is_closed, True)
        for shard in self.shards:
            found += shard.close()
        return list(dict.fromkeys(found))

    def _check(self):
        """Raise AssertionError unless the invariants hold.  O(n)."""
        cdef Shard shard
        for shard in self.shards:
            shard._check()
