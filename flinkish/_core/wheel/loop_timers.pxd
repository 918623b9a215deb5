# Timers of an event loop on one timing wheel: `flinkish.time.wheel_timer` adds the loop.
#
# Threads: none but the loop's, as asyncio has it; only the wheel itself is safe from others.
# Time: seconds on the clock that the constructor was given; the wheel counts its milliseconds.

cimport cython
from libc.stdint cimport int64_t

from flinkish._core.wheel.timing_wheel cimport TimingWheel


@cython.final
cdef class WheelHandle:
    cdef LoopTimers owner
    cdef object callback         # None: cancelled
    cdef tuple arguments
    cdef object context
    cdef double seconds          # when it was asked for
    cdef int64_t handle          # in the wheel; -1 when it came out


cdef class LoopTimers:
    cdef TimingWheel wheel
    cdef object clock            # () -> seconds
    cdef int64_t wake_at         # ms: `_wake` has been called for this time; INT64_MAX if not
    cdef public bint in_child    # of a fork, where the loop does not run
    cdef readonly int64_t scheduled
    cdef readonly int64_t cancelled
    cdef readonly int64_t fired

    cdef WheelHandle _schedule(self, double when, object callback, tuple arguments,
                               object context)
    cdef int64_t _now(self) except? -1
