# The timer service of keyed functions: registers and deletes timers of the current key.
# A part of keyed_process.

cdef class KeyedTimerService:
    cdef StateTable table
    cdef uint32_t service               # timers of different services never meet
    cdef object on_earlier              # called with the new head of the processing timers
    cdef str refusal                    # why processing timers cannot be registered, or None
    cdef str event_refusal              # the same of event-time timers
    cdef public bint quiesces           # at the end of time timers are ignored: Flink's batch mode
    cdef bint firing                    # `on_timer` is called
    cdef long long chained              # timers that `on_timer` registered at the end of time
    cdef public long long most_chained  # more of them have no end
    cdef readonly long long ignored
    cdef readonly long long registered
    cdef readonly long long deleted

    cdef uint32_t row(self) except? 0xFFFFFFFF
    cdef int64_t millis(self, object timestamp) except? -1

    # Register or delete a timer of a row on one of the two clocks.
    cdef int register(self, bint event, int64_t time, uint32_t row) except -1
    cdef bint refuses_at_end(self) except -1
    cdef int delete(self, bint event, int64_t time, uint32_t row) except -1
