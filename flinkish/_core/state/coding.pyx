"""The values that a state may hold; described in ``state/coding.pxd``."""

from cpython.bytearray cimport PyByteArray_Check
from cpython.bytes cimport PyBytes_Check
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t

from flinkish._core.values.values cimport plain_key

cdef tuple NAMES = (
    "any", "int64", "int32", "int16", "int8", "float64", "boolean", "string", "binary",
)


cdef Coding coding_of(str name) except *:
    if name not in NAMES:
        raise ValueError(f"a state holds values of one of {', '.join(NAMES)}, not {name!r}")
    return <Coding>NAMES.index(name)


cdef object coerce_value(object value, Coding coding, StateTable table, str state):
    if coding == ANY:
        return value
    if coding <= INT8:
        return _coerce_int(value, coding, table, state)
    if coding == FLOAT64:
        if PyFloat_Check(value):
            return plain_key(value)
        if not isinstance(value, bool) and hasattr(value, "__float__"):
            return float(value)
    elif coding == BOOLEAN:
        if value is True or value is False:
            return value
    elif coding == STRING:
        if PyUnicode_Check(value):
            return plain_key(value)
    elif PyBytes_Check(value) or PyByteArray_Check(value):
        return plain_key(value)
    raise _mismatch(value, coding, table, state)


cdef object _coerce_int(object value, Coding coding, StateTable table, str state):
    cdef int overflow = 0
    cdef int64_t number, limit
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _mismatch(value, coding, table, state)
        value = PyNumber_Index(value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if coding != INT64 and not overflow:
        limit = <int64_t>1 << (31 if coding == INT32 else 15 if coding == INT16 else 7)
        overflow = number < -limit or number >= limit
    if overflow:
        raise table.illegal_argument(
            f"the state {state!r} was given {value}, which does not fit {NAMES[coding]}"
        )
    return value


cdef object _mismatch(object value, Coding coding, StateTable table, str state):
    """The error for a value of a wrong type."""
    return table.illegal_type(
        f"the state {state!r} holds {NAMES[coding]} values and was given "
        f"{value!r} of type {type(value).__name__}; change the value or the descriptor's type"
    )


cdef int check_value(object value, object check, StateTable table, str what,
                     str state) except -1:
    wrong = check(value)
    table.check_open()  # checking may run code of the value's class
    if wrong is not None:
        raise table.illegal_type(
            f"{what} {state!r}: {wrong}; change the value or the descriptor's type"
        )
    return 0


cdef int check_key(object key, Coding coding, object check, StateTable table, str state) except -1:
    if coding == ANY and check is None or key is None:
        return 0
    if coding == FLOAT64 and not PyFloat_Check(key):
        raise table.illegal_type(
            f"the map state {state!r} has float keys and was given the key {key!r} of type "
            f"{type(key).__name__}, which would be another key than the float: use float({key!r})"
        )
    try:
        coerce_value(key, coding, table, state)
    except (TypeError, ValueError):
        raise table.illegal_type(
            f"the map state {state!r} has {NAMES[coding]} keys and was given the key {key!r} of "
            f"type {type(key).__name__}; change the key or the descriptor's type"
        ) from None
    if check is not None:
        check_value(key, check, table, "a key of the map state", state)
    return 0
