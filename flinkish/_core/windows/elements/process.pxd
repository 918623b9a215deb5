# The inner loop of a window operator: elements and timers in, what windows say out.
#
# Each window of a key has a row of its own (`scoped_rows`): contents, state of the trigger,
# per-window state of the function, and timers are of that row.  While trigger or function run,
# that row is current.
#
# For each window of an element (Flink: WindowOperator): add it to the contents, ask the trigger,
# give what fires, clear what is purged, register the timer that cleans the window up.  Windows of
# time of the built-in assigners are two numbers here, and the two default triggers are played
# without a call of Python; all others are called.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.operators.keyed_process cimport KeyedProcess
from flinkish._core.timers.timers cimport Timer

include "values.pxd"
include "contents.pxd"
include "contexts.pxd"

cdef enum Shape:                # how windows are assigned
    SHAPE_ASKED = 0             # the assigner is asked
    SHAPE_SLIDING = 1           # and tumbling
    SHAPE_CUMULATIVE = 2
    SHAPE_SESSION = 3

cdef enum Speaks:               # when windows fire
    SPEAKS_ASKED = 0            # the trigger is asked
    SPEAKS_EVENT = 1            # EventTimeTrigger
    SPEAKS_PROCESSING = 2       # ProcessingTimeTrigger

cdef enum Calls:                # what a firing window is given to
    CALLS_NOTHING = 0           # its one result is the output
    CALLS_PROCESS = 1           # process(key, context, elements)
    CALLS_APPLY = 2             # apply(key, window, elements)
    CALLS_PROCESS_ALL = 3       # process(context, elements)
    CALLS_APPLY_ALL = 4         # apply(window, elements)

cdef enum Verdict:              # a TriggerResult
    CONTINUE = 0
    FIRE = 1
    PURGE = 2


cdef struct Window:
    uint32_t row                # of the key and window
    uint32_t contents           # the row that holds its contents: of its state window
    int64_t start               # windows of time only
    int64_t end
    int64_t last                # its max_timestamp


cdef class WindowedProcess(KeyedProcess):
    cdef WindowContents contents
    cdef WindowTriggerContext triggers
    cdef WindowContext windows

    # --- assigner
    cdef Shape shape
    cdef bint event             # windows follow event time
    cdef int64_t size
    cdef int64_t slide          # of cumulative windows: the step
    cdef int64_t offset
    cdef object assign
    cdef object assigner_context
    cdef object to_key          # of windows that are not of time; None
    cdef object from_key

    # --- trigger
    cdef Speaks speaks
    cdef int purging
    cdef object asked_element
    cdef object asked_event
    cdef object asked_processing
    cdef object asked_clear
    cdef object asked_merge
    cdef object continues, fires, purges, fires_and_purges  # members of TriggerResult

    # --- the rest
    cdef int64_t lateness
    cdef object late_tag        # or None: late elements are counted only
    cdef object evict_before
    cdef object evict_after
    cdef object timestamped     # makes what evictors see
    cdef Calls calls
    cdef object function
    cdef object clear_function  # or None
    cdef readonly long long unplaced    # elements too late for every window
    cdef readonly long long dropped     # those of them that no side output takes

    cdef Window at              # the window at work
    cdef object window          # the same as an object, or None: not made yet
    cdef uint32_t spare         # a row that a merged window left, or NO_ROW

    # Make a window the one at work, and its row current.
    cdef int choose(self, uint32_t key, int64_t start, int64_t end) except -1
    cdef int choose_object(self, uint32_t key, object window) except -1
    cdef int choose_row(self, uint32_t row) except -1
    cdef object window_object(self)
    cdef int64_t last_of(self, object window) except? -1
    cdef int64_t cleanup_time(self) noexcept
    cdef bint is_late(self, int64_t last) noexcept

    # Put an element into a window; False when the window is late.
    cdef bint insert(self, uint32_t key, int64_t start, int64_t end, object value,
                     int64_t time) except -1
    cdef bint insert_into(self, uint32_t key, object window, object value,
                          int64_t time) except -1
    cdef bint insert_all(self, uint32_t key, object value, int64_t time) except -1
    cdef int accept(self, object value, int64_t time) except -1
    cdef int verdict(self, object result, str method) except -1
    cdef int on_element(self, object value, int64_t time) except -1
    cdef int on_time(self, int64_t time, bint event) except -1
    cdef int clear_trigger(self) except -1
    cdef int conclude(self, int verdict) except -1
    cdef int emit(self) except -1
    cdef int emit_evicted(self) except -1
    cdef int speak(self, object elements) except -1
    cdef int clear_all(self) except -1

include "merging.pxd"
