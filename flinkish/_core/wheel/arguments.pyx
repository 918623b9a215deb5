"""The arguments of a timing wheel's methods, read and checked."""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t

import operator

import numpy as np

from flinkish._core.memory.integers cimport (
    PyLong_AsLongLongAndOverflow, PyLong_CheckExact, read_int64,
)


cdef int64_t read_expiration(object value) except? -1:
    cdef int overflow = 0
    cdef int64_t number
    if not PyLong_CheckExact(value):
        try:
            value = operator.index(value)
        except TypeError:
            raise TypeError(f"expiration is {value!r}: an int of ms is needed") from None
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0:
        return INT64_MAX if overflow > 0 else INT64_MIN
    return number


cdef size_t read_limit(object limit) except? 0:
    cdef int64_t most
    if limit is None:
        return <size_t>-1
    most = read_int64(limit, "limit")
    if most < 0:
        raise ValueError(f"limit is {limit}: 0 or more timers, or None, are needed")
    return <size_t>most


cdef bint is_int64s(object values) except -1:
    """Whether it is a contiguous array of int64 with one dimension, ready to be read in C."""
    cdef Py_buffer view
    cdef bint fits
    if not isinstance(values, np.ndarray):
        return False
    try:
        PyObject_GetBuffer(values, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (ValueError, BufferError):
        return False
    fits = view.ndim == 1 and view.itemsize == 8 and view.format[0] in b"lq"
    PyBuffer_Release(&view)
    return fits


cdef object as_int64s(object values):
    """A list of ints of 64 bits as an array; anything else as it is."""
    cdef Py_buffer view
    cdef Py_ssize_t row = 0, rows
    cdef int overflow = 0
    if type(values) is not list:
        return values
    rows = len(<list>values)
    numbers = np.empty(rows, np.int64)
    PyObject_GetBuffer(numbers, &view, PyBUF_C_CONTIGUOUS)
    try:
        for value in <list>values:
            if row == rows or not PyLong_CheckExact(value):
                return values
            (<int64_t*>view.buf)[row] = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow != 0:
                return values
            row += 1
    finally:
        PyBuffer_Release(&view)
    return numbers if row == rows else values


cdef str unequal_rows(Py_ssize_t expirations, Py_ssize_t payloads):
    return (
        f"payloads has {payloads} rows and expirations has {expirations}: equally many are needed"
    )
