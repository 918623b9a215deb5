"""The ``hashCode`` that a Python key has in Java.

The hash code is that of the Java object which Flink would hold for the key:

=========================  ======================================================================
Python, Arrow, key type    Java
=========================  ======================================================================
int                        typed ``int`` (also ``short``, ``byte``; int8 ... int32 columns):
                           Integer; typed ``long`` (int64 columns): Long; untyped Python: Integer
                           if 32 bits hold it, else Long.  The two differ for negative numbers.
bool, str, Decimal         Boolean, String (UTF-16 code units), BigDecimal (unlike scales differ)
float                      Double; typed ``float`` (float32 columns): Float
bytes, bytearray           byte[] by its content (Arrays.hashCode)
datetime.date              java.time.LocalDate.  java.sql.Date hashes local midnight and so
                           depends on the zone that a JVM happens to run in.
datetime.datetime          java.time.Instant.  A naive one is taken as UTC, as Arrow stores it,
                           so that the hash does not depend on the zone of a worker.
tuple, Row, struct         Flink's Tuple: 31 * hash of the fields before + hash of the field
=========================  ======================================================================
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDate_Check, PyDateTime_Check, PyDateTime_CheckExact,
    date_day, date_month, date_year, datetime_day, datetime_hour, datetime_microsecond,
    datetime_minute, datetime_month, datetime_second, datetime_year, import_datetime,
    timedelta_days, timedelta_microseconds, timedelta_seconds,
)
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport (
    INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
)

from flinkish._core.values.civil cimport days_of_civil
from flinkish._core.values.values cimport plain_key

from decimal import Decimal

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char* where) except *  # -1 or 1, as the version has it
    void Py_LeaveRecursiveCall()

import_datetime()

cdef str KEY_TYPES = (
    "int, bool, float, str, bytes, datetime.date, datetime.datetime, decimal.Decimal "
    "and (nested) tuples of these"
)


class MissingKeyError(ValueError):
    """A key, or a field of a tuple key, is null (Flink: KeyGroupRangeAssignment).

    Where it came from a column: ``column`` is its name or position, ``row`` the first row without a key and
    ``count`` how many there are; else None, None and 1.
    """

    def __init__(self, message, column=None, row=None, count=1):
        super().__init__(message, column, row, count)
        self.column = column
        self.row = row
        self.count = count

    def __str__(self):
        return self.args[0]


cdef int raise_null(object key, object root) except -1:
    where = "" if key is root else f" Found {key!r} inside the key {root!r:.200}."
    raise MissingKeyError(
        f"Assigned key must not be null!{where} Filter such rows out first, or give them a key."
    )


cdef int raise_mismatch(object key, object key_type) except -1:
    raise TypeError(
        f"the key {key!r:.200} is of type {type(key).__name__}, but its key type is "
        f"{key_type!r}; convert the key, or correct the type"
    )


# The kind that a key type asks for, KIND_ANY when there is none.
cdef int kind_of_type(object key_type) except -1:
    if key_type is None:
        return KIND_ANY
    if isinstance(key_type, (tuple, list)):
        return KIND_TUPLE
    return kind_of_name(key_type)


cdef int32_t hash_int(object key, int kind, object key_type) except? -1:
    cdef int overflow = 0
    cdef int64_t value = PyLong_AsLongLongAndOverflow(key, &overflow)
    if kind == KIND_FLOAT or kind == KIND_DOUBLE:
        return hash_float(<float> <double> key) if kind == KIND_FLOAT else hash_double(key)
    if kind not in (KIND_ANY, KIND_INT, KIND_LONG, KIND_WIDENED):
        raise_mismatch(key, key_type)
    if overflow:
        raise ValueError(
            f"the key {key!r:.200} does not fit a Java long (64 bits, signed); make it a string"
        )
    if INT32_MIN <= value <= INT32_MAX:
        return hash_long(value) if kind == KIND_LONG else <int32_t> value
    if kind == KIND_INT:
        raise ValueError(
            f"the key {key!r} does not fit the key type {key_type!r} (32 bits, signed); "
            "use 'long'"
        )
    return hash_long(value)


cdef int32_t hash_str(object key) noexcept:
    cdef int64_t size = PyUnicode_GET_LENGTH(key)
    cdef int unit = PyUnicode_KIND(key)
    if unit == 1:
        return hash_latin1(<const uint8_t*> PyUnicode_DATA(key), size)
    if unit == 2:
        return hash_utf16(<const uint16_t*> PyUnicode_DATA(key), size)
    return hash_utf32(<const uint32_t*> PyUnicode_DATA(key), size)


cdef int32_t hash_datetime(object key) except? -1:
    cdef int64_t nanos = 0
    if not PyDateTime_CheckExact(key):
        nanos = getattr(key, "nanosecond", 0)            # pandas.Timestamp
        key = plain_key(key)
    nanos += <int64_t> datetime_microsecond(key) * 1000
    cdef int64_t seconds = 86400 * days_of_civil(
        datetime_year(key), datetime_month(key), datetime_day(key)
    ) + (datetime_hour(key) * 3600 + datetime_minute(key) * 60 + datetime_second(key))
    offset = key.utcoffset()
    if offset is not None:
        seconds -= <int64_t> timedelta_days(offset) * 86400 + timedelta_seconds(offset)
        nanos -= <int64_t> timedelta_microseconds(offset) * 1000
        if nanos < 0:
            nanos += 1000000000
            seconds -= 1
    return hash_instant(seconds, nanos)


cdef int32_t hash_big_decimal(object key) except? -1:
    negative, digits, exponent = key.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"the key {key!r} has no Java hash: BigDecimal knows only finite numbers")
    magnitude = int(Decimal((0, digits, 0)))
    code = 0
    for place in range(magnitude.bit_length() // 32, -1, -1):
        code = 31 * code + ((magnitude >> (32 * place)) & 0xFFFFFFFF)
    code = 31 * (-code if negative else code) - exponent
    return <int32_t> <uint32_t> (code & 0xFFFFFFFF)


@cython.overflowcheck(False)
cdef int32_t hash_fields(tuple key, object key_type, object root) except? -1:
    cdef uint32_t h = 0
    Py_EnterRecursiveCall(b" in a key of tuples within tuples")
    try:
        if key_type is None:
            for field in key:
                h = h * 31u + <uint32_t> hash_key(field, None, root)
        else:
            check_fields(key, key_type)
            for field, field_type in zip(key, key_type):
                h = h * 31u + <uint32_t> hash_key(field, field_type, root)
    finally:
        Py_LeaveRecursiveCall()
    return <int32_t> h


cdef int check_fields(tuple key, object key_type) except -1:
    if len(key) != len(key_type):
        raise ValueError(
            f"the key {key!r:.200} has {len(key)} fields, but its key type {key_type!r} has "
            f"{len(key_type)}"
        )
    return 0


# A key of a type less usual than those that hash_key knows: dates, decimals, and what is not
# exactly a builtin type.
cdef int32_t hash_other(object key, int kind, object key_type, object root) except? -1:
    if key is None or PyDateTime_Check(key) and key != key:      # pandas.NaT
        raise_null(key, root)
    if PyDateTime_Check(key):
        if kind != KIND_ANY and kind != KIND_TIMESTAMP:
            raise_mismatch(key, key_type)
        return hash_datetime(key)
    if PyDate_Check(key):
        if kind != KIND_ANY and kind != KIND_DATE:
            raise_mismatch(key, key_type)
        return hash_date(date_year(key), date_month(key), date_day(key))
    if issubclass(type(key), Decimal):
        if kind != KIND_ANY and kind != KIND_DECIMAL:
            raise_mismatch(key, key_type)
        return hash_big_decimal(plain_key(key))
    plain = plain_key(key)
    if type(plain) is bytes and kind != KIND_ANY and kind != KIND_BYTES \
            or type(plain) is tuple and kind != KIND_ANY and kind != KIND_TUPLE:
        raise_mismatch(key, key_type)
    if plain is not key:
        return hash_key(plain, key_type, root)
    raise TypeError(
        f"a key of type {type(key).__name__} has no Java hash: {key!r:.200}; allowed are {KEY_TYPES}; "
        "make a list a tuple, and of anything else pick the fields that identify it"
    )


# `root` is the whole key of which `key` is a field, for messages.
cdef int32_t hash_key(object key, object key_type, object root) except? -1:
    cdef int kind = kind_of_type(key_type)
    if type(key) is str:
        if kind != KIND_ANY and kind != KIND_STR:
            raise_mismatch(key, key_type)
        return hash_str(key)
    if type(key) is int:
        return hash_int(key, kind, key_type)
    if type(key) is tuple:
        if kind != KIND_ANY and kind != KIND_TUPLE:
            raise_mismatch(key, key_type)
        return hash_fields(key, key_type, root)
    if type(key) is float:
        if kind == KIND_FLOAT:
            return hash_float(<float> <double> key)
        if kind != KIND_ANY and kind != KIND_DOUBLE:
            raise_mismatch(key, key_type)
        return hash_double(key)
    if type(key) is bool:
        if kind != KIND_ANY and kind != KIND_BOOL:
            raise_mismatch(key, key_type)
        return hash_bool(key)
    if type(key) is bytes:
        if kind != KIND_ANY and kind != KIND_BYTES:
            raise_mismatch(key, key_type)
        return hash_bytes(<const uint8_t*> PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    return hash_other(key, kind, key_type, root)


cdef int32_t object_hash(object key, object key_type) except? -1:
    return hash_key(key, key_type, key)
