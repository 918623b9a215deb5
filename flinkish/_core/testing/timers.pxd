# A door for tests into timers, their log and their files; nothing else imports it.

cimport cython

from flinkish._core.timers.timers cimport Timers


@cython.final
cdef class TimersDoor:
    cdef Timers timers
