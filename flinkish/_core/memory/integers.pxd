# Integers of 64 bits out of Python's: an error names the argument, what it is and what is needed.

from cpython.number cimport PyNumber_Index
from libc.stdint cimport int64_t

cdef extern from "Python.h":
    bint PyLong_CheckExact(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) noexcept


# An int of 64 bits; of NumPy's, too.
cdef inline int64_t read_int64(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow == 0:
            return number
    return _read_index(value, name)


cdef inline int64_t _read_index(object value, str name) except? -1:
    try:
        return PyNumber_Index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: an int is needed") from None
    except OverflowError:
        raise OverflowError(f"{name} is {value}, outside of int64") from None
