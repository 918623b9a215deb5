"""Python values as Arrow arrays, one loop a type."""

import datetime

import numpy
from flinkish._core.values.arrow import pyarrow

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDate_Check,
    PyDateTime_Check,
    PyDateTime_CheckExact,
    date_day,
    date_month,
    date_year,
    datetime_day,
    datetime_hour,
    datetime_microsecond,
    datetime_minute,
    datetime_month,
    datetime_second,
    datetime_tzinfo,
    datetime_year,
    import_datetime,
)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_Check
from flinkish._core.values.civil cimport days_of_civil
from libc.float cimport FLT_MAX
from libc.math cimport fabs, isfinite
from libc.stdint cimport (
    INT32_MAX,
    INT64_MAX,
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uintptr_t,
)
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

ctypedef fused Integer:
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused Real:
    float
    double

ctypedef fused Offset:
    int32_t
    int64_t

import_datetime()

cdef object UTC = datetime.timezone.utc
cdef object MICROSECOND = datetime.timedelta(microseconds=1)
cdef object Boolean = (bool, numpy.bool_)
cdef object NumpyNumber = (numpy.floating, numpy.integer)


class Refusal(Exception):
    """A value that does not fit its column: `index`, `column`, `found` and `needed`."""

    def __init__(self, index: int, column: str | None, found: str, needed: str) -> None:
        super().__init__(index, column, found, needed)
        self.index = index
        self.column = column
        self.found = found
        self.needed = needed


cdef str shown(object value):
    if value is None:
        return "None"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"


@cython.final
cdef class Target:
    """The form that the values of a column have to take."""

    def __init__(self, column: str, type: object, nullable: bool, zone: object) -> None:
        self.column = column
        self.type = type
        self.nullable = nullable
        self.zone = zone

    cdef int refuse(self, Py_ssize_t index, object value, str needed=None) except -1:
        if needed is None:
            needed = "a value" if self.nullable else "a value that is not None"
        raise Refusal(index, self.column, shown(value), f"{needed} for {self.type}")

    cdef int check_null(self, Py_ssize_t index, list parents) except -1:
        if not self.nullable and (parents is None or parents[index] is not None):
            self.refuse(index, None)
        return 0


cdef Target target_inside(Target target, object field, str name):
    return Target(f"{target.column}.{name}", field.type, field.nullable, target.zone)


# ---------------------------------------------------------------- the arrays under construction


@cython.final
cdef class _Sink:
    """Buffers of one array: `length` values of `width` bytes, and validity bits.

    Ownership: the buffers are pyarrow's; their addresses are good while this object lives.
    """

    cdef Py_ssize_t length
    cdef Py_ssize_t nulls
    cdef object values          # pyarrow.Buffer of the fixed-width part
    cdef object validity        # pyarrow.Buffer of bits, all set at first
    cdef char* out
    cdef uint8_t* bits

    def __cinit__(self, Py_ssize_t length, Py_ssize_t size):
        self.length = length
        self.nulls = 0
        self.values = pyarrow.allocate_buffer(size)
        self.validity = None
        self.out = <char*><uintptr_t>self.values.address

    cdef int set_null(self, Py_ssize_t index) except -1:
        if self.validity is None:
            self.validity = pyarrow.allocate_buffer((self.length + 7) // 8)
            self.bits = <uint8_t*><uintptr_t>self.validity.address
            memset(self.bits, 255, (self.length + 7) // 8)
        self.nulls += 1
        self.bits[index >> 3] &= <uint8_t>~(1 << (index & 7))
        return 0

    cdef object array(self, object kind, object data=None):
        buffers = [self.validity, self.values]
        if data is not None:
            buffers.append(data)
        return pyarrow.Array.from_buffers(kind, self.length, buffers, self.nulls)


cdef int64_t _int_of(Target target, Py_ssize_t index, object value, str needed) except? -1:
    """An int64 of whatever counts as an integer; not a bool."""
    cdef int overflow = 0
    cdef int64_t number
    if not PyLong_CheckExact(value):
        if isinstance(value, Boolean) or not hasattr(type(value), "__index__"):
            target.refuse(index, value, needed)
        value = PyNumber_Index(value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        target.refuse(index, value, f"{needed} of 64 bits")
    return number


cdef object _ints(Target target, list values, list parents, Integer kind, int64_t lowest,
                  int64_t highest):
    cdef _Sink sink = _Sink(len(values), len(values) * <Py_ssize_t>sizeof(Integer))
    cdef Integer* out = <Integer*>sink.out
    cdef Py_ssize_t index
    cdef int64_t number
    cdef object value
    for index in range(len(values)):
        value = values[index]
        if value is None:
            target.check_null(index, parents)
            sink.set_null(index)
            number = 0
        else:
            number = _int_of(target, index, value, "an int")
            if number < lowest or number > highest:
                target.refuse(index, value, f"an int from {lowest} to {highest}")
        out[index] = <Integer>number
    return sink.array(target.type)


cdef object _floats(Target target, list values, list parents, Real kind):
    cdef _Sink sink = _Sink(len(values), len(values) * <Py_ssize_t>sizeof(Real))
    cdef Real* out = <Real*>sink.out
    cdef Py_ssize_t index
    cdef double number = 0
    cdef object value
    for index in range(len(values)):
        value = values[index]
        if PyFloat_Check(value):
            number = PyFloat_AS_DOUBLE(value)
        elif value is None:
            target.check_null(index, parents)
            sink.set_null(index)
            number = 0
        elif isinstance(value, Boolean) or not isinstance(value, (int, float, *NumpyNumber)):
            target.refuse(index, value, "a float or int")
        else:
            try:
                number = float(PyNumber_Index(value) if PyLong_Check(value) else value)
            except OverflowError:
                target.refuse(index, value, "a number within the range")
        if Real is float:
            if fabs(number) > FLT_MAX and isfinite(number):
                target.refuse(index, value, "a number within the range")
        out[index] = <Real>number
    return sink.array(target.type)


cdef object _bools(Target target, list values, list parents):
    cdef Py_ssize_t size = (len(values) + 7) // 8
    cdef _Sink sink = _Sink(len(values), size)
    cdef Py_ssize_t index
    cdef object value
    memset(sink.out, 0, size)
    for index in range(len(values)):
        value = values[index]
        if value is None:
            target.check_null(index, parents)
            sink.set_null(index)
        elif value is not True and value is not False and not isinstance(value, numpy.bool_):
            target.refuse(index, value, "a bool")
        elif value:
            sink.out[index >> 3] |= <char>(1 << (index & 7))
    return sink.array(target.type)


cdef object _texts(Target target, list values, list parents, bint text, Offset kind):
    """Strings or bytes.  First the offsets, then the bytes to where these say."""
    cdef _Sink sink = _Sink(len(values), (len(values) + 1) * <Py_ssize_t>sizeof(Offset))
    cdef Offset* offsets = <Offset*>sink.out
    cdef Py_ssize_t index
    cdef Py_ssize_t size = 0
    cdef int64_t total = 0
    cdef const char* start
    cdef char* out
    cdef object value
    for index in range(len(values)):
        offsets[index] = <Offset>total
        value = values[index]
        if value is None:
            target.check_null(index, parents)
            sink.set_null(index)
            continue
        if text:
            if not PyUnicode_Check(value):
                target.refuse(index, value, "a str")
            try:
                PyUnicode_AsUTF8AndSize(value, &size)
            except UnicodeEncodeError:
                target.refuse(index, value, "a str of whole characters (no lone surrogates)")
        else:
            if not PyBytes_Check(value):
                if not isinstance(value, (bytearray, memoryview)):
                    target.refuse(index, value, "bytes")
                values[index] = value = bytes(value)
            size = PyBytes_GET_SIZE(value)
        total += size
        if Offset is int32_t:
            if total > INT32_MAX:
                raise ValueError(
                    f"column {target.column!r}: the first {index + 1} of {len(values)} values make"
                    f" more than 2 GiB, which {target.type} cannot hold; hand over fewer rows")
    offsets[len(values)] = <Offset>total
    data = pyarrow.allocate_buffer(total)
    out = <char*><uintptr_t>data.address
    for value in values:
        if value is None:
            continue
        if text:
            start = PyUnicode_AsUTF8AndSize(value, &size)
        else:
            start = PyBytes_AS_STRING(value)
            size = PyBytes_GET_SIZE(value)
        memcpy(out, start, size)
        out += size
    return sink.array(target.type, data)


cdef object _dates(Target target, list values, list parents):
    cdef _Sink sink = _Sink(len(values), len(values) * 4)
    cdef Py_ssize_t index
    cdef object value
    for index in range(len(values)):
        value = values[index]
        if value is None:
            target.check_null(index, parents)
            sink.set_null(index)
            (<int32_t*>sink.out)[index] = 0
            continue
        if not PyDate_Check(value) or PyDateTime_Check(value):
            target.refuse(index, value, "a datetime.date without time")
        (<int32_t*>sink.out)[index] = <int32_t>days_of_civil(
            date_year(value), date_month(value), date_day(value))
    return sink.array(target.type)


cdef int64_t _wall_microseconds(object value) noexcept:
    """The wall-clock time of a datetime, as microseconds since 1970."""
    cdef int64_t days = days_of_civil(
        datetime_year(value), datetime_month(value), datetime_day(value))
    return ((days * 86400 + datetime_hour(value) * 3600 + datetime_minute(value) * 60
             + datetime_second(value)) * 1000000 + datetime_microsecond(value))


cdef int64_t _microseconds(Target target, Py_ssize_t index, object value, bint aware) except? -1:
    """Microseconds of a datetime: of its instant, or where the column has no zone on the wall."""
    cdef int64_t wall = _wall_microseconds(value)
    cdef object zone = datetime_tzinfo(value)
    if not PyDateTime_CheckExact(value) and getattr(value, "nanosecond", 0):
        target.refuse(index, value, "whole microseconds")
    if not aware:
        if zone is not None:
            target.refuse(index, value, "a datetime without time zone, or an int of milliseconds")
        return wall
    if zone is None:
        if target.zone is None:
            return wall
        value = value.replace(tzinfo=target.zone)
    elif zone is UTC:
        return wall
    offset = value.utcoffset()
    return wall if offset is None else wall - <int64_t>(offset // MICROSECOND)


cdef object _timestamps(Target target, list values, list parents):
    cdef _Sink sink = _Sink(len(values), len(values) * 8)
    cdef int64_t per_second = {"s": 1, "ms": 1000, "us": 1000000, "ns": 1000000000}[
        target.type.unit]
    cdef bint aware = target.type.tz is not None
    cdef int64_t number, given, factor
    cdef Py_ssize_t index
    cdef object value
    for index in range(len(values)):
        value = values[index]
        if value is None or (PyDateTime_Check(value) and value != value):      # NaT of pandas
            target.check_null(index, parents)
            sink.set_null(index)
            number = 0
        else:
            if PyDateTime_Check(value):
                number = _microseconds(target, index, value, aware)
                given = 1000000
            else:
                number = _int_of(target, index, value, "a datetime, or an int of milliseconds")
                given = 1000
            if per_second >= given:
                factor = per_second // given
                if number > INT64_MAX // factor or number < -(INT64_MAX // factor):
                    target.refuse(index, value, "a time within the range")
                number *= factor
            else:
                factor = given // per_second
                if number % factor != 0:
                    target.refuse(index, value, f"a whole number of {target.type.unit}")
                number //= factor
        (<int64_t*>sink.out)[index] = number
    return sink.array(target.type)


cdef object _by_pyarrow(Target target, list values, list parents):
    cdef Py_ssize_t index
    cdef bint number = pyarrow.types.is_integer(target.type) or pyarrow.types.is_floating(
        target.type) or pyarrow.types.is_decimal(target.type)
    for index in range(len(values)):
        if values[index] is None:
            target.check_null(index, parents)
        elif number and isinstance(values[index], Boolean):
            target.refuse(index, values[index], "a number")
    try:
        return pyarrow.array(values, type=target.type)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        for index in range(len(values)):
            try:
                pyarrow.array([values[index]], type=target.type)
            except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
                target.refuse(index, values[index], f"({error}) a value")
        raise


cdef object build_array(Target target, list values, list parents):
    cdef object kind = target.type
    types = pyarrow.types
    if types.is_int64(kind):
        return _ints(target, values, parents, <int64_t>0, -INT64_MAX - 1, INT64_MAX)
    if types.is_int32(kind):
        return _ints(target, values, parents, <int32_t>0, -INT32_MAX - 1, INT32_MAX)
    if types.is_float64(kind):
        return _floats(target, values, parents, <double>0)
    if types.is_string(kind):
        return _texts(target, values, parents, True, <int32_t>0)
    if types.is_timestamp(kind):
        return _timestamps(target, values, parents)
    if types.is_boolean(kind):
        return _bools(target, values, parents)
    if types.is_date32(kind):
        return _dates(target, values, parents)
    if types.is_binary(kind):
        return _texts(target, values, parents, False, <int32_t>0)
    if types.is_float32(kind):
        return _floats(target, values, parents, <float>0)
    if types.is_int16(kind):
        return _ints(target, values, parents, <int16_t>0, -32768, 32767)
    if types.is_int8(kind):
        return _ints(target, values, parents, <int8_t>0, -128, 127)
    if types.is_large_string(kind):
        return _texts(target, values, parents, True, <int64_t>0)
    if types.is_large_binary(kind):
        return _texts(target, values, parents, False, <int64_t>0)
    return _by_pyarrow(target, values, parents)
