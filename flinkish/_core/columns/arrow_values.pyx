"""Values of Arrow columns as Python objects, one loop a type."""

import datetime
import decimal

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.datetime cimport date_new, datetime_new, import_datetime
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromLongLong, PyLong_FromUnsignedLongLong
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeASCII, PyUnicode_DecodeUTF8
from flinkish._core.values.civil cimport FIRST_DAY, LAST_DAY, Civil, civil_of_days, floor_div
from libc.stdint cimport (
    INT64_MIN,
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
)
from libc.stdio cimport snprintf
from libc.string cimport memcpy

import_datetime()

cdef object UTC = datetime.timezone.utc
cdef object Decimal = decimal.Decimal

cdef Kind _kind_of(const ArrowType* found) noexcept nogil:
    cdef int step = 3 if found.width == 8 else found.width >> 1   # 1, 2, 4 and 8 bytes
    if found.layout == LAYOUT_NULL:
        return AS_NONE
    if found.layout == LAYOUT_BITS:
        return AS_BOOL
    if found.layout == LAYOUT_INT:
        return <Kind>(AS_INT8 + step)
    if found.layout == LAYOUT_UINT:
        return <Kind>(AS_UINT8 + step)
    if found.layout == LAYOUT_FLOAT:
        return AS_FLOAT if found.width == 4 else AS_DOUBLE
    if found.layout == LAYOUT_OFFSETS_32:
        return AS_STR if found.flag else AS_BYTES
    if found.layout == LAYOUT_OFFSETS_64:
        return AS_LARGE_STR if found.flag else AS_LARGE_BYTES
    if found.layout == LAYOUT_DAYS:
        return AS_DATE
    if found.layout == LAYOUT_EPOCH:
        return AS_TIMESTAMP
    if found.layout == LAYOUT_DECIMAL and found.width == 16:
        return AS_DECIMAL
    return AS_OTHER


cdef void column_describe(Column* column, const ArrowSchema* schema,
                          const ArrowArray* array) noexcept nogil:
    cdef ArrowType found
    arrow_type(schema, &found)
    column.array = array
    column.kind = AS_OTHER if schema.dictionary != NULL else _kind_of(&found)
    column.per_second = found.detail
    column.aware = found.flag
    column.scale = <int>found.detail


cdef inline void _put(list values, int64_t index, object value) noexcept:
    Py_INCREF(value)
    PyList_SET_ITEM(values, index, value)


cdef list _numbers(const ArrowArray* array, int64_t start, int64_t stop, Number kind):
    cdef const uint8_t* valid = column_validity(array)
    cdef list values = PyList_New(stop - start)
    cdef int64_t row
    cdef object value
    for row in range(start, stop):
        if not arrow_is_valid(valid, array.offset + row):
            value = None
        elif Number is float or Number is double:
            value = PyFloat_FromDouble(column_load(array, row, kind))
        elif Number is uint64_t:
            value = PyLong_FromUnsignedLongLong(column_load(array, row, kind))
        else:
            value = PyLong_FromLongLong(column_load(array, row, kind))
        _put(values, row - start, value)
    return values


cdef list _bools(const ArrowArray* array, int64_t start, int64_t stop):
    cdef const uint8_t* valid = column_validity(array)
    cdef const uint8_t* bits = <const uint8_t*>array.buffers[1]
    cdef list values = PyList_New(stop - start)
    cdef int64_t row
    for row in range(start, stop):
        if not arrow_is_valid(valid, array.offset + row):
            _put(values, row - start, None)
        elif arrow_is_valid(bits, array.offset + row):
            _put(values, row - start, True)
        else:
            _put(values, row - start, False)
    return values


cdef list _texts(const ArrowArray* array, int64_t start, int64_t stop, bint text, Offset kind):
    """Strings or bytes, by the offsets' width."""
    cdef const uint8_t* valid = column_validity(array)
    cdef const char* data = <const char*>array.buffers[2]
    cdef list values = PyList_New(stop - start)
    cdef int64_t row, begin, end
    cdef object value
    end = column_load(array, start, kind)
    for row in range(start, stop):
        begin = end
        end = column_load(array, row + 1, kind)
        if not arrow_is_valid(valid, array.offset + row):
            value = None
        elif text:
            value = PyUnicode_DecodeUTF8(data + begin, end - begin, NULL)
        else:
            value = PyBytes_FromStringAndSize(data + begin, end - begin)
        _put(values, row - start, value)
    return values


cdef list _dates(const ArrowArray* array, int64_t start, int64_t stop):
    cdef const uint8_t* valid = column_validity(array)
    cdef list values = PyList_New(stop - start)
    cdef int64_t row, days
    cdef Civil date
    for row in range(start, stop):
        if not arrow_is_valid(valid, array.offset + row):
            _put(values, row - start, None)
            continue
        days = column_load(array, row, <int32_t>0)
        if days < FIRST_DAY or days > LAST_DAY:
            raise ValueError(f"row {row}: day {days} since 1970-01-01 is outside the years 1 to"
                             " 9999 that Python's date holds; filter or cast the column")
        date = civil_of_days(days)
        _put(values, row - start, date_new(date.year, date.month, date.day))
    return values


cdef list _timestamps(const Column* column, int64_t start, int64_t stop):
    cdef const ArrowArray* array = column.array
    cdef const uint8_t* valid = column_validity(array)
    cdef list values = PyList_New(stop - start)
    cdef object zone = UTC if column.aware else None
    cdef int64_t per_second = column.per_second
    cdef int64_t row, value, seconds, days, second, fraction
    cdef int64_t known = INT64_MIN
    cdef Civil date
    for row in range(start, stop):
        if not arrow_is_valid(valid, array.offset + row):
            _put(values, row - start, None)
            continue
        value = column_load(array, row, <int64_t>0)
        seconds = floor_div(value, per_second)
        fraction = value - seconds * per_second
        days = floor_div(seconds, 86400)
        second = seconds - days * 86400
        if days != known:
            if days < FIRST_DAY or days > LAST_DAY:
                raise ValueError(
                    f"row {row}: {value} (1/{per_second} s since the epoch) is outside the years"
                    " 1 to 9999 that Python's datetime holds; filter or cast the column")
            date = civil_of_days(days)
            known = days
        if per_second <= 1000000:
            fraction *= 1000000 // per_second
        elif fraction % 1000 == 0:
            fraction //= 1000
        else:
            raise ValueError(
                f"row {row}: {value} ns since the epoch is not a whole number of microseconds,"
                " which is all that Python's datetime holds; cast the column to timestamp('us')")
        _put(values, row - start, datetime_new(
            date.year, date.month, date.day,
            <int>(second // 3600), <int>(second // 60 % 60), <int>(second % 60),
            <int>fraction, zone))
    return values


cdef list _decimals(const Column* column, int64_t start, int64_t stop):
    """Decimals with exactly the column's scale: 1.50 in decimal(9, 2) is Decimal('1.50')."""
    cdef const ArrowArray* array = column.array
    cdef const uint8_t* valid = column_validity(array)
    cdef list values = PyList_New(stop - start)
    cdef int64_t row, low, high
    cdef char text[40]
    cdef int size
    cdef str digits
    for row in range(start, stop):
        if not arrow_is_valid(valid, array.offset + row):
            _put(values, row - start, None)
            continue
        memcpy(&low, <const char*>array.buffers[1] + (array.offset + row) * 16, 8)
        memcpy(&high, <const char*>array.buffers[1] + (array.offset + row) * 16 + 8, 8)
        if high == (low >> 63):      # the value is a sign-extended 64-bit integer
            size = snprintf(text, sizeof(text), "%lldE%d", <long long>low, -column.scale)
            digits = PyUnicode_DecodeASCII(text, size, NULL)
        else:
            digits = f"{(<object>high << 64) + <uint64_t>low}E{-column.scale}"
        _put(values, row - start, Decimal(digits))
    return values


cdef list column_values(const Column* column, int64_t start, int64_t stop):
    cdef const ArrowArray* array = column.array
    cdef Kind kind = column.kind
    if stop <= start:
        return []
    if kind == AS_INT64:
        return _numbers(array, start, stop, <int64_t>0)
    if kind == AS_INT32:
        return _numbers(array, start, stop, <int32_t>0)
    if kind == AS_DOUBLE:
        return _numbers(array, start, stop, <double>0)
    if kind == AS_STR:
        return _texts(array, start, stop, True, <int32_t>0)
    if kind == AS_TIMESTAMP:
        return _timestamps(column, start, stop)
    if kind == AS_BOOL:
        return _bools(array, start, stop)
    if kind == AS_FLOAT:
        return _numbers(array, start, stop, <float>0)
    if kind == AS_BYTES:
        return _texts(array, start, stop, False, <int32_t>0)
    if kind == AS_DATE:
        return _dates(array, start, stop)
    if kind == AS_DECIMAL:
        return _decimals(column, start, stop)
    if kind == AS_LARGE_STR:
        return _texts(array, start, stop, True, <int64_t>0)
    if kind == AS_LARGE_BYTES:
        return _texts(array, start, stop, False, <int64_t>0)
    if kind == AS_INT16:
        return _numbers(array, start, stop, <int16_t>0)
    if kind == AS_INT8:
        return _numbers(array, start, stop, <int8_t>0)
    if kind == AS_UINT8:
        return _numbers(array, start, stop, <uint8_t>0)
    if kind == AS_UINT16:
        return _numbers(array, start, stop, <uint16_t>0)
    if kind == AS_UINT32:
        return _numbers(array, start, stop, <uint32_t>0)
    if kind == AS_UINT64:
        return _numbers(array, start, stop, <uint64_t>0)
    return [None] * (stop - start)
