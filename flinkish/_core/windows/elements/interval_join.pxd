# The inner loop of an interval join: each element is kept until nothing can join it any more, and
# meets those of the other input that were kept before it.
#
# Both inputs have a cell of each key: a chain of its elements in order of arrival, each with its
# event time as the entry's time.  Looking for partners goes along the chain and decodes only what
# joins.
#
# One timer of a key stands for both inputs (Flink has a namespace for each): a timer at T is
# that of left elements at T - max(upper, 0) and of right ones at T + min(lower, 0), and at T
# both are due, so both may go, whichever asked for it.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.operators.keyed_process cimport KeyedProcess
from flinkish._core.windows.elements.process cimport WindowValues


cdef class JoinContext:
    cdef int64_t left               # event times of the pair, ms
    cdef int64_t right


cdef class JoinInput:
    cdef uint32_t cell
    cdef WindowValues values
    cdef object late_tag            # OutputTag of elements that come too late, or None
    cdef int64_t lower              # a partner's time minus one's own is at least this,
    cdef int64_t upper              # and at most this
    cdef int64_t stay               # how long after its own time an element may be joined, >= 0


cdef class IntervalJoin(KeyedProcess):
    cdef JoinInput left
    cdef JoinInput right
    cdef JoinContext pair
    cdef readonly long long dropped # late elements that no side output took

    cdef int keep(self, JoinInput own, object value, int64_t time) except -1
    cdef int join(self, JoinInput own, JoinInput other, object value, int64_t time) except -1
    cdef int forget(self, JoinInput own, int64_t time) except -1
