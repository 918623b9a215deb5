"""One of the shards of the watch lists; described in ``watch_shard.pxd``."""

cimport cython
from libc.stdint cimport uint64_t

from flinkish._core.memory.segment cimport (
    mix64, segment_init, segment_raise, segment_release, segment_reserve, set_capacity, set_count,
    set_entries, set_erase, set_home, set_index, set_reserve, set_take,
)

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* at) noexcept nogil

cdef extern from "Python.h":
    ctypedef struct PyListObject:
        void** ob_item
    int PyObject_RichCompareBool(object one, object other, int op) noexcept

cdef enum:
    KEPT = 64                         # nodes of an empty shard that `trim` leaves reserved

cdef int EQUAL = 2                    # Py_EQ
cdef object _NOTHING = object()       # equal to no key


cdef inline bint _plain(object one, object other) noexcept:
    """Whether comparing them runs C code only, which neither fails nor lets go of the GIL."""
    cdef object kind = type(one)
    return kind is type(other) and (kind is str or kind is int or kind is bytes)


cdef inline uint32_t _short(Py_hash_t hash) noexcept:
    """The hash of a key in the set: the shard was chosen by other bits of it."""
    return <uint32_t>mix64(<uint64_t>hash)


@cython.final
cdef class Shard:
    """Keys and their watchers; every method that touches them is a critical section."""

    def __cinit__(self):
        segment_init(&self.nodes)
        segment_init(&self.entries)
        segment_init(&self.found)
        self.operations = [None]
        self.keys = [None]

    def __dealloc__(self):
        segment_release(&self.nodes)
        segment_release(&self.entries)
        segment_release(&self.found)

    # --- within a critical section

    cdef uint32_t _search(self, object key, Py_hash_t hash, object same, list others,
                          bint* doubt) noexcept:
        """The entry of `key`, 0 when there is none.

        `same` is a key that is known to be equal, `others` those known not to be.  With `doubt`
        the answer is an entry whose key has to be compared, outside.
        """
        cdef uint64_t* places = set_entries(&self.found)
        cdef uint32_t capacity = set_capacity(&self.found)
        cdef uint32_t short = _short(hash), place, at
        cdef object found
        doubt[0] = False
        if capacity == 0:
            return 0
        place = set_home(short, capacity)
        while places[place] != 0:
            if <uint32_t>(places[place] >> 32) == short:
                at = <uint32_t>places[place] - 1
                found = self.keys[at]
                if found is key or found is same:
                    return at
                if _plain(found, key):
                    if PyObject_RichCompareBool(found, key, EQUAL) == 1:
                        return at
                elif (<WatchEntry*>self.entries.base)[at].hash == hash and (
                    others is None or not _among(others, found)
                ):
                    doubt[0] = True
                    return at
            place += 1
            if place == capacity:
                place = 0
        return 0

    cdef int _reserve(self) except -1:
        """Room for one more node and one more entry."""
        cdef size_t nodes = len(self.operations) + 1, entries = len(self.keys) + 1
        if self.free_node == 0:
            segment_raise(segment_reserve(&self.nodes, nodes * sizeof(WatchNode)))
        if self.free_entry == 0:
            segment_raise(segment_reserve(&self.entries, entries * sizeof(WatchEntry)))
        segment_raise(set_reserve(&self.found, set_count(&self.found) + 1))
        return 0

    cdef object _free_node(self, uint32_t node):
        """Take a node out of its list; what was its key's last reference here, or None."""
        cdef WatchNode* nodes = <WatchNode*>self.nodes.base
        cdef uint32_t at = nodes[node].entry, short
        cdef WatchEntry* entry = <WatchEntry*>self.entries.base + at
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
            short = _short(entry.hash)
            set_erase(&self.found, set_index(&self.found, short, at))
            key = self.keys[at]
            self.keys[at] = None
            entry.head = self.free_entry
            self.free_entry = at
        return key

    # --- critical sections

    cdef int _ask_for_key(self, Py_hash_t hash) noexcept:
        """Have the processor fetch what a search for this hash looks at first."""
        cdef uint32_t capacity
        with cython.critical_section(self):
            capacity = set_capacity(&self.found)
            if capacity != 0:
                prefetch(set_entries(&self.found) + set_home(_short(hash), capacity))
        return 0

    cdef int _ask_for_node(self, uint32_t node, int step) noexcept:
        """Have the processor fetch what `_unlink` needs; what a step reads, the one before named."""
        cdef WatchNode* nodes
        cdef WatchEntry* entries
        cdef uint32_t at
        with cython.critical_section(self):
            if node >= <uint32_t>len(self.operations):
                return 0
            nodes = <WatchNode*>self.nodes.base
            entries = <WatchEntry*>self.entries.base
            if step == 0:
                prefetch(&nodes[node])
                prefetch(&(<PyListObject*>self.operations).ob_item[node])
                return 0
            at = nodes[node].entry
            if at == 0:
                return 0
            if step == 1:
                prefetch(&entries[at])
                prefetch(&(<PyListObject*>self.keys).ob_item[at])
            else:
                at = set_home(_short(entries[at].hash), set_capacity(&self.found))
                prefetch(set_entries(&self.found) + at)
                prefetch((<PyListObject*>self.keys).ob_item[nodes[node].entry])
        return 0

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
        cdef uint32_t short = _short(hash)
        cdef uint32_t capacity = set_capacity(&self.found)
        cdef uint32_t place = set_home(short, capacity)
        cdef WatchEntry* entry
        if at != 0:
            self.free_entry = (<WatchEntry*>self.entries.base)[at].head
            self.keys[at] = key
        else:
            at = <uint32_t>len(self.keys)
            self.keys.append(key)
        entry = <WatchEntry*>self.entries.base + at
        entry.hash = hash
        entry.head = entry.tail = entry.count = 0
        while set_entries(&self.found)[place] != 0:
            place += 1
            if place == capacity:
                place = 0
        set_take(&self.found, place, short, at)
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
                segment_release(&self.found)
                self.free_node = self.free_entry = 0
                self.operations, operations = operations, self.operations
                self.keys, keys = keys, self.keys

    def _check(self):
        """Raise AssertionError unless the invariants hold.  O(n)."""
        cdef WatchNode* nodes = <WatchNode*>self.nodes.base
        cdef WatchEntry* entries = <WatchEntry*>self.entries.base
        cdef uint64_t* places = set_entries(&self.found)
        cdef uint32_t place, at, node, prev, count, linked = 0
        for place in range(set_capacity(&self.found)):
            if places[place] == 0:
                continue
            at = <uint32_t>places[place] - 1
            assert <uint32_t>(places[place] >> 32) == _short(entries[at].hash), "a wrong place"
            assert set_index(&self.found, _short(entries[at].hash), at) == place, "out of reach"
            assert hash(self.keys[at]) == entries[at].hash, "wrong hash"
            node, prev, count = entries[at].head, 0, 0
            while node != 0:
                count += 1
                assert nodes[node].entry == at, "a node in a strange list"
                assert nodes[node].prev == prev, "a node does not know the one before it"
                assert self.operations[node] is not None, "a node without operation"
                prev, node = node, nodes[node].next
            assert count > 0, "an empty list"
            assert entries[at].tail == prev, "a tail that is not the last"
            assert entries[at].count == count, "a wrong length"
            linked += count
        keys = sum(key is not None for key in self.keys)
        assert keys <= set_count(&self.found), "a key is held for no entry"
        assert linked == self.live_nodes, "nodes got lost"
        held = sum(operation is not None for operation in self.operations)
        assert held == linked, "operations are held for no node"


cdef inline bint _among(list objects, object one) noexcept:
    for other in objects:
        if other is one:
            return True
    return False
