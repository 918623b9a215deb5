# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""The inner loop of a window operator; described in ``windows/elements/process.pxd``."""

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.keyed_state cimport (
    WINDOW_BYTES, pieces_of, scoped_row_of, window_of_row, window_piece,
)
from flinkish._core.state.table cimport NO_ROW
from flinkish._core.windows.time_window cimport TimeWindow, later, time_window, window_start
from flinkish._core.values.values cimport Encoded, Piece, decode_value, encode_key

include "values.pyx"
include "contents.pyx"
include "contexts.pyx"

cdef int64_t HIGHEST = 0x7FFFFFFFFFFFFFFF


cdef class WindowedProcess(KeyedProcess):
    """Runs windows over a table.

    Parameters
    ----------
    table, timers, tag_type, event_domain, processing_domain: as for `KeyedProcess`.
    contents: what windows keep.
    triggers: what triggers and evictors are called with.
    windows: what window functions are called with.
    plan: how elements find windows, when these fire and what then: the attributes `shape`,
        `event`, `size`, `slide`, `offset`, `assign`, `assigner_context`, `to_key`, `from_key`,
        `speaks`, `purging`, `trigger`, `results`, `lateness`, `late_tag`, `evictor`,
        `timestamped`, `calls`, `function` and `clear_function`; the header says of what they
        are.
    """

    def __init__(self, table, timers, type tag_type, event_domain, processing_domain,
                 WindowContents contents not None, WindowTriggerContext triggers not None,
                 WindowContext windows not None, plan):
        super().__init__(table, timers, None, None, tag_type, event_domain, processing_domain)
        self.contents = contents
        self.triggers = triggers
        self.windows = windows
        self.shape = plan.shape
        self.event = plan.event
        self.size = plan.size
        self.slide = plan.slide
        self.offset = plan.offset
        self.assign = plan.assign
        self.assigner_context = plan.assigner_context
        self.to_key = plan.to_key
        self.from_key = plan.from_key
        self.speaks = plan.speaks
        self.purging = PURGE if plan.purging else 0
        self.asked_element = plan.trigger.on_element
        self.asked_event = plan.trigger.on_event_time
        self.asked_processing = plan.trigger.on_processing_time
        self.asked_clear = plan.trigger.clear
        self.asked_merge = getattr(plan.trigger, "on_merge", None)
        self.continues, self.fires, self.purges, self.fires_and_purges = plan.results
        self.lateness = plan.lateness
        self.late_tag = plan.late_tag
        if plan.evictor is not None:
            self.evict_before = plan.evictor.evict_before
            self.evict_after = plan.evictor.evict_after
        self.timestamped = plan.timestamped
        self.calls = plan.calls
        self.function = plan.function
        self.clear_function = plan.clear_function
        self.spare = NO_ROW

    cdef int enter(self) except -1:
        KeyedProcess.enter(self)
        self.spare = NO_ROW  # rows are good until a commit, and there may have been one
        return 0

    # --- which window is at work

    cdef int choose(self, uint32_t key, int64_t start, int64_t end) except -1:
        cdef char[WINDOW_BYTES] space
        cdef Piece piece
        self.table.check_open()  # code of the assigner or a trigger has run
        window_piece(start, end, space, &piece)
        segment_raise(scoped_row_of(&self.table.table, key, &piece, &self.spare, &self.at.row))
        self.at.start = start
        self.at.end = end
        self.at.last = end - 1
        self.at.contents = self.at.row
        self.window = None
        self.table.current = self.at.row
        return 0

    cdef int choose_object(self, uint32_t key, object window) except -1:
        cdef Encoded scope
        cdef Piece piece
        cdef object owner
        if self.to_key is None:
            if type(window) is not TimeWindow:
                raise self.table.illegal_type(
                    f"the assigner gave the window {window!r} and says that its windows are those "
                    "of TimeWindowSerializer: have get_window_serializer give the one of its type"
                )
            self.choose(key, (<TimeWindow>window).start, (<TimeWindow>window).end)
            self.window = window
            return 0
        owner = encode_key(self.to_key(window), &scope)
        self.table.check_open()
        piece.tag, piece.size, piece.data = scope.tag, scope.size, scope.data
        segment_raise(scoped_row_of(&self.table.table, key, &piece, &self.spare, &self.at.row))
        self.at.last = window.max_timestamp()
        self.at.contents = self.at.row
        self.window = window
        self.table.current = self.at.row
        return 0

    cdef int choose_row(self, uint32_t row) except -1:
        cdef Piece key, scope
        self.at.row = self.at.contents = self.table.current = row
        self.window = None
        if self.to_key is not None:
            pieces_of(&self.table.table, row, &key, &scope)
            self.window = self.from_key(decode_value(scope.tag, scope.size, scope.data))
            self.at.last = self.window.max_timestamp()
        elif window_of_row(&self.table.table, row, &self.at.start, &self.at.end):
            self.at.last = self.at.end - 1
        else:
            raise self.table.illegal_state(
                f"a timer is of {self.table.key_of(row)!r} in no window of time; the state was "
                "written with another assigner: start from an empty checkpoint"
            )
        return 0

    cdef object window_object(self):
        if self.window is None:
            self.window = time_window(self.at.start, self.at.end)
        return self.window

    cdef int64_t last_of(self, object window) except? -1:
        if type(window) is TimeWindow:
            return (<TimeWindow>window).end - 1
        return window.max_timestamp()

    cdef int64_t cleanup_time(self) noexcept:
        """When the window is cleaned up; never for the highest number (Flink: WindowOperator)."""
        return later(self.at.last, self.lateness) if self.event else self.at.last

    cdef bint is_late(self, int64_t last) noexcept:
        """Whether a window that ends then is gone already."""
        return self.event and later(last, self.lateness) <= self.table.watermark

    # --- elements

    cdef int call(self, object value, int64_t timestamp, bint timed) except -1:
        cdef uint32_t key = self.table.current
        cdef int64_t time = timestamp if timed else LOWEST
        cdef bint accepted = False
        self.processed += 1
        if timed and timestamp <= self.table.watermark:
            self.late += 1
        self.context.time = timestamp
        self.context.timed = timed
        if self.shape != SHAPE_ASKED and (timed or not self.event):
            accepted = self.insert_all(key, value, time)
        else:
            for window in self.assign(value, timestamp if timed else None, self.assigner_context):
                if self.insert_into(key, window, value, time):
                    accepted = True
                self.table.current = key
        if not accepted and timed and self.is_late(timestamp):
            # Of no window, and late: Flink's WindowOperator.
            self.unplaced += 1
            if self.late_tag is None:
                self.dropped += 1
            else:
                self.collect([(self.late_tag, value)], timestamp, "assign_windows")
        self.table.current = key
        self.context.timed = False
        return 0

    cdef bint insert_all(self, uint32_t key, object value, int64_t time) except -1:
        """Put an element into the windows that its time alone decides."""
        cdef int64_t moment = time if self.event else self.table.processing_time
        cdef int64_t start, end, limit
        cdef bint accepted = False
        if self.shape == SHAPE_SESSION:
            return self.insert(key, moment, later(moment, self.size), value, time)
        if self.shape == SHAPE_CUMULATIVE:
            start = window_start(moment, self.offset, self.size)
            limit = later(start, self.size)
            end = start + (moment - start) // self.slide * self.slide
            while end < limit:
                end = min(later(end, self.slide), limit)
                if self.insert(key, start, end, value, time):
                    accepted = True
            return accepted
        start = window_start(moment, self.offset, self.slide)
        limit = moment - self.size if moment >= LOWEST + self.size else LOWEST
        # From the latest start downward (Flink: SlidingEventTimeWindows).
        while start > limit:
            if self.insert(key, start, later(start, self.size), value, time):
                accepted = True
            if start < LOWEST + self.slide:
                break
            start -= self.slide
        return accepted

    cdef bint insert(self, uint32_t key, int64_t start, int64_t end, object value,
                     int64_t time) except -1:
        if self.is_late(end - 1):
            return False
        self.choose(key, start, end)
        self.accept(value, time)
        return True

    cdef bint insert_into(self, uint32_t key, object window, object value,
                          int64_t time) except -1:
        if self.is_late(self.last_of(window)):
            return False
        self.choose_object(key, window)
        self.accept(value, time)
        return True

    cdef int accept(self, object value, int64_t time) except -1:
        """Take an element into the window at work."""
        cdef int64_t end
        self.contents.add(self.at.contents, value, time)
        self.conclude(self.on_element(value, time))
        end = self.cleanup_time()
        if end != HIGHEST:
            self.timers.register(self.event, end, self.at.row)
        return 0

    # --- triggers

    cdef int verdict(self, object result, str method) except -1:
        if result is self.continues:
            return CONTINUE
        if result is self.fires:
            return FIRE
        if result is self.fires_and_purges:
            return FIRE | PURGE
        if result is self.purges:
            return PURGE
        raise self.table.illegal_type(
            f"{method} of the trigger returned {result!r}, which is no TriggerResult"
        )

    cdef int on_element(self, object value, int64_t time) except -1:
        if self.speaks == SPEAKS_EVENT:
            if self.at.last <= self.table.watermark:
                return FIRE | self.purging
            self.timers.register(True, self.at.last, self.at.row)
            return CONTINUE
        if self.speaks == SPEAKS_PROCESSING:
            self.timers.register(False, self.at.last, self.at.row)
            return CONTINUE
        return self.verdict(
            self.asked_element(value, None if time == LOWEST else time, self.window_object(),
                               self.triggers),
            "on_element")

    cdef int on_time(self, int64_t time, bint event) except -1:
        if self.speaks == SPEAKS_EVENT:
            return FIRE | self.purging if event and time == self.at.last else CONTINUE
        if self.speaks == SPEAKS_PROCESSING:
            return CONTINUE if event else FIRE | self.purging
        if event:
            return self.verdict(self.asked_event(time, self.window_object(), self.triggers),
                                "on_event_time")
        return self.verdict(self.asked_processing(time, self.window_object(), self.triggers),
                            "on_processing_time")

    cdef int clear_trigger(self) except -1:
        if self.speaks == SPEAKS_ASKED:
            self.asked_clear(self.window_object(), self.triggers)
        else:
            self.timers.delete(self.speaks == SPEAKS_EVENT, self.at.last, self.at.row)
        return 0

    # --- timers

    cdef int turn(self, Timer* timer, bint event) except -1:
        self.choose_row(timer.key)
        self.conclude(self.on_time(timer.timestamp, event))
        if event == self.event and timer.timestamp == self.cleanup_time():
            self.clear_all()
        return 0

    cdef int clear_all(self) except -1:
        """Forget the window at work."""
        self.contents.clear(self.at.contents)
        self.table.current = self.at.row
        self.clear_trigger()
        if self.clear_function is not None:
            self.windows.current = self.window_object()
            self.clear_function(self.windows)
        return 0

    # --- output

    cdef int conclude(self, int verdict) except -1:
        """Do what the trigger says about the window at work."""
        if verdict & FIRE:
            self.emit()
        if verdict & PURGE:
            self.contents.clear(self.at.contents)
        return 0

    cdef int emit(self) except -1:
        cdef object elements
        if self.evict_before is not None:
            return self.emit_evicted()
        elements = self.contents.get(self.at.contents)
        if elements is not None:
            self.speak(elements)
        return 0

    cdef int emit_evicted(self) except -1:
        """Give what the evictor leaves, and keep what it leaves after that.

        As in Flink's EvictingWindowOperator.
        """
        cdef ElementContents contents = self.contents
        cdef list times = []
        cdef list values = contents.elements(self.at.contents, times)
        cdef list held, left
        if values is None:
            return 0
        held = [self.timestamped(value, time) for value, time in zip(values, times, strict=True)]
        left = list(held)
        self.evict_before(left, len(left), self.window_object(), self.triggers)
        self.speak([element.value for element in left])
        self.evict_after(left, len(left), self.window_object(), self.triggers)
        if left != held:
            contents.replace(self.at.contents, [(one.value, one.timestamp) for one in left])
        return 0

    cdef int speak(self, object elements) except -1:
        """Give the window's elements to its function; the output has its last time."""
        cdef object last = self.at.last
        cdef object window
        cdef Piece key, scope
        self.table.check_open()
        self.table.current = self.at.row
        if self.calls == CALLS_NOTHING:
            for value in elements:
                self.held += 1
                self.values.append(value)
                self.timestamps.append(last)
            return 0
        window = self.window_object()
        self.windows.current = window
        if self.calls == CALLS_PROCESS_ALL:
            result = self.function(self.windows, elements)
        elif self.calls == CALLS_APPLY_ALL:
            result = self.function(window, elements)
        else:
            pieces_of(&self.table.table, self.at.row, &key, &scope)
            result = self.function(
                decode_value(key.tag, key.size, key.data),
                self.windows if self.calls == CALLS_PROCESS else window, elements)
        if result is not None:
            asked = self.calls == CALLS_PROCESS or self.calls == CALLS_PROCESS_ALL
            self.collect(result, last, "process" if asked else "apply")
        return 0

include "merging.pyx"
