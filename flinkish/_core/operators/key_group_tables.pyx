"""Tables of many key groups, by turns in the table of one engine."""

from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from flinkish._core.operators.keyed_process cimport KeyedProcess
from flinkish._core.state.key_reader cimport KeyReader
from flinkish._core.state.table cimport NOWHERE, StateTable
from flinkish._core.timers.timers cimport Timer, Timers, timers_peek

cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF
cdef int NONE = -1


cdef class KeyGroupTables:
    """The tables of key groups, of which one at a time, that at hand, is laid into `table`.

    So the handles and the engine that belong to `table` serve all of them.  Each key group's next
    timers are known as of when it last was at hand; those on processing time count only if they
    are `served`.

    Threading: that of the table.
    """

    def __cinit__(self, *args, **kwargs):
        self.table = NOWHERE
        self.at_hand = NONE
        self.event = self.processing = NEVER
        self.open = {}
        self.ends = []

    def __init__(self, StateTable table not None, *, bint served):
        self.table = table
        self.served = served

    def use(self, int key_group):
        """Have a key group at hand; of a new one `table` is closed, for the caller to map."""
        self.move(key_group)

    cdef OpenTable move(self, int key_group):
        cdef OpenTable own = self.open.get(key_group)
        cdef OpenTable other
        if key_group == self.at_hand:
            return own
        if self.at_hand != NONE:
            other = self.open[self.at_hand]
            self.at_hand = NONE
            self.table.exchange(other.table)
        if own is None:
            own = OpenTable()
            own.table = StateTable()
            own.event = own.processing = NEVER
            self.open[key_group] = own
        self.table.exchange(own.table)
        self.at_hand = key_group
        return own

    def look(self):
        """See when the next timers of the key group at hand are due."""
        self.table.check_open()
        self.look_at(self.open[self.at_hand])

    cdef void look_at(self, OpenTable own) noexcept:
        own.event = head_of(&self.table.table.event)
        own.processing = head_of(&self.table.table.processing) if self.served else NEVER
        self.note(own)

    cdef void note(self, OpenTable own) noexcept:
        self.event = min(self.event, own.event)
        self.processing = min(self.processing, own.processing)

    def due(self, int64_t watermark, int64_t now):
        """The key groups that have timers due, for the caller to fire and `look` at."""
        cdef OpenTable own
        cdef list found = []
        if self.event > watermark and self.processing > now:
            return found
        self.event = self.processing = NEVER
        for key_group, own in self.open.items():
            if own.event <= watermark or own.processing <= now:
                found.append(key_group)
            else:
                self.note(own)
        return found

    def take_ends(self):
        """Of each run of elements since the last call: (values that the engine held after it in its
        main output, key group, row of its last key)."""
        cdef list ends = self.ends
        self.ends = []
        return ends

    def process(self, KeyedProcess engine not None, list values not None, KeyReader keys not None,
                Py_ssize_t first, const int64_t[::1] timestamps,
                const int32_t[::1] groups not None, Py_ssize_t start=0):
        """Hand elements from `start` on to the engine, each with the table of its key group.

        Those of one key group that follow each other are handed over together.  All key groups are
        open.  `keys` has the keys of the elements from key `first` on.  `timestamps`, and the result
        when the output limit is reached, as of `KeyedProcess.process_batch`.
        """
        cdef Py_ssize_t stop, done, count = len(values)
        cdef uint32_t[::1] rows
        cdef OpenTable own
        if groups.shape[0] != count or not 0 <= first <= keys.count - count \
                or (timestamps is not None and timestamps.shape[0] != count):
            raise ValueError(f"{count} values need as many keys, key groups and timestamps")
        rows = np.empty(count, np.uint32)
        while start < count:
            stop = start + 1
            while stop < count and groups[stop] == groups[start]:
                stop += 1
            own = self.move(groups[start])
            keys.read(self.table, first + start, first + stop, None, rows[start:stop])
            done = engine.run(values, rows, timestamps, None, start, stop)
            self.ends.append((len(engine.values), groups[start], rows[done - 1]))
            self.look_at(own)
            if done < stop:
                return done
            start = stop
        return count


cdef int64_t head_of(Timers* timers) noexcept:
    cdef Timer timer
    return timer.timestamp if timers_peek(timers, &timer) else NEVER
