"""Elements of windows as bytes; described in ``windows/elements/values.pxd``."""

import datetime

from cpython.bytes cimport (
    PyBytes_AS_STRING,
    PyBytes_CheckExact,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
)
from cpython.datetime cimport (
    PyDateTime_CheckExact,
    datetime_day,
    datetime_fold,
    datetime_hour,
    datetime_microsecond,
    datetime_minute,
    datetime_month,
    datetime_new,
    datetime_second,
    datetime_tzinfo,
    datetime_year,
    import_datetime,
)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from flinkish._core.values.civil cimport Civil, civil_of_days, days_of_civil, floor_div
from flinkish._core.values.row cimport Row, row_names, row_of
from flinkish._core.values.values cimport (
    PIECE_HEAD, TAG_BOOL, TAG_BYTES, TAG_DATETIME, TAG_FLOAT, TAG_INSTANT, TAG_INT, TAG_NONE,
    TAG_STR, TAG_TUPLE, decode_value, encode_value, put_piece_head,
)

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    int Py_EnterRecursiveCall(const char* where) except *  # -1 or 1, as the version has it
    void Py_LeaveRecursiveCall()

import_datetime()

cdef object UTC = datetime.timezone.utc
cdef int64_t DAY = 86_400_000_000       # in microseconds
cdef size_t LARGEST = 0xFFFFFFF0


cdef class WindowValues:
    """Writes and reads values; owns a buffer.

    `names` are those of rows that are written by position: the reader must have the same.
    """

    def __init__(self, names=None):
        self.names = None if names is None else row_names(names)

    def __dealloc__(self):
        free(self.buffer)

    cdef object encode(self, object value, Encoded* out):
        cdef Row row
        cdef uint8_t whole
        self.size = 0
        if PyTuple_CheckExact(value):
            whole = A_TUPLE
            self.put(&whole, 1)
            self.put_fields(value)
        elif self.names is not None and type(value) is Row and (<Row>value)._kind == 0 \
                and (<Row>value)._names == self.names:
            row = value
            whole = A_ROW
            self.put(&whole, 1)
            self.put_fields(row._values)
        elif PyBytes_CheckExact(value):
            whole = RAW_BYTES
            self.put(&whole, 1)
            self.put(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        elif not (PyList_CheckExact(value) and self.put_list(value)):
            return encode_value(value, out)
        if self.size > LARGEST:
            raise OverflowError(f"a value of {self.size} bytes is too large for a window: at most 4 GiB")
        out.tag = TAG_BYTES
        out.size = <uint32_t>self.size
        out.word = 0
        out.data = self.buffer
        if self.size <= 8:
            memcpy(&out.word, self.buffer, self.size)
            out.data = <const char*>&out.word
        return None

    cdef object decode(self, uint8_t tag, uint32_t size, const char* data):
        if tag != TAG_BYTES:
            return decode_value(tag, size, data)
        if size != 0 and data[0] == A_TUPLE:
            return read_fields(size - 1, data + 1)
        if size != 0 and data[0] == A_ROW and self.names is not None:
            return row_of(self.names, read_fields(size - 1, data + 1))
        if size != 0 and data[0] == A_LIST:
            return list(read_fields(size - 1, data + 1))
        if size != 0 and data[0] == RAW_BYTES:
            return PyBytes_FromStringAndSize(data + 1, size - 1)
        raise ValueError("an element of a window does not begin as one; it is damaged")

    # --- writing

    cdef int put(self, const void* data, size_t size) except -1:
        cdef char* larger
        if self.room - self.size < size:
            larger = <char*>realloc(self.buffer, (self.size + size) * 2 + 64)
            if larger == NULL:
                raise MemoryError()
            self.buffer = larger
            self.room = (self.size + size) * 2 + 64
        memcpy(self.buffer + self.size, data, size)
        self.size += size
        return 0

    cdef int put_fields(self, object fields) except -1:
        if type(fields) is list:
            for value in <list>fields:
                self.put_field(value)
        else:
            for value in <tuple>fields:
                self.put_field(value)
        return 0

    cdef int put_field(self, object value) except -1:
        cdef char[PIECE_HEAD] small
        cdef Encoded other
        if self.put_common(value):
            return 0
        owner = encode_value(value, &other)
        put_piece_head(small, other.tag, other.size)
        self.put(small, PIECE_HEAD)
        return self.put(other.data, other.size)

    cdef bint put_list(self, list value) except -1:
        cdef uint8_t whole = A_LIST
        self.put(&whole, 1)
        for element in value:
            if not self.put_common(element):
                return False
        return True

    cdef bint put_common(self, object value) except -1:
        cdef char[9] small
        cdef int64_t number
        cdef double real
        cdef int overflow = 0
        cdef Py_ssize_t length
        cdef uint32_t short_length
        cdef const char* text
        if value is None:
            small[0] = TAG_NONE
            self.put(small, 1)
        elif PyLong_CheckExact(value):
            number = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow:
                return False
            small[0] = TAG_INT
            memcpy(small + 1, &number, 8)
            self.put(small, 9)
        elif PyFloat_CheckExact(value):
            real = PyFloat_AS_DOUBLE(value)
            small[0] = TAG_FLOAT
            memcpy(small + 1, &real, 8)
            self.put(small, 9)
        elif PyUnicode_CheckExact(value):
            try:
                text = PyUnicode_AsUTF8AndSize(value, &length)
            except UnicodeEncodeError:
                return False  # half of a pair, which pickle takes
            if <size_t>length > LARGEST:
                raise OverflowError(f"a string of {length} bytes is too large for a window")
            short_length = <uint32_t>length
            put_piece_head(small, TAG_STR, short_length)
            self.put(small, PIECE_HEAD)
            self.put(text, length)
        elif value is True or value is False:
            small[0] = TAG_BOOL
            small[1] = 1 if value is True else 0
            self.put(small, 2)
        elif PyDateTime_CheckExact(value) and datetime_fold(value) == 0 \
                and (datetime_tzinfo(value) is UTC or datetime_tzinfo(value) is None):
            small[0] = TAG_DATETIME if datetime_tzinfo(value) is None else TAG_INSTANT
            number = micros_of(value)
            memcpy(small + 1, &number, 8)
            self.put(small, 9)
        else:
            return PyTuple_CheckExact(value) and self.put_tuple(value)
        return True

    cdef bint put_tuple(self, tuple value) except -1:
        cdef size_t begin = self.size, length
        cdef char[5] small
        cdef uint32_t short_length
        small[0] = TAG_TUPLE
        self.put(small, 5)
        Py_EnterRecursiveCall(b" in a tuple of tuples")
        try:
            for element in value:
                if not self.put_common(element):
                    self.size = begin
                    return False
        finally:
            Py_LeaveRecursiveCall()
        length = self.size - begin - 5
        if length > LARGEST:
            raise OverflowError(f"a tuple of {length} bytes is too large for a window")
        short_length = <uint32_t>length
        memcpy(self.buffer + begin + 1, &short_length, 4)
        return True


cdef tuple read_fields(uint32_t size, const char* data):
    cdef uint32_t at = 0, count = 0, length
    cdef tuple found
    cdef object value
    while at < size:
        at += field_size(size - at, data + at)
        count += 1
    found = PyTuple_New(count)
    at = count = 0
    while at < size:
        length = field_size(size - at, data + at)
        value = read_field(length, data + at)
        Py_INCREF(value)
        PyTuple_SET_ITEM(found, count, value)
        count += 1
        at += length
    return found


cdef uint32_t field_size(uint32_t left, const char* data) except 0:
    """Bytes of the field at `data`, of which `left` bytes are left; ValueError past them."""
    cdef uint8_t tag = <uint8_t>data[0]
    cdef uint64_t size = 1
    cdef uint32_t length
    if tag == TAG_INT or tag == TAG_FLOAT or tag == TAG_INSTANT or tag == TAG_DATETIME:
        size = 9
    elif tag == TAG_BOOL:
        size = 2
    elif tag != TAG_NONE:
        size = 5
        if left >= 5:
            memcpy(&length, data + 1, 4)
            size += length
    if size > left:
        raise ValueError("an element of a window is cut short; it is damaged")
    return <uint32_t>size


cdef object read_field(uint32_t size, const char* data):
    cdef uint8_t tag = <uint8_t>data[0]
    cdef int64_t number
    cdef double real
    if tag == TAG_NONE:
        return None
    if tag == TAG_INT:
        memcpy(&number, data + 1, 8)
        return number
    if tag == TAG_FLOAT:
        memcpy(&real, data + 1, 8)
        return real
    if tag == TAG_STR:
        return PyUnicode_DecodeUTF8(data + 5, size - 5, "strict")
    if tag == TAG_BOOL:
        return data[1] != 0
    if tag == TAG_INSTANT or tag == TAG_DATETIME:
        memcpy(&number, data + 1, 8)
        return moment(number, UTC if tag == TAG_INSTANT else None)
    if tag == TAG_TUPLE:
        Py_EnterRecursiveCall(b" in a tuple of tuples")
        try:
            return read_fields(size - 5, data + 5)
        finally:
            Py_LeaveRecursiveCall()
    return decode_value(tag, size - 5, data + 5)


cdef int64_t micros_of(object value) noexcept:
    """The wall-clock time of a datetime, as microseconds since 1970."""
    cdef int64_t days = days_of_civil(
        datetime_year(value), datetime_month(value), datetime_day(value))
    return ((days * 86400 + datetime_hour(value) * 3600 + datetime_minute(value) * 60
             + datetime_second(value)) * 1000000 + datetime_microsecond(value))


cdef object moment(int64_t micros, object zone):
    cdef int64_t days = floor_div(micros, DAY), rest = micros - days * DAY
    cdef Civil date
    if not -719162 <= days <= 2932896:
        raise ValueError(f"a time of {micros} microseconds is none that a datetime holds")
    date = civil_of_days(days)
    return datetime_new(date.year, date.month, date.day, <int>(rest // 3_600_000_000),
                        <int>(rest // 60_000_000 % 60), <int>(rest // 1_000_000 % 60),
                        <int>(rest % 1_000_000), zone)
