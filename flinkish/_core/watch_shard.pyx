"""One of the shards of the watch lists; described in ``watch_shard.pxd``."""

cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memset

from flinkish._core.memory cimport (
    mix64,
    segment_init,
    segment_raise,
    segment_release,
    segment_reserve,
)

cdef extern from "Python.h":
    int PyObject_RichCompareBool(object one, object other, int op) noexcept

cdef enum:
    KEPT = 64                         # nodes of an empty shard that `trim` leaves reserved

cdef int EQUAL = 2                    # Py_EQ
cdef object _NOTHING = object()       # equal to no key


cdef inline bint _plain(object one, object other) noexcept:
    """Whether comparing them runs C code only, which neither fails nor lets go of the GIL."""
    cdef object kind = type(one)
    return kind is type(other) and (kind is str or kind is int or kind is bytes)


@cython.final
cdef class Shard:
    """Keys and their watchers; every method that touches them is a critical section."""

    def __cinit__(self):
        segment_init(&self.nodes)
        segment_init(&self.entries)
        segment_init(&self.buckets)
        self.operations = [None]
        self.keys = [None]

    def __dealloc__(self):
        segment_release(&self.nodes)
        segment_release(&self.entries)
        segment_release(&self.buckets)

    # --- within a critical section

    cdef uint32_t _search(self, object key, Py_hash_t hash, object same, list others,
                          bint* doubt) noexcept:
        """The entry of `key`, 0 when there is none.

        `same` is a key that is known to be equal, `others` those known not to be.  With `doubt`
        the answer is an entry whose key has to be compared, outside.
        """
        cdef WatchEntry* entries = <WatchEntry*>self.entries.base
        cdef uint32_t at
        cdef object found
        doubt[0] = False
        if self.mask == 0:
            return 0
        at = (<uint32_t*>self.buckets.base)[mix64(<uint64_t>hash) & self.mask]
        while at != 0:
            if entries[at].hash == hash:
                found = self.keys[at]
                if found is key or found is same:
                    return at
                if _plain(found, key):
                    if PyObject_RichCompareBool(found, key, EQUAL) == 1:
                        return at
                elif others is None or not _among(others, found):
                    doubt[0] = True
                    return at
            at = entries[at].chain
        return 0

    cdef int _reserve(self) except -1:
        """Room for one more node and one more entry."""
        cdef size_t nodes = len(self.operations) + 1, entries = len(self.keys) + 1
        if self.free_node == 0:
            segment_raise(segment_reserve(&self.nodes, nodes * sizeof(WatchNode)))
        if self.free_entry == 0:
            segment_raise(segment_reserve(&self.entries, entries * sizeof(WatchEntry)))
        if self.live_entries >= self.mask:
            self._rehash(max(8, (self.mask + 1) * 2))
        return 0

    cdef int _rehash(self, uint32_t size) except -1:
        cdef WatchEntry* entries = <WatchEntry*>self.entries.base
        cdef uint32_t* buckets
        cdef uint32_t at, bucket
        segment_raise(segment_reserve(&self.buckets, size * sizeof(uint32_t)))
        buckets = <uint32_t*>self.buckets.base
        memset(buckets, 0, size * sizeof(uint32_t))
        self.mask = size - 1
        for at in range(1, <uint32_t>len(self.keys)):
            if entries[at].count != 0:
                bucket = mix64(<uint64_t>entries[at].hash) & self.mask
                entries[at].chain = buckets[bucket]
                buckets[bucket] = at
        return 0

    cdef object _free_node(self, uint32_t node):
        """Take a node out of its list; what was its key's last reference here, or None."""
        cdef WatchNode* nodes = <WatchNode*>self.nodes.base
        cdef uint32_t at = nodes[node].entry
        cdef WatchEntry* entry = <WatchEntry*>self.entries.base + at
        cdef uint32_t* link
        cdef object key = None
        if nodes[node].prev != 0:
            nodes[nodes[node].prev].next = nodes[node].next
        else:
            entry.head = nodes[node].next
        if nodes[node].next != 0:
            nodes[nodes[node].next].prev = nodes[node].prev
        else:
            entry.tail = nodes[node].prev
        nodes[node].entry = 0
        nodes[node].next = self.free_node
        self.free_node = node
        self.operations[node] = None
        self.live_nodes -= 1
        entry.count -= 1
        if entry.count == 0:
            link = (<uint32_t*>self.buckets.base) + (mix64(<uint64_t>entry.hash) & self.mask)
            while link[0] != at:
                link = &(<WatchEntry*>self.entries.base)[link[0]].chain
            link[0] = entry.chain
            key = self.keys[at]
            self.keys[at] = None
            entry.chain = self.free_entry
            self.free_entry = at
            self.live_entries -= 1
        return key

    # --- critical sections

    cdef uint32_t _link(self, object key, Py_hash_t hash, DelayedOperation operation) except? 0:
        """Watch `operation` under `key`; its node, or 0 when the shard is closed."""
        cdef WatchNode* node
        cdef WatchEntry* entry
        cdef uint32_t at, place
        cdef bint doubt
        cdef object candidate = None, same = _NOTHING
        cdef list others = None
        while True:
            with cython.critical_section(self):
                if self.closed:
                    return 0
                at = self._search(key, hash, same, others, &doubt)
                if doubt:
                    candidate = self.keys[at]
                else:
                    self._reserve()
                    if at == 0:
                        at = self._new_entry(key, hash)
                    place = self.free_node
                    if place != 0:
                        self.free_node = (<WatchNode*>self.nodes.base)[place].next
                        self.operations[place] = operation
                    else:
                        place = <uint32_t>len(self.operations)
                        self.operations.append(operation)
                    node = <WatchNode*>self.nodes.base + place
                    entry = <WatchEntry*>self.entries.base + at
                    node.entry = at
                    node.prev = entry.tail
                    node.next = 0
                    if entry.tail != 0:
                        (<WatchNode*>self.nodes.base)[entry.tail].next = place
                    else:
                        entry.head = place
                    entry.tail = place
                    entry.count += 1
                    self.live_nodes += 1
                    return place
            if candidate == key:
                same = candidate
            elif others is None:
                others = [candidate]
            else:
                others.append(candidate)

    cdef uint32_t _new_entry(self, object key, Py_hash_t hash) noexcept:
        cdef uint32_t at = self.free_entry
        cdef WatchEntry* entry
        cdef uint32_t* bucket
        if at != 0:
            self.free_entry = (<WatchEntry*>self.entries.base)[at].chain
            self.keys[at] = key
        else:
            at = <uint32_t>len(self.keys)
            self.keys.append(key)
        entry = <WatchEntry*>self.entries.base + at
        bucket = (<uint32_t*>self.buckets.base) + (mix64(<uint64_t>hash) & self.mask)
        entry.hash = hash
        entry.chain = bucket[0]
        entry.head = entry.tail = entry.count = 0
        bucket[0] = at
        self.live_entries += 1
        return at

    cdef object _unlink(self, uint32_t node, DelayedOperation operation):
        """Take `operation` out of `node` if it is still there; what `_free_node` returns."""
        with cython.critical_section(self):
            if node < <uint32_t>len(self.operations) and self.operations[node] is operation:
                return self._free_node(node)
        return None

    cdef list _watchers(self, object key, Py_hash_t hash, bint take):
        """Who watches `key`, in the order in which they came."""
        cdef uint32_t at, node, after
        cdef bint doubt
        cdef object candidate = None, same = _NOTHING, dropped = None
        cdef list others = None, found = []
        while True:
            with cython.critical_section(self):
                at = self._search(key, hash, same, others, &doubt)
                if at == 0:
                    return found
                if doubt:
                    candidate = self.keys[at]
                else:
                    node = (<WatchEntry*>self.entries.base)[at].head
                    while node != 0:
                        after = (<WatchNode*>self.nodes.base)[node].next
                        found.append(self.operations[node])
                        if take:
                            dropped = self._free_node(node)
                        node = after
                    return found
            if candidate == key:
                same = candidate
            elif others is None:
                others = [candidate]
            else:
                others.append(candidate)

    def close(self):
        """Link nothing from now on; every watched operation, once for each node."""
        cdef list found = []
        cdef Py_ssize_t at
        with cython.critical_section(self):
            self.closed = True
            for at in range(len(self.operations)):
                if self.operations[at] is not None:
                    found.append(self.operations[at])
        return found

    def trim(self):
        """Give the memory of an empty shard back, if it was a large one."""
        cdef list operations = [None], keys = [None]
        with cython.critical_section(self):
            if self.live_nodes == 0 and len(self.operations) > KEPT:
                segment_release(&self.nodes)
                segment_release(&self.entries)
                segment_release(&self.buckets)
                self.free_node = self.free_entry = self.mask = 0
                self.operations, operations = operations, self.operations
                self.keys, keys = keys, self.keys

    def _check(self):
        """Raise AssertionError unless the invariants hold.  O(n)."""
        cdef WatchNode* nodes = <WatchNode*>self.nodes.base
        cdef WatchEntry* entries = <WatchEntry*>self.entries.base
        cdef uint32_t bucket, at, node, prev, count, chained = 0, linked = 0
        for bucket in range(self.mask + 1 if self.mask else 0):
            at = (<uint32_t*>self.buckets.base)[bucket]
            while at != 0:
                chained += 1
                assert mix64(<uint64_t>entries[at].hash) & self.mask == bucket, "wrong bucket"
                assert hash(self.keys[at]) == entries[at].hash, "wrong hash"
                node, prev, count = entries[at].head, 0, 0
                while node != 0:
                    count += 1
                    assert nodes[node].entry == at, "a node in a strange list"
                    assert nodes[node].prev == prev, "a node does not know who is before it"
                    assert self.operations[node] is not None, "a node without operation"
                    prev, node = node, nodes[node].next
                assert count > 0, "an empty list"
                assert entries[at].tail == prev, "a tail that is not the last"
                assert entries[at].count == count, "a wrong length"
                linked += count
                at = entries[at].chain
        assert chained == self.live_entries, "entries got lost"
        assert linked == self.live_nodes, "nodes got lost"
        held = sum(operation is not None for operation in self.operations)
        assert held == linked, "operations are held for no node"


cdef inline bint _among(list objects, object one) noexcept:
    for other in objects:
        if other is one:
            return True
    return False
