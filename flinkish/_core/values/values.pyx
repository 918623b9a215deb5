"""Python values as tagged bytes.

Canonical for everything that may be a key: None-free scalars and tuples of them.  Anything
else is pickled: states come from and go to checkpoints that Spark itself trusts with
pickled functions.
"""

import decimal
import pickle
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from cpython.bytes cimport (
    PyBytes_AS_STRING,
    PyBytes_CheckExact,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
)
from cpython.datetime cimport PyDate_Check, PyDateTime_Check, import_datetime
from cpython.exc cimport PyErr_Clear
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_DecodeUTF8
from libc.errno cimport EBADMSG
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport mix64, segment_raise

include "plain.pyx"

cdef extern from "Python.h":
    const char* utf8_of "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t* size)  # NULL: an error
    int Py_EnterRecursiveCall(const char* where) except *  # -1 or 1, as the version has it
    void Py_LeaveRecursiveCall()

cdef object _dumps = pickle.dumps  # or what `use_pickler` was given
cdef object _loads = pickle.loads
cdef object _EPOCH = datetime(1970, 1, 1)
cdef object _EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)
cdef object _MICROSECOND = timedelta(microseconds=1)
cdef object _date = date
cdef object _Decimal = Decimal
cdef object _timedelta = timedelta
# Takes zeros off and rounds nothing.
cdef object _EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN
)

cdef Py_ssize_t LARGEST = 0xFFFFFFF0

import_datetime()


def use_pickler(object dumps not None):
    """Pickle values with ``dumps(value, protocol)`` from now on."""
    global _dumps
    _dumps = dumps


cdef inline object _put_int(int64_t value, uint8_t tag, Encoded* out):
    out.tag = tag
    out.size = 8
    out.word = <uint64_t>value
    out.data = <const char*>&out.word
    return None


cdef object _put_bytes(object owner, const char* data, Py_ssize_t size, uint8_t tag, Encoded* out):
    if size > LARGEST:
        raise OverflowError(f"a value of {size} bytes is too large for a state: at most 4 GiB")
    out.tag = tag
    out.size = <uint32_t>size
    out.word = 0
    if size <= 8:
        memcpy(&out.word, data, size)
        out.data = <const char*>&out.word
    else:
        out.data = data
    return owner


cdef object _put_object(bytes data, uint8_t tag, Encoded* out):
    return _put_bytes(data, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), tag, out)


cdef object encode_value(object value, Encoded* out):
    cdef Py_ssize_t size
    cdef const char* text
    if value is None:
        return _put_bytes(None, b"", 0, TAG_NONE, out)
    if PyUnicode_CheckExact(value):
        text = utf8_of(value, &size)
        if text != NULL:
            return _put_bytes(value, text, size, TAG_STR, out)
        PyErr_Clear()  # half of a surrogate pair, which pickle takes
    elif PyLong_CheckExact(value) or PyFloat_CheckExact(value) or PyBytes_CheckExact(value) \
            or value is True or value is False:
        return encode_key(value, out)
    return _put_object(_dumps(value, 5), TAG_PICKLE, out)


cdef object encode_key(object key, Encoded* out):
    cdef int overflow = 0
    cdef int64_t number
    cdef double real
    cdef Py_ssize_t size
    cdef const char* text
    if PyUnicode_CheckExact(key):
        text = utf8_of(key, &size)
        if text == NULL:
            refuse_text(key)
        return _put_bytes(key, text, size, TAG_STR, out)
    if PyLong_CheckExact(key):
        number = PyLong_AsLongLongAndOverflow(key, &overflow)
        if overflow == 0:
            return _put_int(number, TAG_INT, out)
        return _put_object(key.to_bytes(key.bit_length() // 8 + 1, "little", signed=True), TAG_BIGINT, out)
    if PyFloat_CheckExact(key):
        real = PyFloat_AS_DOUBLE(key)
        memcpy(&number, &real, 8)
        if real != real:
            number = <int64_t>0x7FF8000000000000  # there are many NaNs, but one key
        return _put_int(number, TAG_FLOAT, out)
    if key is True or key is False:
        return _put_bytes(None, b"\1" if key else b"\0", 1, TAG_BOOL, out)
    if PyBytes_CheckExact(key):
        return _put_object(key, TAG_BYTES, out)
    if PyTuple_CheckExact(key):
        return _put_object(_encode_elements(key), TAG_TUPLE, out)
    return _encode_rare_key(key, out)


cdef int refuse_text(str key) except -1:
    """Raise that a key has no UTF-8, and what to do."""
    PyErr_Clear()
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise UnicodeEncodeError(
            error.encoding, error.object, error.start, error.end,
            "a key is made of whole characters, and half of a surrogate pair is none; replace it, "
            "or make the key bytes"
        ) from None


cdef object _encode_rare_key(object key, Encoded* out):
    """Dates, decimals, and what is not exactly a builtin type."""
    if PyDateTime_Check(key):
        return _encode_datetime(key, out)
    if PyDate_Check(key):
        return _put_int(plain_key(key).toordinal(), TAG_DATE, out)
    if issubclass(type(key), _Decimal):
        key = plain_key(key)
        return _put_object(str(key.normalize(_EXACT)).encode() if key else b"0", TAG_DECIMAL, out)
    plain = plain_key(key)
    if plain is not key:
        return encode_key(plain, out)
    if key is None:
        raise TypeError("a key must not be None; filter such elements or give them a key of their own")
    raise TypeError(
        f"a key of type {type(key).__name__} has no canonical form; use bool, int, float, str, "
        "bytes, date, datetime, Decimal or a tuple of them"
    )


cdef object _encode_datetime(object key, Encoded* out):
    if key != key:
        raise TypeError("a key must not be NaT; filter such elements or give them a key of their own")
    if getattr(key, "nanosecond", 0):
        raise ValueError(
            f"the key {key!r} has nanoseconds, and a key holds whole microseconds; round it, as with "
            "key.floor('us'), or use key.value"
        )
    key = plain_key(key)
    if key.tzinfo is None:
        return _put_int((key - _EPOCH) // _MICROSECOND, TAG_DATETIME, out)
    return _put_int((key - _EPOCH_UTC) // _MICROSECOND, TAG_INSTANT, out)


cdef bytes _encode_elements(tuple elements):
    cdef Encoded out
    cdef object owner
    cdef bytes part
    cdef list parts = []
    Py_EnterRecursiveCall(b" in a key of tuples within tuples")
    try:
        for element in elements:
            owner = encode_key(element, &out)
            part = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>PIECE_HEAD + out.size)
            put_piece(PyBytes_AS_STRING(part), out.tag, out.size, out.data)
            parts.append(part)
    finally:
        Py_LeaveRecursiveCall()
    return b"".join(parts)


cdef object encode_scoped(object key, object namespace, Encoded* out):
    return _put_object(_encode_elements((key, namespace)), TAG_SCOPED, out)


cdef object decode_value(uint8_t tag, uint32_t size, const char* data):
    cdef int64_t number = 0
    cdef double real
    if not value_fits(tag, size):
        raise ValueError(
            f"a stored value has the tag {tag} and {size} bytes, which no value has; it is damaged, "
            "or was written by a newer flinkish"
        )
    if data == NULL:
        segment_raise(EBADMSG)
    if tag == TAG_INT:
        memcpy(&number, data, 8)
        return number
    if tag == TAG_STR:
        return PyUnicode_DecodeUTF8(data, size, "strict")
    if tag == TAG_FLOAT:
        memcpy(&real, data, 8)
        return real
    if tag == TAG_NONE or tag == TAG_EMPTY:
        return None
    if tag == TAG_BOOL:
        return data[0] != 0
    if tag == TAG_BYTES:
        return PyBytes_FromStringAndSize(data, size)
    if tag == TAG_PICKLE:
        return _loads(PyBytes_FromStringAndSize(data, size))
    if tag == TAG_TUPLE or tag == TAG_SCOPED:
        return _decode_elements(size, data)
    return _decode_rare(tag, size, data)


cdef object _decode_rare(uint8_t tag, uint32_t size, const char* data):
    cdef int64_t number
    if tag == TAG_BIGINT:
        return int.from_bytes(PyBytes_FromStringAndSize(data, size), "little", signed=True)
    if tag == TAG_DECIMAL:
        return _Decimal(PyUnicode_DecodeUTF8(data, size, "strict"))
    memcpy(&number, data, 8)
    if tag == TAG_DATE:
        return _date.fromordinal(number)
    if tag == TAG_DATETIME:
        return _EPOCH + _timedelta(microseconds=number)
    return _EPOCH_UTC + _timedelta(microseconds=number)


cdef tuple _decode_elements(uint32_t size, const char* data):
    cdef list elements = []
    cdef uint32_t at = 0
    cdef Piece piece
    Py_EnterRecursiveCall(b" in a stored tuple of tuples")
    try:
        while at < size:
            if not piece_at(data + at, size - at, &piece):
                raise ValueError("a stored tuple is cut short")
            elements.append(decode_value(piece.tag, piece.size, piece.data))
            at += PIECE_HEAD + piece.size
    finally:
        Py_LeaveRecursiveCall()
    return tuple(elements)


cdef tuple _decode_pair(uint32_t size, const char* data):
    cdef tuple pair
    if data == NULL:
        segment_raise(EBADMSG)
    pair = _decode_elements(size, data)
    if len(pair) != 2:
        raise ValueError(f"a stored key within a namespace has {len(pair)} parts instead of two")
    return pair


cdef object decode_key(uint8_t tag, uint32_t size, const char* data):
    if tag == TAG_SCOPED:
        return _decode_pair(size, data)[0]
    return decode_value(tag, size, data)


cdef object decode_namespace(uint8_t tag, uint32_t size, const char* data):
    return _decode_pair(size, data)[1] if tag == TAG_SCOPED else None


cdef uint32_t hash_bytes(uint8_t tag, uint32_t size, const char* data) noexcept nogil:
    cdef uint64_t mixed = mix64((<uint64_t>size << 8) | tag)
    cdef uint64_t word
    cdef uint32_t at = 0
    while size - at >= 8:
        memcpy(&word, data + at, 8)
        mixed = mix64(mixed ^ word)
        at += 8
    if at < size:
        word = 0
        memcpy(&word, data + at, size - at)
        mixed = mix64(mixed ^ word)
    return <uint32_t>(mixed ^ (mixed >> 32))


def pack_key(key):
    """A key as bytes, tag first: the form in which it travels to its table."""
    cdef Encoded out
    cdef object owner = encode_key(key, &out)
    return PyBytes_FromStringAndSize(<char*>&out.tag, 1) + PyBytes_FromStringAndSize(out.data, out.size)
