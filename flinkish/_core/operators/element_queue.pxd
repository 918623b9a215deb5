# The queue of an asynchronous operator: elements go in in order, are completed in any order, and
# come out in the order of the queue.  The order is kept by queue_slots.pxd; here are the elements
# and results, each in a list at its slot's index, and the lock.
#
# The thread that renews the handle of an element has the element to itself, since the old handle is
# refused from then on: `renew` is the one door to exactly one completion.
#
# Threads: every method holds `_lock` while it touches `_order` or the lists; under it nothing is
# raised, no object is made and no reference is given up, as in timing_wheel.pxd.  `complete` and
# `renew` are for any thread.
# Ownership: __cinit__ makes `_order`, __dealloc__ releases it.

cimport cython
from libc.stdint cimport int64_t, uint32_t

from flinkish._core.memory.pthreads cimport pthread_mutex_t

include "queue_slots.pxd"

@cython.final
cdef class ElementQueue:
    cdef QueueSlots _order
    cdef list _elements
    cdef list _results
    cdef pthread_mutex_t _lock
    cdef readonly Py_ssize_t capacity

    # The handle of a new element, 0 if there is no room, or an errno, negated.
    cdef int64_t _put(self, object element, bint watermark) noexcept

    # Fill two lists of None with what comes out; how many there were.
    cdef Py_ssize_t _take_into(self, list elements, list results) noexcept
