"""Contexts of triggers and window functions; described in ``windows/elements/contexts.pxd``."""

from libc.stdint cimport uint32_t

from flinkish._core.state.keyed_state cimport (
    AggregatingCell, ListCell, ReducingCell, StateHandle, ValueCell,
)
from flinkish._core.state.table cimport cell_at, header_of
from flinkish._core.values.values cimport TAG_EMPTY

cdef enum:
    HANDLES = 64    # descriptors remembered; a trigger that makes one at each call has no end of them


cdef class WindowTriggerContext:
    """PyFlink's Trigger.TriggerContext and Trigger.OnMergeContext.

    Parameters
    ----------
    table, timers: state and timers of the operator.
    state_of: makes the handle of a state of a descriptor.
    metrics: what `get_metric_group` gives.
    """

    def __init__(self, StateTable table not None, KeyedTimerService timers not None, state_of,
                 metrics):
        self.table = table
        self.timers = timers
        self.state_of = state_of
        self.metrics = metrics
        self.handles = {}

    def get_current_processing_time(self):
        """Processing time in ms since the epoch."""
        return self.table.processing_time

    def get_current_watermark(self):
        """Event-time watermark in ms since the epoch; -2**63 before the first."""
        return self.table.watermark

    def get_metric_group(self):
        """Where the operator's metrics live."""
        return self.metrics

    def register_event_time_timer(self, time):
        """Call `on_event_time` when the watermark reaches `time` (ms since the epoch)."""
        self.timers.register(True, self.timers.millis(time), self.timers.row())

    def register_processing_time_timer(self, time):
        """Call `on_processing_time` when the clock has reached `time` (ms since the epoch)."""
        self.timers.register(False, self.timers.millis(time), self.timers.row())

    def delete_event_time_timer(self, time):
        """Forget the event-time timer at `time`, if there is one."""
        self.timers.delete(True, self.timers.millis(time), self.timers.row())

    def delete_processing_time_timer(self, time):
        """Forget the processing-time timer at `time`, if there is one."""
        self.timers.delete(False, self.timers.millis(time), self.timers.row())

    cdef object state(self, object descriptor):
        cdef object known = self.handles.get(id(descriptor))
        if known is not None:
            return (<tuple>known)[1]
        if len(self.handles) >= HANDLES:
            self.handles.clear()
        handle = self.state_of(descriptor)
        self.handles[id(descriptor)] = (descriptor, handle)
        return handle

    def get_partitioned_state(self, state_descriptor):
        """The state of this description, of the key and the window."""
        return self.state(state_descriptor)

    def merge_partitioned_state(self, state_descriptor):
        """Move the state of the merged windows into that of the window that they became."""
        if self.merged is None:
            raise self.table.illegal_state(
                "state of windows can be merged in on_merge of a trigger only"
            )
        merge_state(self.state(state_descriptor), self.table.current, self.merged)

    def call_on_merge(self, on_merge, window, list rows not None):
        """Call a trigger's `on_merge` for the current row, into which `rows` are merged."""
        self.merged = rows
        try:
            on_merge(window, self)
        finally:
            self.merged = None

    def current_row(self):
        """The row of the current key and window."""
        return self.timers.row()

    def number_of_states(self):
        """How many states of the current key and window hold anything."""
        cdef uint32_t cell, row = self.timers.row()
        cdef Py_ssize_t found = 0
        for cell in range(header_of(&self.table.table).stride):
            found += cell_at(&self.table.table, row, cell).tag != TAG_EMPTY
        return found


cdef class WindowContext:
    """PyFlink's ProcessWindowFunction.Context and ProcessAllWindowFunction.Context.

    Parameters
    ----------
    table: where the state is and the clocks are.
    window_store, global_store: a KeyedStateStore for state of the key and window, and one for
        state of the key.
    """

    def __init__(self, StateTable table not None, window_store, global_store):
        self.table = table
        self.window_store = window_store
        self.global_store = global_store

    def window(self):
        """The window that fires, or is cleared."""
        return self.current

    def current_processing_time(self):
        """Processing time in ms since the epoch."""
        return self.table.processing_time

    def current_watermark(self):
        """Event-time watermark in ms since the epoch; -2**63 before the first."""
        return self.table.watermark

    def window_state(self):
        """States of the key and the window."""
        return self.window_store

    def global_state(self):
        """States of the key, shared by its windows."""
        return self.global_store


cdef int merge_state(StateHandle handle, uint32_t row, list others) except -1:
    """Move the state of other rows of a key into that of `row`, which is current."""
    cdef StateTable table = handle.table
    cdef uint32_t other
    cdef object value, held
    if not isinstance(handle, (ReducingCell, AggregatingCell, ListCell)):
        raise table.illegal_type(
            f"the state {handle.name!r} cannot be merged: use a reducing, aggregating or list state"
        )
    try:
        for other in others:
            table.current = other
            value = (<ValueCell>handle).load() if isinstance(handle, ValueCell) else handle.get()
            handle.clear()
            table.current = row
            if isinstance(handle, ListCell):
                handle.add_all(value)
            elif value is not None:
                held = (<ValueCell>handle).load()
                if held is None:
                    handle.update(value)
                elif isinstance(handle, AggregatingCell):
                    handle.update((<AggregatingCell>handle).function.merge(held, value))
                else:
                    handle.update((<ReducingCell>handle).reduce(held, value))
    finally:
        table.current = row
    return 0
