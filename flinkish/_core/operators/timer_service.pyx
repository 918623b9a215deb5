"""Timers of the current key; a part of keyed_process."""

# Timers that `on_timer` registers at the end of time: more than so many, and more than so many a
# key, are taken for a chain without end.  Counted while it fires, in some ten seconds.
cdef long long MOST_CHAINED = 10_000_000
cdef long long MOST_CHAINED_OF_KEY = 10_000


cdef class KeyedTimerService:
    """PyFlink's TimerService for the current key.

    Timers are identified by (timestamp, key): registering one twice is the same as once, and
    deleting one that is not there does nothing (Flink: InternalTimerServiceImpl).

    The end of time is the highest watermark.  A service that `quiesces` ignores what is registered
    then, as Flink's BatchExecutionInternalTimeService does, and counts it in `ignored`.  Another
    fires it, as InternalTimerServiceImpl does, and raises an error for a chain without end: where
    each `on_timer` registers the next timer for ever.
    """

    def __cinit__(self, *args, **kwargs):
        self.table = NOWHERE
        self.most_chained = MOST_CHAINED

    def __init__(self, StateTable table not None, uint32_t service=0, on_earlier=None,
                 str refusal=None, str event_refusal=None):
        self.table = table
        self.service = service
        self.on_earlier = on_earlier
        self.refusal = refusal
        self.event_refusal = event_refusal

    cdef uint32_t row(self) except? 0xFFFFFFFF:
        if self.table.current == NO_ROW or self.table.is_elsewhere():
            self.table.check_alone()
            self.table.check_place("the timer service, or the current key,")
            raise self.table.illegal_state(
                "timers can only be used with a current key: in process_element and on_timer of "
                "a keyed function"
            )
        return self.table.current

    cdef int64_t millis(self, object timestamp) except? -1:
        cdef int overflow = 0
        cdef int64_t number
        if PyLong_CheckExact(timestamp):
            number = PyLong_AsLongLongAndOverflow(timestamp, &overflow)
            if not overflow:
                return number
        try:
            return <int64_t>PyNumber_Index(timestamp)
        except OverflowError:
            raise self.table.illegal_argument(
                f"a timer at {timestamp!r} is beyond 64 bits of milliseconds since the epoch; is "
                "it in another unit?"
            ) from None
        except TypeError:
            raise self.table.illegal_type(
                f"a timer needs an int of milliseconds since the epoch, not {timestamp!r}; an "
                "element without event time has the timestamp None"
            ) from None

    def current_processing_time(self):
        """Processing time in ms since the epoch."""
        return self.table.processing_time

    def current_watermark(self):
        """Event-time watermark in ms since the epoch; -2**63 before the first."""
        return self.table.watermark

    cdef int register(self, bint event, int64_t time, uint32_t row) except -1:
        cdef Timers* timers = &self.table.table.event if event else &self.table.table.processing
        cdef Timer head
        cdef int added
        cdef str refusal = self.event_refusal if event else self.refusal
        if refusal is not None:
            raise self.table.illegal_state(refusal)
        self.table.check_open()
        if self.table.watermark == NEVER and self.refuses_at_end():
            return 0
        if event or not timers_peek(timers, &head):
            head.timestamp = NEVER
        added = table_add_timer(&self.table.table, timers, time, row, self.service)
        if added < 0:
            segment_raise(-added)
        self.registered += added
        if added and not event and self.on_earlier is not None and time < head.timestamp:
            self.on_earlier(time)
        return 0

    cdef bint refuses_at_end(self) except -1:
        """Whether a timer is ignored at the end of time; an error if timers have no end there."""
        cdef long long keys = header_of(&self.table.table).rows
        if self.quiesces:
            self.ignored += 1
            return True
        self.chained += self.firing
        if self.chained > self.most_chained and self.chained > MOST_CHAINED_OF_KEY * keys:
            raise self.table.illegal_state(
                f"on_timer has registered {self.chained} timers after the end of the input, each "
                "by another: in streaming mode all of them fire, so this would never end; register "
                "none while current_watermark() is MAX_TIMESTAMP, or take batch mode, which "
                "ignores them"
            )
        return False

    cdef int delete(self, bint event, int64_t time, uint32_t row) except -1:
        cdef Timers* timers = &self.table.table.event if event else &self.table.table.processing
        cdef int removed
        self.table.check_open()
        removed = table_remove_timer(&self.table.table, timers, time, row, self.service)
        segment_raise(-min(removed, 0))
        self.deleted += removed
        return 0

    def register_event_time_timer(self, timestamp):
        """Call `on_timer` when the watermark reaches `timestamp` (ms since the epoch)."""
        self.register(True, self.millis(timestamp), self.row())

    def delete_event_time_timer(self, timestamp):
        """Forget the event-time timer at `timestamp`, if there is one."""
        self.delete(True, self.millis(timestamp), self.row())

    def register_processing_time_timer(self, timestamp):
        """Call `on_timer` when the clock has reached `timestamp` (ms since the epoch)."""
        self.register(False, self.millis(timestamp), self.row())

    def delete_processing_time_timer(self, timestamp):
        """Forget the processing-time timer at `timestamp`, if there is one."""
        self.delete(False, self.millis(timestamp), self.row())
