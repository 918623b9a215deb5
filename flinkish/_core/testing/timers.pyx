"""A door for tests into timers, their log and their files; nothing else imports it."""

cimport cython
from libc.stdint cimport int64_t, uint32_t

import numpy as np

from flinkish._core.memory.segment cimport segment_map, segment_raise
from flinkish._core.timers.heap cimport TimerHeap
from flinkish._core.timers.timers cimport (
    Timer, TimersHeader, timers_add, timers_attach, timers_by_registration, timers_clear,
    timers_clear_changes, timers_count, timers_fault, timers_get, timers_header, timers_init,
    timers_insert_at, timers_load, timers_next_fresh, timers_poll, timers_rebuild_free,
    timers_release, timers_remove, timers_remove_slot, timers_removed, timers_track,
)


def set_next_sequence(TimerHeap heap not None, uint32_t sequence):
    """Set the sequence of the next timer, if that is more; the heap must have a timer."""
    cdef TimersHeader* header = timers_header(&heap.timers)
    header.sequence = max(header.sequence, sequence)


@cython.final
cdef class TimersDoor:
    """Timers of some key groups, or of one in three files given by open descriptors.

    Timers are (timestamp, key, namespace, local key group), after their slot where they have one.
    """

    def __cinit__(self, groups=1, *, files=None):
        segment_raise(-timers_init(&self.timers, groups))
        if files is not None:
            segment_raise(segment_map(&self.timers.nodes, files[0]))
            segment_raise(segment_map(&self.timers.slots, files[1]))
            segment_raise(segment_map(&self.timers.sets[0], files[2]))
            segment_raise(-timers_attach(&self.timers))

    def __dealloc__(self):
        timers_release(&self.timers)

    def __len__(self):
        return timers_count(&self.timers)

    def close(self):
        """Unmap the files."""
        timers_release(&self.timers)

    def add(self, int64_t timestamp, uint32_t key, uint32_t ns=0, uint32_t group=0):
        return _done(timers_add(&self.timers, timestamp, key, ns, group))

    def remove(self, int64_t timestamp, uint32_t key, uint32_t ns=0, uint32_t group=0):
        return _done(timers_remove(&self.timers, timestamp, key, ns, group))

    def poll(self):
        cdef Timer timer
        if not _done(timers_poll(&self.timers, &timer)):
            return None
        return _tuple(&timer)

    def get(self, uint32_t slot):
        cdef Timer timer
        if not timers_get(&self.timers, slot, &timer):
            return None
        return _tuple(&timer)

    def clear(self):
        timers_clear(&self.timers)

    def check(self):
        cdef const char* fault = timers_fault(&self.timers)
        if fault != NULL:
            raise AssertionError(fault.decode())

    def track(self, bint on):
        timers_track(&self.timers, on)

    def changes(self):
        """Slots of removed timers, and the timers added, each after its slot."""
        cdef size_t cursor = 0, i
        cdef Timer timer
        removed = [timers_removed(&self.timers)[i] for i in range(self.timers.removed_count)]
        added = []
        while timers_next_fresh(&self.timers, &cursor, &timer):
            added.append((timer.slot, *_tuple(&timer)))
        return removed, added

    def clear_changes(self):
        timers_clear_changes(&self.timers)

    def remove_slot(self, uint32_t slot):
        return _done(timers_remove_slot(&self.timers, slot))

    def insert_at(self, uint32_t slot, int64_t timestamp, uint32_t key, uint32_t ns=0,
                  uint32_t group=0):
        return _done(timers_insert_at(&self.timers, slot, timestamp, key, ns, group))

    def rebuild_free(self):
        timers_rebuild_free(&self.timers)

    def load(self, slots, const int64_t[::1] timestamps, const uint32_t[::1] keys,
             const uint32_t[::1] namespaces, uint32_t group=0):
        cdef const uint32_t[::1] taken
        cdef const uint32_t* first = NULL
        cdef size_t count = <size_t>timestamps.shape[0]
        if slots is not None and count != 0:
            taken = slots
            first = &taken[0]
        if count == 0:
            _done(timers_load(&self.timers, 0, NULL, NULL, NULL, NULL, group))
        else:
            _done(timers_load(&self.timers, count, first, &timestamps[0], &keys[0],
                              &namespaces[0], group))

    def by_registration(self):
        """Slots in order of registration."""
        slots = np.empty(max(len(self), 1), np.uint32)
        cdef uint32_t[::1] out = slots
        _done(timers_by_registration(&self.timers, &out[0]))
        return slots[: len(self)].tolist()

    def set_next_sequence(self, uint32_t sequence):
        """Set the sequence of the next timer; there must be one already, with a lower sequence."""
        timers_header(&self.timers).sequence = sequence


cdef bint _done(int status) except -1:
    if status < 0:
        segment_raise(-status)
    return status == 1


cdef tuple _tuple(const Timer* timer):
    return timer.timestamp, timer.key, timer.ns, timer.group
