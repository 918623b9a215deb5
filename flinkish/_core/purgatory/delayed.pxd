# A delayed operation: completed once, by the thread that comes first.
#
# Invariants:
#   D1  `completed` goes from False to True once, in `_claim`; others read it atomically.  The
#       thread that does that, and no other, sees to it that `on_complete` runs: itself, or through
#       the owner of the lock (L4 of purgatory/lock.pxd).
#   D2  `try_complete`, `on_complete` and the watching of an operation run under its lock, so none
#       runs beside another (Kafka: DelayedOperation).  One may call another: the lock is
#       re-entrant.
#   D3  Before `on_complete` runs the operation is in no watch list and in no timer.
#   D4  `watch`, `watches` and `watch_count` change under the lock only.  They name the nodes where
#       it was watched; a node may be gone by now, or another's (cancelled by key), and `_forget`
#       looks.

cimport cython
from libc.stdint cimport int64_t, uint32_t

include "lock.pxd"

cdef struct WatchRef:
    uint32_t shard
    uint32_t node

# Where operations are watched: what an operation needs to know of its purgatory.
cdef class OperationHome:
    cdef public int64_t patience_ms       # how long to wait for a lock; see purgatory/lock.pxd
    cdef readonly int64_t completed       # operations of this home
    cdef readonly int64_t expired
    cdef int _forget(self, DelayedOperation operation) except -1
    cdef int _count(self, bint expired) noexcept

cdef class DelayedOperation(LockedTask):
    cdef OperationHome home               # None until it is watched
    cdef WatchRef watch                   # the first
    cdef WatchRef* watches                # the others, NULL or of `watch_room`
    cdef uint32_t watch_count
    cdef uint32_t watch_room
    cdef bint completed
    cdef OperationHome _get_home(self)
    cdef int _set_home(self, OperationHome home) except -1
    cdef bint _claim(self) noexcept
    cdef bint _try(self) except -1
    cdef bint _safe_try(self) except -1
    cdef bint _force(self) except -1
    cdef int _finish(self) except -1
    cdef int _expire_now(self) except -1
    cdef int _remember(self, uint32_t shard, uint32_t node) except -1
