# The inner loop of a keyed process operator, and what its function sees: context and timer
# service.  One thread at a time: the operator's.

from libc.stdint cimport int64_t, uint8_t, uint32_t

from flinkish._core.state.table cimport StateTable
from flinkish._core.timers.timers cimport Timer, Timers

include "timer_service.pxd"


cdef class KeyedContext:
    cdef StateTable table
    cdef readonly KeyedTimerService timers
    cdef int64_t time
    cdef bint timed                     # whether `time` says anything


cdef class KeyedTimerContext(KeyedContext):
    cdef object domain


cdef class KeyedProcess:
    cdef StateTable table
    cdef readonly KeyedTimerService timers
    cdef KeyedContext context
    cdef KeyedTimerContext timer_context
    cdef object process_element
    cdef object process_second          # for elements of input 2, or None where there is one input
    cdef public uint8_t input           # which the next element comes from: 1 or 2
    cdef object on_timer
    cdef type tag_type
    cdef object event_domain
    cdef object processing_domain
    cdef bint running                   # a call of the function is under way
    cdef readonly uint32_t last         # row of the last call
    cdef int64_t last_time              # of its element or timer
    cdef bint last_timed                # whether `last_time` says anything
    cdef list values                    # main output since the last take
    cdef list timestamps
    cdef dict sides
    cdef Py_ssize_t held                # outputs since the last take
    cdef public Py_ssize_t output_limit # the loops stop when this many are held
    cdef readonly long long fired
    cdef readonly long long late
    cdef readonly long long processed

    # Elements `start` to `stop` of those given to `process_batch`; likewise the result.
    cdef Py_ssize_t run(self, list values, const uint32_t[::1] rows, const int64_t[::1] timestamps,
                        const uint8_t[::1] inputs, Py_ssize_t start, Py_ssize_t stop) except -1

    cdef int enter(self) except -1
    cdef void leave(self, KeyedContext context) noexcept

    # One element of the current key; one timer, whose row is current.  Subclasses do other things.
    cdef int call(self, object value, int64_t timestamp, bint timed) except -1
    cdef int turn(self, Timer* timer, bint event) except -1

    # Keep what a function gave: an iterable of values and of (tag, value) pairs.
    cdef int collect(self, object result, object timestamp, str method) except -1
    cdef bint fire(self, Timers* timers, int64_t until, object domain, object stop) except -1
