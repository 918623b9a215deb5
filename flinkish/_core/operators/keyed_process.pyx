"""The inner loop of a keyed process operator: rows and timers in, the function's output out."""

from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.number cimport PyNumber_Index
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.table cimport (
    NOWHERE, NO_ROW, Row, Table, header_of, row_at, table_add_timer, table_poll_timer,
    table_remove_timer,
)
from flinkish._core.timers.timers cimport Timer, timers_peek
from flinkish._core.values.values cimport TAG_EMPTY, bytes_of, decode_key

cdef extern from "Python.h":
    bint PyGen_CheckExact(object value)

cdef int64_t LOWEST = <int64_t>(<unsigned long long>1 << 63)
cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF
cdef Py_ssize_t NO_LIMIT = <Py_ssize_t>NEVER

include "timer_service.pyx"


cdef class KeyedContext:
    """PyFlink's KeyedProcessFunction.Context."""

    def __cinit__(self, *args, **kwargs):
        self.table = NOWHERE
        self.timers = KeyedTimerService.__new__(KeyedTimerService)

    def __init__(self, StateTable table not None, KeyedTimerService timers not None):
        self.table = table
        self.timers = timers

    def timestamp(self):
        """Timestamp of the element in ms, or None when it has none.

        As in Flink's KeyedProcessOperator.
        """
        self.table.check_place("the timestamp of the current element")
        return self.time if self.timed else None

    def timer_service(self):
        """The TimerService."""
        return self.timers

    def get_current_key(self):
        """The current key."""
        cdef Row* row = row_at(&self.table.table, self.timers.row())
        return decode_key(row.tag, row.size,
                          bytes_of(row.size, &row.word, &self.table.table.slab))


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
    process_second: the method for elements of a second input, if there is one; `input` says which
        an element comes from, 1 or 2, unless its batch does.

    `process_batch` and the two that advance time return early once `output_limit` outputs wait to be
    taken.  They look between two calls of the function: what one call gives is never cut.
    """

    def __cinit__(self, *args, **kwargs):
        self.table = NOWHERE
        self.timers = KeyedTimerService.__new__(KeyedTimerService)
        self.context = KeyedContext.__new__(KeyedContext)
        self.timer_context = KeyedTimerContext.__new__(KeyedTimerContext)

    def __init__(self, StateTable table not None, KeyedTimerService timers not None,
                 process_element, on_timer, type tag_type, event_domain, processing_domain,
                 process_second=None):
        self.table = table
        self.timers = timers
        self.context = KeyedContext(table, timers)
        self.timer_context = KeyedTimerContext(table, timers)
        self.process_element = process_element
        self.process_second = process_second
        self.input = 1
        self.on_timer = on_timer
        self.tag_type = tag_type
        self.event_domain = event_domain
        self.processing_domain = processing_domain
        self.last = NO_ROW
        self.values = []
        self.timestamps = []
        self.sides = {}
        self.output_limit = NO_LIMIT

    def process(self, value, timestamp):
        """Hand over one element of the current key; `timestamp` is in ms or None."""
        self.enter()
        try:
            if timestamp is None:
                self.call(value, 0, False)
            else:
                self.call(value, timestamp, True)
        finally:
            self.leave(self.context)

    def process_batch(self, list values not None, const uint32_t[::1] rows not None,
                      const int64_t[::1] timestamps, const uint8_t[::1] inputs=None,
                      Py_ssize_t start=0):
        """Hand over elements from `start` on, with the rows of their keys.

        The number of the first element that was not handed over, which is less than there are only
        if the output limit is reached: take the output, then call again with it as `start`.

        `timestamps` (ms) may be None, and -2**63 says that an element has none.  `inputs` says
        which input each comes from, 1 or 2; None: all from `input`.  Rows are good until the next
        commit, which forgets keys that hold nothing.  An error of the function ends the batch: the
        elements before it have been processed, and no key is current.
        """
        cdef Py_ssize_t count = len(values)
        if rows.shape[0] != count or (timestamps is not None and timestamps.shape[0] != count) \
                or (inputs is not None and inputs.shape[0] != count):
            raise ValueError(f"{count} values need as many rows, timestamps and inputs")
        return self.run(values, rows, timestamps, inputs, start, count)

    cdef Py_ssize_t run(self, list values, const uint32_t[::1] rows, const int64_t[::1] timestamps,
                        const uint8_t[::1] inputs, Py_ssize_t start, Py_ssize_t stop) except -1:
        cdef Py_ssize_t at
        cdef Table* table = &self.table.table
        cdef int64_t time
        self.enter()
        try:
            for at in range(start, stop):
                self.table.check_open()
                if rows[at] >= header_of(table).rows or row_at(table, rows[at]).tag == TAG_EMPTY:
                    raise ValueError(
                        f"row {rows[at]} is of no key; intern the keys after the last commit"
                    )
                self.table.current = rows[at]
                if inputs is not None:
                    self.input = inputs[at]
                time = timestamps[at] if timestamps is not None else LOWEST
                self.call(values[at], time, time != LOWEST)
                if self.held >= self.output_limit:
                    return at + 1
            return stop
        finally:
            self.leave(self.context)
            self.table.current = NO_ROW

    cdef int enter(self) except -1:
        """Note that the function will run; an error when it runs already, or cannot."""
        self.table.check_open()
        if self.running:
            raise self.table.illegal_state(
                "a keyed function hands elements or time to the operator that is running it; "
                "give it output, or register a timer"
            )
        self.running = True
        self.table.use_row(self.table.current)
        return 0

    cdef void leave(self, KeyedContext context) noexcept:
        """Note what the last call was about."""
        self.running = False
        self.last = self.table.current
        self.last_time = context.time
        self.last_timed = context.timed
        context.timed = False

    cdef int call(self, object value, int64_t timestamp, bint timed) except -1:
        cdef KeyedContext context = self.context
        cdef object result
        cdef str method = "process_element"
        self.processed += 1
        if timed and timestamp <= self.table.watermark:
            self.late += 1
        context.time = timestamp
        context.timed = timed
        if self.process_second is None:
            result = self.process_element(value, context)
        elif self.input == 1:
            method = "process_element1"
            result = self.process_element(value, context)
        else:
            method = "process_element2"
            result = self.process_second(value, context)
        if result is not None:
            self.collect(result, timestamp if timed else None, method)
        context.timed = False
        return 0

    cdef int collect(self, object result, object timestamp, str method) except -1:
        cdef object value
        if not PyGen_CheckExact(result) and not PyList_CheckExact(result):
            check_iterable(result, method, self.table.illegal_type)
        for value in result:
            self.held += 1
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

    def advance_watermark(self, int64_t watermark, stop=None):
        """Fire every event-time timer at or before `watermark` (ms), earliest first.

        The watermark is set before the first fires, and timers that callbacks register at or
        before it fire in the same call (Flink: InternalTimerServiceImpl).  After each timer
        `stop()` is asked, if it is not None; once it is true, or the output limit is reached, the
        rest stay and the result is False.
        """
        self.table.watermark = watermark
        return self.fire(&self.table.table.event, watermark, self.event_domain, stop)

    def advance_processing_time(self, int64_t time, stop=None):
        """Fire every processing-time timer at or before `time` (ms), as `advance_watermark`."""
        return self.fire(&self.table.table.processing, time, self.processing_domain, stop)

    cdef bint fire(self, Timers* timers, int64_t until, object domain, object stop) except -1:
        cdef Timer timer
        cdef KeyedTimerContext context = self.timer_context
        cdef bint stopped = False
        cdef int polled
        self.enter()
        self.timers.firing = True
        try:
            while not stopped:
                self.table.check_open()
                polled = table_poll_timer(&self.table.table, timers, until, &timer)
                if polled < 0:
                    segment_raise(-polled)
                if polled == 0:
                    self.timers.chained = 0
                    break
                self.fired += 1
                self.table.current = timer.key
                context.domain = domain
                context.time = timer.timestamp
                context.timed = True
                self.turn(&timer, timers == &self.table.table.event)
                stopped = (stop is not None and stop()) or self.held >= self.output_limit
        finally:
            self.timers.firing = False
            self.leave(context)
            self.table.current = NO_ROW
        return not stopped

    cdef int turn(self, Timer* timer, bint event) except -1:
        cdef object result
        if self.on_timer is None:
            return 0
        result = self.on_timer(timer.timestamp, self.timer_context)
        if result is not None:
            # Output of an event-time timer carries its timestamp, of a processing-time timer
            # none (Flink: KeyedProcessOperator).
            self.collect(result, timer.timestamp if event else None, "on_timer")
        return 0

    def next_event_timer(self):
        """Timestamp of the earliest event-time timer in ms, or None."""
        self.table.check_open()
        return head_of(&self.table.table.event)

    def next_processing_timer(self):
        """Timestamp of the earliest processing-time timer in ms, or None."""
        self.table.check_open()
        return head_of(&self.table.table.processing)

    @property
    def last_key(self):
        """The key of the last call of the function, until the next commit; for messages."""
        return None if self.last == NO_ROW else self.table.key_of(self.last)

    @property
    def last_timestamp(self):
        """Timestamp (ms) of the element or timer that the function failed on, or None."""
        return self.last_time if self.last_timed else None

    @property
    def has_output(self):
        """Whether `take_output` has anything to give."""
        return len(self.values) != 0 or len(self.sides) != 0

    @property
    def is_full(self):
        """Whether the output limit is reached."""
        return self.held >= self.output_limit

    def take_output(self):
        """(values, timestamps, {tag: (values, timestamps)}) since the last call."""
        cdef tuple taken = (self.values, self.timestamps, self.sides)
        self.values = []
        self.timestamps = []
        self.sides = {}
        self.held = 0
        return taken


cdef int check_iterable(object result, str method, object error) except -1:
    """Refuse what iterates but is one value: a string, a dict, a row."""
    if isinstance(result, (str, bytes, dict)) or hasattr(result, "get_row_kind") \
            or not hasattr(result, "__iter__"):
        raise error(
            f"{method} returned {result!r} of type {type(result).__name__}; yield each output "
            "value, or return an iterable of them or None"
        )
    return 0


cdef object head_of(Timers* timers):
    cdef Timer timer
    return timer.timestamp if timers_peek(timers, &timer) else None
