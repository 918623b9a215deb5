"""Elements that wait for their results; described in ``element_queue.pxd``."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint32_t

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.memory.object_slots cimport objects_fit, objects_hold, objects_put, objects_take
from flinkish._core.memory.pthreads cimport (
    mutex_enter, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_unlock,
)

include "queue_slots.pyx"

cdef extern from "Python.h":
    PyObject* _tuple "PyTuple_New"(Py_ssize_t size) noexcept
    void _tuple_set "PyTuple_SET_ITEM"(PyObject* items, Py_ssize_t i, PyObject* value) noexcept
    PyObject* _list_get "PyList_GET_ITEM"(PyObject* items, Py_ssize_t i) noexcept
    void _list_set "PyList_SET_ITEM"(PyObject* items, Py_ssize_t i, PyObject* value) noexcept
    void _own "Py_INCREF"(PyObject* value) noexcept
    void _disown "Py_DECREF"(PyObject* value) noexcept


@cython.final
cdef class ElementQueue:
    """Elements in order, their results in any order (Flink: UnorderedStreamElementQueue).

    ``capacity`` is how many elements there may be at once, watermarks included (Flink:
    AsyncWaitOperator): 1 to 2**24 - 1.  ``ordered`` elements come out in the order in which they
    went in; others as they are completed, but none passes a watermark: what went in before it comes
    out before it.  Without watermarks that is the order of processing time, with them that of event
    time.

    ``put`` gives a handle, by which the element is completed, once.  A handle that was used,
    renewed, or whose element is out, is refused.

    Threading: ``complete`` and ``renew`` are safe from any thread, and of several that complete
    an element one succeeds.  The rest belongs to one thread.

    Complexity: O(1) to put, renew, complete and emit, also with watermarks.
    """

    def __cinit__(self, capacity, *, bint ordered):
        cdef Py_ssize_t room = capacity
        if not 1 <= room <= QUEUE_SLOTS:
            raise ValueError(
                f"the capacity of a queue is {capacity}: 1 to {QUEUE_SLOTS} elements are needed"
            )
        self.capacity = room
        self._elements = []
        self._results = []
        queue_init(&self._order, ordered)
        segment_raise(pthread_mutex_init(&self._lock, NULL))

    def __dealloc__(self):
        queue_release(&self._order)
        pthread_mutex_destroy(&self._lock)

    def __repr__(self):
        order = "ordered" if self._order.ordered else "unordered"
        return f"<ElementQueue, {order}, {len(self)} of {self.capacity} elements>"

    def __len__(self):
        return <Py_ssize_t>self._order.live

    @property
    def ordered(self):
        """Whether elements come out in the order in which they went in."""
        return self._order.ordered

    @property
    def is_full(self):
        """Whether there is no room."""
        return <Py_ssize_t>self._order.live >= self.capacity

    @property
    def has_completed(self):
        """Whether ``emit`` has something."""
        cdef uint32_t index
        mutex_enter(&self._lock)
        index = queue_next(&self._order)
        pthread_mutex_unlock(&self._lock)
        return index != NO_SLOT

    def put(self, element):
        """Put an element in: its handle, a positive int, or None if there is no room."""
        cdef int64_t handle = self._put(element, False)
        if handle > 0:
            return handle
        segment_raise(<int>-handle)
        return None

    def put_watermark(self, watermark):
        """Put in a mark that is completed already and that nothing passes; False without room."""
        cdef int64_t handle = self._put(watermark, True)
        if handle < 0:
            segment_raise(<int>-handle)
        return handle != 0

    def renew(self, int64_t handle):
        """Have another handle for the element, or None if this one is refused.

        From now on the old one is: of several threads that renew a handle one succeeds, and
        decides alone what becomes of the element.
        """
        cdef int64_t fresh = 0
        mutex_enter(&self._lock)
        if queue_holds(&self._order, handle):
            fresh = queue_renew(&self._order, handle)
        pthread_mutex_unlock(&self._lock)
        return fresh if fresh else None

    def complete(self, int64_t handle, result):
        """Give the element its result; False if the handle is refused."""
        cdef uint32_t index = <uint32_t>(handle & NO_SLOT)
        cdef bint held
        mutex_enter(&self._lock)
        held = queue_holds(&self._order, handle)
        if held:
            objects_put(<PyObject*>self._results, index, result)
            queue_complete(&self._order, index)
        pthread_mutex_unlock(&self._lock)
        return held

    def emit(self):
        """The next that comes out, as (element, result), or None if it is not completed.

        The result of a watermark is None.
        """
        cdef PyObject* element = NULL
        cdef PyObject* result = NULL
        cdef PyObject* pair
        cdef uint32_t index
        if self._order.live == 0:
            return None
        pair = _tuple(2)  # before the lock, under which nothing may be made
        if pair == NULL:
            raise MemoryError("no memory for an element that comes out; it stays")
        mutex_enter(&self._lock)
        index = queue_next(&self._order)
        if index != NO_SLOT:
            element = objects_take(<PyObject*>self._elements, index)
            result = objects_take(<PyObject*>self._results, index)
            queue_take(&self._order, index)
        pthread_mutex_unlock(&self._lock)
        if index == NO_SLOT:
            _disown(pair)
            return None
        _tuple_set(pair, 0, element)
        _tuple_set(pair, 1, result)
        made = <object>pair
        _disown(pair)
        return made

    def emit_many(self, Py_ssize_t limit):
        """The next that come out, ``limit`` at most: a list of elements, and one of results."""
        cdef Py_ssize_t found = 0
        cdef uint32_t index
        mutex_enter(&self._lock)
        index = queue_next(&self._order)
        while index != NO_SLOT and found < limit:
            found += 1
            index = queue_following(&self._order, index)
        pthread_mutex_unlock(&self._lock)
        elements = [None] * found
        results = [None] * found
        found = self._take_into(elements, results)
        del elements[found:]  # if another thread took some meanwhile
        del results[found:]
        return elements, results

    def elements(self):
        """All elements and watermarks, completed or not, in the order in which they went in.

        What is out is out.
        """
        cdef Py_ssize_t row = 0, size = len(self)
        cdef PyObject* element
        cdef uint32_t index
        found = [None] * size
        mutex_enter(&self._lock)
        index = self._order.head
        while row < size and index != NO_SLOT:
            element = _list_get(<PyObject*>self._elements, index)
            _own(element)
            _disown(<PyObject*>None)  # what the list holds
            _list_set(<PyObject*>found, row, element)
            row += 1
            index = (<Slot*>self._order.slots.base)[index].after
        pthread_mutex_unlock(&self._lock)
        del found[row:]
        return found

    def _check(self):
        """Raise AssertionError when an invariant of the memory is broken.  O(n)."""
        cdef const char* fault
        cdef bint held = False
        cdef uint32_t index
        mutex_enter(&self._lock)
        fault = queue_fault(&self._order)
        for index in range(self._order.top):
            if not (<Slot*>self._order.slots.base)[index].used:
                held |= objects_hold(<PyObject*>self._elements, index)
                held |= objects_hold(<PyObject*>self._results, index)
        pthread_mutex_unlock(&self._lock)
        if fault != NULL:
            raise AssertionError(fault.decode())
        if held or len(self) > self.capacity:
            raise AssertionError("objects are held for no element, or more than there is room for")

    # --- inside

    cdef int64_t _put(self, object element, bint watermark) noexcept:
        cdef int64_t handle = 0
        cdef uint32_t index
        mutex_enter(&self._lock)
        if <Py_ssize_t>self._order.live < self.capacity:
            index = queue_next_index(&self._order)
            handle = objects_fit(<PyObject*>self._elements, index)
            if handle == 0:
                handle = objects_fit(<PyObject*>self._results, index)
            if handle == 0:
                handle = queue_put(&self._order, watermark)
            if handle > 0:
                objects_put(<PyObject*>self._elements, index, element)
        pthread_mutex_unlock(&self._lock)
        return handle

    cdef Py_ssize_t _take_into(self, list elements, list results) noexcept:
        cdef Py_ssize_t row = 0, size = len(elements)
        cdef uint32_t index
        mutex_enter(&self._lock)
        while row < size:
            index = queue_next(&self._order)
            if index == NO_SLOT:
                break
            _disown(<PyObject*>None)
            _list_set(<PyObject*>elements, row, objects_take(<PyObject*>self._elements, index))
            _disown(<PyObject*>None)
            _list_set(<PyObject*>results, row, objects_take(<PyObject*>self._results, index))
            queue_take(&self._order, index)
            row += 1
        pthread_mutex_unlock(&self._lock)
        return row
