# A door for tests into timers, their log and their files; nothing else imports it.

from flinkish._core.timers cimport Timers

cdef class TimersDoor:
    cdef Timers timers
