# One of the shards of the watch lists: which operations wait for a key.
#
# A shard is an arena: nodes (an operation in a list) and entries (a key and its list) lie in two
# segments and refer to each other by index, 0 meaning none; Python objects sit in lists at the
# same index, so that the garbage collector sees them.
#
# Invariants:
#   W1  A shard changes within its critical section only (see timer_tasks.pxd).  Keys are
#       compared there only when that is plain C, else outside, and the search starts again; a
#       reference that may be the last one leaves the section before it is dropped.
#   W2  An entry is in the set `found` and has a node, or it is free.  So a key that nobody
#       watches costs nothing, and no list is found empty (Kafka's races of removing one: H).
#   W3  A node is in exactly one list, or free.  Unlinking needs no search: lists are doubly
#       linked.  It takes out a node only if that holds the operation that asks.
#   W4  Nothing is linked in a closed shard.
#
# Order: an operation's lock, then a shard's section.  No list is locked while an operation is
# tried (Kafka's list lock: KAFKA-3994).

cimport cython
from libc.stdint cimport uint32_t

from flinkish._core.purgatory.delayed cimport DelayedOperation
from flinkish._core.memory.segment cimport Segment

cdef struct WatchNode:
    uint32_t prev
    uint32_t next         # also the next free one
    uint32_t entry        # 0 while free

cdef struct WatchEntry:
    Py_hash_t hash
    uint32_t head         # also the next free one
    uint32_t tail
    uint32_t count        # 0 while free

@cython.final
cdef class Shard:
    cdef Segment nodes
    cdef Segment entries
    cdef Segment found                # a set of entries by the hash of their key; see id_set.pxd
    cdef list operations              # of nodes
    cdef list keys                    # of entries
    cdef uint32_t free_node
    cdef uint32_t free_entry
    cdef uint32_t live_nodes
    cdef bint closed
    cdef uint32_t _search(self, object key, Py_hash_t hash, object same, list others,
                          bint* doubt) noexcept
    cdef int _reserve(self) except -1
    cdef int _ask_for_key(self, Py_hash_t hash) noexcept
    cdef int _ask_for_node(self, uint32_t node, int step) noexcept
    cdef uint32_t _link(self, object key, Py_hash_t hash, DelayedOperation operation) except? 0
    cdef uint32_t _new_entry(self, object key, Py_hash_t hash) noexcept
    cdef object _unlink(self, uint32_t node, DelayedOperation operation)
    cdef object _free_node(self, uint32_t node)
    cdef list _watchers(self, object key, Py_hash_t hash, bint take)
