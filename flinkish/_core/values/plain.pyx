"""The plain value of a key, whatever its class; described in ``plain.pxd``."""

from decimal import Decimal

import numpy as np

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_GET_SIZE
from cpython.bytes cimport (
    PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE,
)
from cpython.datetime cimport (
    PyDate_Check, PyDate_CheckExact, PyDateTime_Check, PyDateTime_CheckExact, date_day, date_month,
    date_new, date_year, datetime_day, datetime_fold, datetime_hour, datetime_microsecond,
    datetime_minute, datetime_month, datetime_new, datetime_second, datetime_tzinfo, datetime_year,
    import_datetime,
)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_FromDouble
from cpython.long cimport PyLong_Check
from cpython.memoryview cimport PyMemoryView_Check
from cpython.number cimport PyNumber_Index
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_SIZE, PyTuple_GetSlice
from cpython.unicode cimport PyUnicode_Check

cdef extern from "Python.h":
    object PyUnicode_FromObject(object text)  # an exact str of the characters

import_datetime()


cdef object plain_key(object key):
    kind = type(key)
    if kind is bool or kind is float or kind is bytes:
        return key
    if PyUnicode_Check(key):
        return PyUnicode_FromObject(key)
    if PyLong_Check(key):
        return PyNumber_Index(key)
    if PyFloat_Check(key):
        return PyFloat_FromDouble(PyFloat_AS_DOUBLE(key))
    if PyBytes_Check(key):
        return PyBytes_FromStringAndSize(PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    if PyTuple_Check(key):
        return PyTuple_GetSlice(key, 0, PyTuple_GET_SIZE(key))
    if PyDateTime_Check(key):
        return _plain_datetime(key)
    if PyDate_Check(key):
        if PyDate_CheckExact(key):
            return key
        return date_new(date_year(key), date_month(key), date_day(key))
    if issubclass(kind, Decimal):
        return Decimal(key)
    if PyByteArray_Check(key):
        return PyBytes_FromStringAndSize(PyByteArray_AS_STRING(key), PyByteArray_GET_SIZE(key))
    if PyMemoryView_Check(key):
        return bytes(key)
    if issubclass(kind, np.generic):
        return key.item() if key.dtype.kind in "biuf" and key.dtype.itemsize <= 8 else key
    if _is_row(kind):
        return tuple(key)
    if kind.__hash__ is not None and hasattr(kind, "__index__"):
        return PyNumber_Index(key)
    return key


cdef object _plain_datetime(object key):
    if PyDateTime_CheckExact(key):
        return key
    return datetime_new(
        datetime_year(key), datetime_month(key), datetime_day(key), datetime_hour(key),
        datetime_minute(key), datetime_second(key), datetime_microsecond(key),
        datetime_tzinfo(key), datetime_fold(key),
    )


cdef bint _is_row(object kind) except -1:
    """Whether instances are immutable sequences of fields, whatever their class."""
    return (
        kind.__hash__ is not None
        and hasattr(kind, "__getitem__")
        and hasattr(kind, "__iter__")
        and hasattr(kind, "__len__")
        and not hasattr(kind, "keys")
    )
