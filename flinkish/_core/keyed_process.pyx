"""The inner loop of a keyed process operator: rows and timers in, the function's output out."""

from cpython.list cimport PyList_CheckExact
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE

from flinkish._core.memory cimport segment_raise
from flinkish._core.state_rows cimport (
    NO_ROW,
    Row,
    header_of,
    row_at,
    table_add_timer,
    table_poll_timer,
    table_remove_timer,
)
from flinkish._core.timers cimport Timer, timers_peek
from flinkish._core.values cimport bytes_of, decode_key

cdef extern from "Python.h":
    bint PyGen_CheckExact(object value)

cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF


cdef class KeyedTimerService:
    """PyFlink's TimerService for the current key.

    Timers are identified by (timestamp, key): registering one twice is the same as once, and
    deleting one that is not there does nothing (Flink: B.1, B.11).
    """

    def __init__(self, StateTable table not None, uint32_t service=0, on_earlier=None,
                 str refusal=None):
        self.table = table
        self.service = service
        self.on_earlier = on_earlier
        self.refusal = refusal

    cdef uint32_t row(self) except? 0xFFFFFFFF:
        if self.table.current == NO_ROW:
            raise RuntimeError(
                "timers can only be used with a current key: in process_element and on_timer of "
                "a keyed function"
            )
        return self.table.current

    def current_processing_time(self):
        """Processing time in ms since the epoch."""
        return self.table.processing_time

    def current_watermark(self):
        """Event-time watermark in ms since the epoch; -2**63 before the first."""
        return self.table.watermark

    def register_event_time_timer(self, int64_t timestamp):
        """Call `on_timer` when the watermark reaches `timestamp` (ms since the epoch)."""
        cdef int added = table_add_timer(&self.table.table, &self.table.table.event, timestamp,
                                         self.row(), self.service)
        if added < 0:
            segment_raise(-added)
        self.registered += added

    def delete_event_time_timer(self, int64_t timestamp):
        """Forget the event-time timer at `timestamp`, if there is one."""
        cdef int removed = table_remove_timer(&self.table.table, &self.table.table.event,
                                              timestamp, self.row(), self.service)
        if removed < 0:
            segment_raise(-removed)
        self.deleted += removed

    def register_processing_time_timer(self, int64_t timestamp):
        """Call `on_timer` when the clock has reached `timestamp` (ms since the epoch)."""
        cdef Timers* timers = &self.table.table.processing
        cdef Timer head
        cdef int added
        if self.refusal is not None:
            raise RuntimeError(self.refusal)
        if not timers_peek(timers, &head):
            head.timestamp = NEVER
        added = table_add_timer(&self.table.table, timers, timestamp, self.row(), self.service)
        if added < 0:
            segment_raise(-added)
        self.registered += added
        if added and self.on_earlier is not None and timestamp < head.timestamp:
            self.on_earlier(timestamp)

    def delete_processing_time_timer(self, int64_t timestamp):
        """Forget the processing-time timer at `timestamp`, if there is one."""
        cdef int removed = table_remove_timer(&self.table.table, &self.table.table.processing,
                                              timestamp, self.row(), self.service)
        if removed < 0:
            segment_raise(-removed)
        self.deleted += removed


cdef class KeyedContext:
    """PyFlink's KeyedProcessFunction.Context."""

    def __init__(self, StateTable table not None, KeyedTimerService timers not None):
        self.table = table
        self.timers = timers

    def timestamp(self):
        """Timestamp of the element in ms, or None when it has none (Flink: B.25)."""
        return self.time if self.timed else None

    def timer_service(self):
        """The TimerService."""
        return self.timers

    def get_current_key(self):
        """The current key."""
        cdef Row* row = row_at(&self.table.table, self.timers.row())
        return decode_key(row.tag, row.size,
                          bytes_of(row.size, &row.word, self.table.table.slab.base))


cdef class KeyedTimerContext(KeyedContext):
    """PyFlink's KeyedProcessFunction.OnTimerContext."""

    def time_domain(self):
        """TimeDomain of the timer that fires."""
        return self.domain


cdef class KeyedProcess:
    """Runs one keyed function over a table.

    Parameters
    ----------
    table: state and timers.
    timers: the timer service that the function gets.
    process_element, on_timer: the function's methods; `on_timer` may be None.
    tag_type: the class that marks side outputs: `yield tag, value`.
    event_domain, processing_domain: members of TimeDomain for `time_domain()`.
    """

    def __init__(self, StateTable table not None, KeyedTimerService timers not None,
                 process_element, on_timer, type tag_type, event_domain, processing_domain):
        self.table = table
        self.timers = timers
        self.context = KeyedContext(table, timers)
        self.timer_context = KeyedTimerContext(table, timers)
        self.process_element = process_element
        self.on_timer = on_timer
        self.tag_type = tag_type
        self.event_domain = event_domain
        self.processing_domain = processing_domain
        self.values = []
        self.timestamps = []
        self.sides = {}

    def process(self, value, timestamp):
        """Hand over one element of the current key; `timestamp` is in ms or None."""
        if timestamp is None:
            self.call(value, 0, False)
        else:
            self.call(value, timestamp, True)

    def process_batch(self, list values not None, const uint32_t[::1] rows not None,
                      const int64_t[::1] timestamps):
        """Hand over elements with the rows of their keys; `timestamps` (ms) may be None."""
        cdef Py_ssize_t at, count = len(values)
        cdef uint32_t known = header_of(&self.table.table).rows
        if rows.shape[0] != count or (timestamps is not None and timestamps.shape[0] != count):
            raise ValueError(f"{count} values need as many rows and timestamps")
        for at in range(count):
            if rows[at] >= known:
                raise ValueError(f"row {rows[at]} was never made; intern the keys first")
            self.table.current = rows[at]
            self.call(values[at], timestamps[at] if timestamps is not None else 0,
                      timestamps is not None)
        self.table.current = NO_ROW

    cdef int call(self, object value, int64_t timestamp, bint timed) except -1:
        cdef KeyedContext context = self.context
        cdef object result
        self.processed += 1
        if timed and timestamp <= self.table.watermark:
            self.late += 1
        context.time = timestamp
        context.timed = timed
        result = self.process_element(value, context)
        if result is not None:
            self.collect(result, timestamp if timed else None, "process_element")
        context.timed = False
        return 0

    cdef int collect(self, object result, object timestamp, str method) except -1:
        cdef object value
        if not PyGen_CheckExact(result) and not PyList_CheckExact(result):
            check_iterable(result, method)
        for value in result:
            if PyTuple_CheckExact(value) and PyTuple_GET_SIZE(value) == 2 \
                    and isinstance((<tuple>value)[0], self.tag_type):
                tag, value = <tuple>value
                side = self.sides.get(tag)
                if side is None:
                    side = self.sides[tag] = ([], [])
                side[0].append(value)
                side[1].append(timestamp)
            else:
                self.values.append(value)
                self.timestamps.append(timestamp)
        return 0

    def advance_watermark(self, int64_t watermark):
        """Fire every event-time timer at or before `watermark` (ms), earliest first.

        The watermark is set before the first fires, and timers that callbacks register at or
        before it fire in the same call (Flink: B.6, B.8).
        """
        self.table.watermark = watermark
        self.fire(&self.table.table.event, watermark, self.event_domain)

    def advance_processing_time(self, int64_t time):
        """Fire every processing-time timer at or before `time` (ms), earliest first."""
        self.fire(&self.table.table.processing, time, self.processing_domain)

    cdef int fire(self, Timers* timers, int64_t until, object domain) except -1:
        cdef Timer timer
        cdef KeyedTimerContext context = self.timer_context
        cdef object result
        cdef int polled
        while True:
            polled = table_poll_timer(&self.table.table, timers, until, &timer)
            if polled <= 0:
                break
            self.fired += 1
            if self.on_timer is None:
                continue
            self.table.current = timer.key
            context.domain = domain
            context.time = timer.timestamp
            context.timed = True
            result = self.on_timer(timer.timestamp, context)
            if result is not None:
                # Output of an event-time timer carries its timestamp, of a processing-time
                # timer none (Flink: B.25).
                self.collect(result, timer.timestamp if domain is self.event_domain else None,
                             "on_timer")
        self.table.current = NO_ROW
        if polled < 0:
            segment_raise(-polled)
        return 0

    def next_event_timer(self):
        """Timestamp of the earliest event-time timer in ms, or None."""
        return head_of(&self.table.table.event)

    def next_processing_timer(self):
        """Timestamp of the earliest processing-time timer in ms, or None."""
        return head_of(&self.table.table.processing)

    def take_output(self):
        """(values, timestamps, {tag: (values, timestamps)}) since the last call."""
        cdef tuple taken = (self.values, self.timestamps, self.sides)
        self.values = []
        self.timestamps = []
        self.sides = {}
        return taken


cdef int check_iterable(object result, str method) except -1:
    """Refuse what iterates but is one value: a string, a dict, a row."""
    if isinstance(result, (str, bytes, dict)) or hasattr(result, "get_row_kind") \
            or not hasattr(result, "__iter__"):
        raise TypeError(
            f"{method} returned {result!r} of type {type(result).__name__}; yield each output "
            "value, or return an iterable of them or None"
        )
    return 0


cdef object head_of(Timers* timers):
    cdef Timer timer
    return timer.timestamp if timers_peek(timers, &timer) else None
