# cython: freethreading_compatible=True
"""Timeouts by the million: a hierarchical timing wheel."""

cimport cython
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.list cimport PyList_New
from cpython.ref cimport PyObject
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.memory.object_slots cimport (
    objects_clear, objects_fit, objects_hold, objects_put, objects_room, objects_take,
)
from flinkish._core.memory.pthreads cimport (
    mutex_enter, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock,
)

include "wheel.pyx"
include "clock.pyx"
include "check.pyx"
include "arguments.pyx"

cdef extern from "Python.h":
    bint PyLong_CheckExact(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) noexcept
    PyObject* PyLong_FromLongLong(long long value) noexcept
    void PyErr_Clear() noexcept
    void Py_XDECREF(PyObject* value) noexcept
    void PyList_SET_ITEM(PyObject* items, Py_ssize_t i, PyObject* value) noexcept


@cython.final
cdef class TimingWheel:
    """Timers that come out when the clock has reached them, in the order of time.

    ``tick_ms`` (1 or more) is how exact it is: a timer of expiration e comes out of the first
    ``advance`` to a tick at or after e, never early and at most a tick late; ticks are counted
    from ``start_ms``.  ``wheel_size`` (2 to 2**24) is the number of buckets of a level; levels
    are made as timers need them, so every int64 expiration has a place.  Times are int
    milliseconds on any clock: the wheel reads none, ``advance`` tells it.

    Ordering: by tick, and within a tick in the order in which they were added (Kafka: TimingWheel,
    not always there).  A timer that is due when it is added comes out of the next ``advance``, as
    of the clock at which it was added.

    A payload is any object; an int of 64 bits is kept as a number, so an equal int comes back.
    An ``expiration`` beyond int64 is taken for the nearest int64 (Kafka would fire at once:
    SystemTimer). The handle of a timer that came out or was cancelled is refused.

    After an error (``OverflowError``: a clock outside of int64) the wheel is as it was.

    Threading: safe from several threads; either ``cancel`` is True or the timer comes out, never
    both (Kafka: TimerTaskList).  The batch methods release the GIL while they hold numbers.  The
    wheel calls nothing: ``advance`` returns the payloads, so what is done with them may use the
    wheel freely.

    Complexity: O(1) to add and to cancel.  ``advance`` costs what comes out, and once for each
    level that a timer comes down; empty buckets cost nothing, however far the clock jumps.
    """

    def __cinit__(self, tick_ms, wheel_size, start_ms):
        cdef int64_t tick = read_int64(tick_ms, "tick_ms")
        cdef int64_t size = read_int64(wheel_size, "wheel_size")
        cdef int64_t start = read_int64(start_ms, "start_ms")
        if tick < 1:
            raise ValueError(f"tick_ms is {tick}: a tick of 1 ms or more is needed")
        if not 2 <= size <= WHEEL_SLOTS:
            raise ValueError(f"wheel_size is {size}: 2 to {WHEEL_SLOTS} buckets are needed")
        self._objects = []
        segment_raise(-wheel_init(&self._wheel, tick, size, start))
        segment_raise(pthread_mutex_init(&self._lock, NULL))

    def __dealloc__(self):
        # Nobody else can be inside; one that could not be made at all is all zero.
        wheel_release(&self._wheel)
        pthread_mutex_destroy(&self._lock)

    def __repr__(self):
        return (
            f"<TimingWheel of {len(self)} timers, tick_ms={self.tick_ms}, "
            f"wheel_size={self.wheel_size}, now={self.now}>"
        )

    def __len__(self):
        self._enter()
        cdef Py_ssize_t live = self._wheel.live
        self._leave()
        return live

    @property
    def tick_ms(self):
        """Milliseconds of a tick."""
        return self._wheel.tick_ms

    @property
    def wheel_size(self):
        """Buckets of a level."""
        return self._wheel.size

    @property
    def now(self):
        """The clock: the start of the tick up to which all is out."""
        self._enter()
        cdef int64_t now = wheel_time(&self._wheel, self._wheel.clock)
        self._leave()
        return now

    @property
    def memory_bytes(self):
        """Bytes reserved for timers, in use or not, payloads included."""
        self._enter()
        cdef size_t size = wheel_bytes(&self._wheel)
        size += objects_room(<PyObject*>self._objects) * sizeof(PyObject*)
        self._leave()
        return size

    @property
    def next_expiration(self):
        """The clock at which the next timer comes out, or None.

        O(1) when it is within the current turn of the lowest level, else it is searched for in
        its bucket; `next_bucket` never searches.
        """
        cdef int64_t at
        cdef bint found
        self._enter()
        found = wheel_next_expiration(&self._wheel, &at)
        self._leave()
        return at if found else None

    @property
    def next_bucket(self):
        """The clock at which to advance next, or None: not after the next expiration.  O(1).

        Who advances at this time finds timers, or `next_bucket` closer to them.
        """
        cdef int64_t at
        return at if self.next_wake(&at) else None

    def add(self, expiration, payload):
        """Add a timer; its handle."""
        return self.put(read_expiration(expiration), payload)

    def cancel(self, handle):
        """Take a timer out; False if it came out or was cancelled before."""
        return self.drop(read_int64(handle, "handle"))

    def advance(self, now, limit=None):
        """Move the clock to ``now`` and take out what is due: a list of payloads.

        At most ``limit`` of them; then the clock stays where it is, and the rest comes next
        time.  An earlier ``now`` than before leaves the clock alone.
        """
        return self.expire(read_int64(now, "now"), read_limit(limit))

    def add_many(self, expirations, payloads):
        """Add timers in the order of the rows, all or none; their handles as an int64 array.

        Two int64 arrays, or lists of such ints, are added without the GIL.  Others will do.
        """
        cdef Py_buffer times, numbers, handles
        cdef Py_ssize_t rows
        cdef int status
        moments, values = as_int64s(expirations), as_int64s(payloads)
        if not is_int64s(moments) or not is_int64s(values):
            return self._add_each(expirations, payloads)
        rows = len(moments)
        if len(values) != rows:
            raise ValueError(unequal_rows(rows, len(values)))
        result = np.empty(rows, np.int64)
        PyObject_GetBuffer(moments, &times, PyBUF_C_CONTIGUOUS)
        PyObject_GetBuffer(values, &numbers, PyBUF_C_CONTIGUOUS)
        PyObject_GetBuffer(result, &handles, PyBUF_C_CONTIGUOUS)
        with nogil:
            pthread_mutex_lock(&self._lock)
            status = wheel_add_many(
                &self._wheel, <int64_t*>times.buf, <int64_t*>numbers.buf, <size_t>rows,
                <int64_t*>handles.buf,
            )
            pthread_mutex_unlock(&self._lock)
        PyBuffer_Release(&handles)
        PyBuffer_Release(&numbers)
        PyBuffer_Release(&times)
        segment_raise(-status)
        return result

    def cancel_many(self, handles):
        """Cancel timers, given an int64 array or a sequence of ints; how many were there.

        Without the GIL, if it is an array and no payload is an object.
        """
        cdef Py_buffer view
        cdef size_t cancelled = 0
        cdef bint plain = False
        cdef Py_ssize_t row
        handles = as_int64s(handles)
        if not is_int64s(handles):
            handles = np.array([read_int64(handle, "a handle") for handle in handles], np.int64)
        PyObject_GetBuffer(handles, &view, PyBUF_C_CONTIGUOUS)
        try:
            with nogil:
                pthread_mutex_lock(&self._lock)
                plain = self._wheel.objects == 0
                if plain:
                    cancelled = wheel_cancel_many(
                        &self._wheel, <int64_t*>view.buf, <size_t>view.len // 8
                    )
                pthread_mutex_unlock(&self._lock)
            if not plain:
                for row in range(view.len // 8):
                    cancelled += self.drop((<int64_t*>view.buf)[row])
        finally:
            PyBuffer_Release(&view)
        return cancelled

    def advance_many(self, now, limit=None):
        """Like `advance`, without the GIL: an int64 array of the payloads.

        Only for a wheel whose payloads all are ints of 64 bits; else a ``TypeError``.
        """
        cdef WheelBlock block = WheelBlock()
        cdef WheelSlots due
        cdef int64_t until = read_int64(now, "now")
        cdef size_t most = read_limit(limit)
        cdef uint32_t objects
        cdef int status = 0
        memset(&due, 0, sizeof(due))
        with nogil:
            pthread_mutex_lock(&self._lock)
            objects = self._wheel.objects
            if objects == 0:
                wheel_trim(&self._wheel)
                status = wheel_collect(&self._wheel, until, most, &due)
            if due.count != 0:
                block.numbers = <int64_t*>malloc(due.count * sizeof(int64_t))
                if block.numbers == NULL:
                    wheel_put_back(&self._wheel, &due)
                    status = -ENOMEM
                else:
                    block.count = due.count
                    wheel_free(&self._wheel, &due, block.numbers)
            pthread_mutex_unlock(&self._lock)
            free(due.index)
        if objects != 0:
            raise TypeError(
                f"{objects} timers have payloads other than ints of 64 bits, which no array of "
                "int64 holds: take them out with advance"
            )
        segment_raise(-status)
        return np.ndarray(block.count, np.int64, block) if block.count else np.empty(0, np.int64)

    def _check(self):
        """Raise AssertionError when an invariant of the memory is broken.  O(n)."""
        cdef const char* fault
        cdef size_t objects = 0, i
        self._enter()
        fault = wheel_fault(&self._wheel)
        for i in range(objects_room(<PyObject*>self._objects)):
            if i >= self._wheel.top or self._wheel.state[i] & 1 == 0:
                objects += objects_hold(<PyObject*>self._objects, i)
        self._leave()
        if fault != NULL:
            raise AssertionError(fault.decode())
        if objects != 0:
            raise AssertionError(f"{objects} objects are held for no timer")

    # --- for the floor

    cdef int64_t put(self, int64_t expiration, object payload) except -1:
        cdef int64_t handle = 0
        cdef int overflow = 1
        cdef long long number = 0
        cdef int status
        if PyLong_CheckExact(payload):
            number = PyLong_AsLongLongAndOverflow(payload, &overflow)
        if overflow == 0:
            return self.put_number(expiration, number)
        self._enter()
        status = objects_fit(<PyObject*>self._objects, self._wheel.top)
        if status == 0:
            status = wheel_add_object(&self._wheel, expiration, &handle)
        if status == 0:
            objects_put(<PyObject*>self._objects, handle & (WHEEL_TIMERS - 1), payload)
        self._leave()
        if status != 0:
            segment_raise(-status)
        return handle

    cdef int64_t put_number(self, int64_t expiration, int64_t payload) except -1:
        cdef int64_t handle = 0
        cdef int status
        self._enter()
        status = wheel_add(&self._wheel, expiration, payload, &handle)
        self._leave()
        if status != 0:
            segment_raise(-status)
        return handle

    cdef bint drop(self, int64_t handle) except -1:
        cdef Py_ssize_t index = <Py_ssize_t>(handle & (WHEEL_TIMERS - 1))
        cdef PyObject* payload = NULL
        cdef bint held
        self._enter()
        held = wheel_holds(&self._wheel, handle)
        if held:
            if self._wheel.state[index] & 1:
                payload = objects_take(<PyObject*>self._objects, index)
            wheel_cancel(&self._wheel, handle)
        self._leave()
        Py_XDECREF(payload)
        return held

    cdef list expire(self, int64_t now, size_t limit):
        cdef WheelSlots due
        cdef list result = None
        cdef PyObject* items
        cdef PyObject* objects
        cdef PyObject* item
        cdef size_t row
        cdef uint32_t index
        cdef int status
        memset(&due, 0, sizeof(due))
        self._enter()
        if wheel_trim(&self._wheel):
            objects_clear(<PyObject*>self._objects)
        status = wheel_collect(&self._wheel, now, limit, &due)
        self._leave()
        if status != 0:
            segment_raise(-status)
        if due.count == 0:
            return []
        try:
            result = PyList_New(<Py_ssize_t>due.count)
        except MemoryError:
            self._put_back(&due)
            raise
        items = <PyObject*>result
        self._enter()
        objects = <PyObject*>self._objects
        for row in range(due.count):
            wheel_ask_for_payload(&self._wheel, &due, row)
            # Numbers first: making one may fail, and then nothing has been moved.
            index = due.index[row]
            if self._wheel.state[index] & 1 == 0:
                item = PyLong_FromLongLong(self._wheel.payload[index])
                if item == NULL:
                    status = -ENOMEM
                    break
                PyList_SET_ITEM(items, <Py_ssize_t>row, item)
        if status == 0:
            for row in range(due.count):
                index = due.index[row]
                if self._wheel.state[index] & 1:
                    PyList_SET_ITEM(items, <Py_ssize_t>row, objects_take(objects, index))
            wheel_free(&self._wheel, &due, NULL)
        self._leave()
        if status != 0:
            PyErr_Clear()
            self._put_back(&due)
            raise MemoryError("no memory left for the payloads that are due; they stay")
        free(due.index)
        return result

    cdef bint next_wake(self, int64_t* at) noexcept:
        cdef bint found
        self._enter()
        found = wheel_next_bucket(&self._wheel, at)
        self._leave()
        return found

    # --- inside

    cdef void _enter(self) noexcept:
        mutex_enter(&self._lock)

    cdef void _leave(self) noexcept:
        pthread_mutex_unlock(&self._lock)

    cdef int _put_back(self, WheelSlots* due) noexcept:
        self._enter()
        wheel_put_back(&self._wheel, due)
        self._leave()
        free(due.index)
        return 0

    cdef object _add_each(self, object expirations, object payloads):
        cdef list handles = []
        expirations, payloads = list(expirations), list(payloads)
        if len(payloads) != len(expirations):
            raise ValueError(unequal_rows(len(expirations), len(payloads)))
        try:
            for expiration, payload in zip(expirations, payloads):
                handles.append(self.add(expiration, payload))
            return np.array(handles, np.int64)
        except BaseException:
            for handle in handles:
                self.cancel(handle)
            raise


@cython.final
cdef class WheelBlock:
    """The memory of a result; a NumPy array looks into it and keeps it alive."""

    def __dealloc__(self):
        free(self.numbers)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(
            view, self, self.numbers, <Py_ssize_t>(self.count * sizeof(int64_t)), 0, flags
        )
