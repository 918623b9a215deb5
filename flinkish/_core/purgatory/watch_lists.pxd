# The hot half of the purgatory: operations in 512 shards of watch lists (Kafka:
# DelayedOperationPurgatory; the shards are in watch_shard.pxd), and the timer that expires them.
#
# An operation is watched and its timer started under its lock (D2 of delayed.pxd), so either its
# completion finds all watches and the timer, or the watcher finds it completed.  `shutdown`
# closes shard after shard: an operation is in what that returns, or it is refused (W4).

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.purgatory.delayed cimport DelayedOperation, OperationHome
from flinkish._core.wheel.timer_tasks cimport TaskTimer

include "watch_shard.pxd"

cdef class WatchLists(OperationHome):
    cdef TaskTimer timer
    cdef list shards
    cdef readonly int64_t entered     # operations watched since the start
    cdef readonly int64_t left        # of those, completed or refused since
    cdef bint is_closed               # read without the section, too
    cdef bint _try_or_watch(self, DelayedOperation operation, object keys) except -1
    cdef int _drop(self, DelayedOperation operation, uint32_t first) except -1
