"""A set of timers in firing order, for a range of key groups."""

cimport cython
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.errno cimport EINVAL
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

import numpy as np

from flinkish._core.memory.integers cimport read_int64
from flinkish._core.memory.pthreads cimport (
    mutex_enter, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock,
)
from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.timers.timers cimport (
    Timer, TimerBatch, timer_columns_release, timers_add, timers_add_many, timers_bytes,
    timers_contains, timers_count, timers_fault, timers_init, timers_of_group, timers_peek,
    timers_poll, timers_poll_due, timers_release, timers_remove, timers_remove_many,
)

cdef enum:
    HIGHEST_KEY_GROUP = 32767

cdef object ZERO = 0  # the one small int of its kind: what the defaults are

cdef struct Input:
    # Arrays of the caller, held until _close.
    TimerBatch batch
    int opened
    Py_buffer[4] views


@cython.final
cdef class TimerHeap:
    """Timers of the key groups ``first_key_group`` to ``last_key_group``, both included.

    A timer is (timestamp, key, namespace) in a key group; timestamps are int64 milliseconds,
    keys and namespaces are ids below 2**32.  A second timer of the same identity is not added
    (Flink: InternalTimerServiceImpl, HeapPriorityQueueSet).  The earliest timer comes first; timers
    of equal timestamps come in the order in which they were added.

    Key groups outside the range are a ``ValueError``, ids and timestamps outside theirs an
    ``OverflowError``, values and arrays of other types a ``TypeError``; after any of these the
    heap is as it was.  ``MemoryError`` when memory is short: of a batch, the timers before
    the one that did not fit have been added.

    Arrays are one-dimensional, contiguous and of native byte order: int64 for timestamps,
    uint32 for keys, namespaces and key groups.  For these last two a batch also takes one int
    for all rows.  Results are new NumPy arrays of the same types.

    Threading: safe from several threads.  The ``_many`` methods, ``poll_until``, ``timers_of``
    and ``take_key_group`` release the GIL; each is one step as seen from other threads.

    Complexity: O(log n) to remove and to poll, O(1) expected to look up and, for timers that
    come in random order or in that of their timestamps, to add.
    """

    def __cinit__(self, first_key_group=0, last_key_group=0):
        cdef int64_t first = read_int64(first_key_group, "first_key_group")
        cdef int64_t last = read_int64(last_key_group, "last_key_group")
        if not 0 <= first <= last <= HIGHEST_KEY_GROUP:
            raise ValueError(
                f"the key groups {first}..{last} are no range: "
                f"0 <= first <= last <= {HIGHEST_KEY_GROUP} is needed"
            )
        self.first = <uint32_t>first
        self.last = <uint32_t>last
        segment_raise(-timers_init(&self.timers, self.last - self.first + 1))
        segment_raise(pthread_mutex_init(&self.lock, NULL))

    def __dealloc__(self):
        # Nobody else can be inside; one that could not be made at all is all zero.
        timers_release(&self.timers)
        pthread_mutex_destroy(&self.lock)

    def __repr__(self):
        return (
            f"<TimerHeap of {len(self)} timers, "
            f"key groups {self.first_key_group}..{self.last_key_group}>"
        )

    def __len__(self):
        cdef size_t count
        self._enter()
        count = timers_count(&self.timers)
        self._leave()
        return count

    @property
    def first_key_group(self):
        """The first key group that the heap takes."""
        return self.first

    @property
    def last_key_group(self):
        """The last key group that the heap takes."""
        return self.last

    @property
    def memory_bytes(self):
        """Bytes reserved for timers, in use or not."""
        cdef size_t size
        self._enter()
        size = timers_bytes(&self.timers)
        self._leave()
        return size

    def add(self, timestamp, key, namespace=0, key_group=0):
        """Add a timer; False when it was there."""
        cdef Timer timer
        cdef int status
        self._parse(&timer, timestamp, key, namespace, key_group)
        self._enter()
        status = timers_add(&self.timers, timer.timestamp, timer.key, timer.ns, timer.group)
        self._leave()
        if status < 0:
            segment_raise(-status)
        return status == 1

    def remove(self, timestamp, key, namespace=0, key_group=0):
        """Remove exactly this timer; False when it was not there."""
        cdef Timer timer
        cdef int status
        self._parse(&timer, timestamp, key, namespace, key_group)
        self._enter()
        status = timers_remove(&self.timers, timer.timestamp, timer.key, timer.ns, timer.group)
        self._leave()
        if status < 0:
            segment_raise(-status)
        return status == 1

    def contains(self, timestamp, key, namespace=0, key_group=0):
        """Whether this timer is there."""
        cdef Timer timer
        cdef bint found
        self._parse(&timer, timestamp, key, namespace, key_group)
        self._enter()
        found = timers_contains(&self.timers, timer.timestamp, timer.key, timer.ns, timer.group)
        self._leave()
        return found

    def peek(self):
        """The earliest timer as (timestamp, key, namespace), or None."""
        cdef Timer timer
        cdef bint found
        self._enter()
        found = timers_peek(&self.timers, &timer)
        self._leave()
        return (timer.timestamp, timer.key, timer.ns) if found else None

    def poll(self):
        """Take out the earliest timer: (timestamp, key, namespace), or None."""
        cdef Timer timer
        cdef int status
        self._enter()
        status = timers_poll(&self.timers, &timer)
        self._leave()
        if status < 0:
            segment_raise(-status)
        return (timer.timestamp, timer.key, timer.ns) if status else None

    def add_many(self, timestamps, keys, namespaces=None, key_groups=None):
        """Add timers in the order of the rows; the number of those that were not there.

        ``namespaces`` and ``key_groups``: an array, one int for all rows, or None for 0.
        """
        return self._batch(True, timestamps, keys, namespaces, key_groups)

    def remove_many(self, timestamps, keys, namespaces=None, key_groups=None):
        """Remove timers; the number of those that were there.  Arguments as in `add_many`."""
        return self._batch(False, timestamps, keys, namespaces, key_groups)

    def poll_until(self, timestamp, limit=None):
        """Take out the timers of up to ``timestamp``, included, at most the ``limit`` earliest.

        Returns the arrays (timestamps, keys, namespaces) in firing order.
        """
        cdef TimerBlock block = TimerBlock()
        cdef int64_t until = read_int64(timestamp, "timestamp")
        cdef int64_t most = 0x7FFFFFFFFFFFFFFF
        cdef int status
        if limit is not None:
            most = read_int64(limit, "limit")
        if most < 0:
            raise ValueError(f"limit is {limit}: 0 or more timers, or None, are needed")
        with nogil:
            pthread_mutex_lock(&self.lock)
            status = timers_poll_due(&self.timers, until, <size_t>most, &block.columns)
            pthread_mutex_unlock(&self.lock)
        if status < 0:
            segment_raise(-status)
        return block._arrays()

    def timers_of(self, key_group):
        """The timers of one key group as (timestamps, keys, namespaces) in firing order."""
        return self._of_group(key_group, False)

    def take_key_group(self, key_group):
        """Like `timers_of`, and the timers are taken out."""
        return self._of_group(key_group, True)

    def clear(self):
        """Remove all timers and give their memory back."""
        cdef Timers old
        cdef Timers empty
        cdef int status = timers_init(&empty, self.timers.groups)
        if status < 0:
            segment_raise(-status)
        self._enter()
        old = self.timers
        self.timers = empty
        self._leave()
        timers_release(&old)

    def _check(self):
        """Raise AssertionError when an invariant of the memory is broken.  O(n)."""
        cdef const char* fault
        self._enter()
        fault = timers_fault(&self.timers)
        self._leave()
        if fault != NULL:
            raise AssertionError(fault.decode())

    cdef void _enter(self) noexcept:
        mutex_enter(&self.lock)

    cdef void _leave(self) noexcept:
        pthread_mutex_unlock(&self.lock)

    cdef int _parse(self, Timer* timer, object timestamp, object key, object namespace,
                    object key_group) except -1:
        timer.timestamp = read_int64(timestamp, "timestamp")
        timer.key = _uint32(key, "key")
        # A caller that leaves a default alone does not pay for reading it.
        timer.ns = 0 if namespace is ZERO else _uint32(namespace, "namespace")
        if key_group is ZERO and self.first == 0:
            timer.group = 0
        else:
            timer.group = <uint32_t>self._local(read_int64(key_group, "key_group"))
        return 0

    cdef int64_t _local(self, int64_t key_group) except -1:
        """A key group counted from the first one."""
        if not self.first <= key_group <= self.last:
            raise ValueError(
                f"key group {key_group} is not one of {self.first}..{self.last}, "
                "which this heap was made for"
            )
        return key_group - self.first

    cdef object _batch(self, bint add, object timestamps, object keys, object namespaces,
                       object key_groups):
        cdef Input rows
        cdef int64_t status
        if key_groups is None:
            key_groups = 0
        if _is_int(key_groups):
            self._local(read_int64(key_groups, "key_groups"))
        try:
            _open(&rows, timestamps, keys, namespaces, key_groups)
            rows.batch.first_group = self.first
            with nogil:
                pthread_mutex_lock(&self.lock)
                if add:
                    status = timers_add_many(&self.timers, &rows.batch)
                else:
                    status = timers_remove_many(&self.timers, &rows.batch)
                pthread_mutex_unlock(&self.lock)
            if status == -EINVAL:
                self._blame(&rows.batch)
            if status < 0:
                segment_raise(<int>-status)
            return status
        finally:
            _close(&rows)

    cdef int _blame(self, const TimerBatch* batch) except -1:
        """Raise for the first row that has a foreign key group."""
        cdef size_t row
        for row in range(batch.count):
            if not self.first <= batch.groups[row] <= self.last:
                raise ValueError(
                    f"key_groups[{row}] is {batch.groups[row]}, which is not one of "
                    f"{self.first}..{self.last}, which this heap was made for"
                )
        return 0

    cdef object _of_group(self, object key_group, bint take):
        cdef TimerBlock block = TimerBlock()
        cdef uint32_t group = <uint32_t>self._local(read_int64(key_group, "key_group"))
        cdef int status
        with nogil:
            pthread_mutex_lock(&self.lock)
            status = timers_of_group(&self.timers, group, take, &block.columns)
            pthread_mutex_unlock(&self.lock)
        if status < 0:
            segment_raise(-status)
        return block._arrays()


@cython.final
cdef class TimerBlock:
    """The memory of a result; NumPy arrays look into it and keep it alive."""

    def __cinit__(self):
        memset(&self.columns, 0, sizeof(self.columns))

    def __dealloc__(self):
        timer_columns_release(&self.columns)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(
            view, self, self.columns.timestamps, <Py_ssize_t>(16 * self.columns.count), 0, flags
        )

    cdef tuple _arrays(self):
        cdef size_t count = self.columns.count
        if count == 0:
            return np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint32)
        return (
            np.ndarray(count, np.int64, self),
            np.ndarray(count, np.uint32, self, 8 * count),
            np.ndarray(count, np.uint32, self, 12 * count),
        )


cdef inline uint32_t _uint32(object value, str name) except? 0xFFFFFFFF:
    cdef int64_t number = read_int64(value, name)
    if number < 0 or number > 0xFFFFFFFF:
        raise OverflowError(f"{name} is {number}, outside of uint32 (0..4294967295)")
    return <uint32_t>number


cdef int _open(Input* rows, object timestamps, object keys, object namespaces,
               object key_groups) except -1:
    """Take hold of the arrays of a batch; _close even after an error."""
    memset(rows, 0, sizeof(Input))
    rows.batch.timestamps = <const int64_t*>_column(rows, timestamps, "timestamps", 8)
    rows.batch.keys = <const uint32_t*>_column(rows, keys, "keys", 4)
    if _is_int(namespaces):
        rows.batch.ns = _uint32(namespaces, "namespaces")
    elif namespaces is not None:
        rows.batch.namespaces = <const uint32_t*>_column(rows, namespaces, "namespaces", 4)
    if _is_int(key_groups):
        rows.batch.group = _uint32(key_groups, "key_groups")
    else:
        rows.batch.groups = <const uint32_t*>_column(rows, key_groups, "key_groups", 4)
    return 0


cdef void _close(Input* rows) noexcept:
    while rows.opened != 0:
        rows.opened -= 1
        PyBuffer_Release(&rows.views[rows.opened])


cdef bint _is_int(object value) except -1:
    return isinstance(value, (int, np.integer))


cdef str _kind(object array):
    return f"{type(array).__name__} of {getattr(array, 'dtype', 'no dtype')}"


cdef const void* _column(Input* rows, object array, str name, Py_ssize_t size) except? NULL:
    """Hold one array of integers of `size` bytes; all have as many rows as the first."""
    cdef Py_buffer* view = &rows.views[rows.opened]
    cdef str needed = "int64" if size == 8 else "uint32"
    try:
        PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(
            f"{name} is a {_kind(array)}: a contiguous array is needed, "
            f"numpy.ascontiguousarray({name}, numpy.{needed}) makes one"
        ) from error
    rows.opened += 1
    if view.ndim != 1:
        raise ValueError(f"{name} has {view.ndim} dimensions: an array of one is needed")
    if view.itemsize != size or view.format[0] not in (b"lq" if size == 8 else b"IL"):
        raise TypeError(f"{name} is a {_kind(array)}: {needed} is needed, "
                        f"{name}.astype(numpy.{needed}) makes it")
    if rows.opened == 1:
        rows.batch.count = <size_t>view.shape[0]
    elif <size_t>view.shape[0] != rows.batch.count:
        raise ValueError(f"{name} has {view.shape[0]} rows and timestamps has "
                         f"{rows.batch.count}: equally many are needed")
    return view.buf
