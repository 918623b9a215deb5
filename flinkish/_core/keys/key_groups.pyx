"""Key groups: which of ``max_parallelism`` groups a key belongs to, as in Flink.

Its class is KeyGroupRangeAssignment.  ``object_hash`` says which Java type a key is taken for.
"""

cimport cython
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr

import numpy as np

include "column_hash.pyx"
include "key_columns.pyx"
include "object_hash.pyx"

cdef int32_t check_max_parallelism(object value) except -1:
    cdef int overflow = 0
    cdef int64_t number = 0
    if not isinstance(value, int) and isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or not 1 <= number <= MAX_PARALLELISM_LIMIT:
        raise ValueError(
            f"max_parallelism is {value!r}, but must be an int from 1 to {MAX_PARALLELISM_LIMIT}"
        )
    return <int32_t> number


def java_hash(key, key_type=None):
    """Return the signed 32-bit ``hashCode`` that the key has in Java.

    ``key_type`` says which Java type the key has where Python's type leaves it open: a name
    (``"int"``, ``"long"``, ``"float"``, ..., also Spark's ``"bigint"`` and so on), or a tuple
    of types for a tuple key.  ``object_hash`` has the table of types.

    Raises ``MissingKeyError`` for a null key, also inside a tuple, ``ValueError`` for a
    number that does not fit, ``TypeError`` for a type that has no Java hash and one that contradicts
    ``key_type``.
    """
    return object_hash(key, key_type)


def murmur(code):
    """Return Flink's murmur hash of a signed 32-bit hash code: 0 ... 2**31 - 1."""
    return murmur_hash(code)


def assign_to_key_group(key, max_parallelism, key_type=None):
    """Return the key group of a key, 0 ... ``max_parallelism`` - 1.

    ``key_type`` and errors as in :func:`java_hash`; ``ValueError`` unless ``max_parallelism``
    is from 1 to 32768.
    """
    cdef int32_t groups = check_max_parallelism(max_parallelism)
    return key_group_of(object_hash(key, key_type), groups)


# The loop below is nothing but 32-bit multiplications, for which the x86-64 that compilers assume
# has no vector instruction.  So the compiler makes a second copy for AVX2, and the loader takes
# it where the processor has it (3.6 -> 1.1 ns a row).
cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \\
        !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    __attribute__((target_clones("avx2", "default")))
    #endif
    static void flinkish_codes_to_groups(int32_t *, Py_ssize_t, int32_t);
    """

# Hash codes to key groups, in place.  Division by multiplication: with 2^31 > hash and
# shift = 31 + ceil(log2(groups)), hash * (2^shift / groups + 1) >> shift is the exact quotient,
# and all of it fits 64 bits.
@cython.overflowcheck(False)
@cython.cdivision(True)
cdef void codes_to_groups "flinkish_codes_to_groups"(
    int32_t* codes, Py_ssize_t rows, int32_t groups
) noexcept nogil:
    cdef uint32_t h, factor, divisor = <uint32_t> groups
    cdef int shift = 31
    cdef Py_ssize_t i
    while 1 << (shift - 31) < groups:
        shift += 1
    factor = <uint32_t> ((<uint64_t> 1 << shift) // divisor + 1)
    for i in range(rows):
        h = <uint32_t> murmur_hash(codes[i])
        codes[i] = <int32_t> (h - <uint32_t> ((<uint64_t> h * factor) >> shift) * divisor)


cdef int raise_nulls(KeyColumn column, const uint8_t* mask) except -1:
    cdef Py_ssize_t i, count = 0
    for i in range(column.length):
        count += mask[i]
    first = <const uint8_t*> memchr(mask, 1, column.length) - mask
    raise MissingKeyError(
        f"Assigned key must not be null! {column.label} has {count} "
        f"null{'s' if count > 1 else ''} in {column.length} rows, the first in row {first}; "
        "filter them out first, or pass nulls=\"mark\" to get the key group -1 for them",
        column.name, first, count,
    )


# Hash codes of the tuple of columns (or of the only one), into `codes`.  Returns whether `mask`
# holds nulls.
@cython.overflowcheck(False)
cdef bint hash_columns(
    list columns, bint refuse_nulls, uint8_t* mask, int32_t* codes, int32_t* field
) except -1:
    cdef KeyColumn column
    cdef int32_t* target = codes
    cdef int64_t bad = 0
    cdef int status
    cdef Py_ssize_t i, rows
    cdef bint any_nulls = False
    for column in columns:
        rows = column.length
        if column.may_have_nulls():
            with nogil:
                status = column.mark_nulls(mask)
            if status:
                column.raise_status(status, -1)
            if memchr(mask, 1, rows) != NULL:
                any_nulls = True
                if refuse_nulls:
                    raise_nulls(column, mask)
        with nogil:
            status = column.hash_rows(mask if any_nulls else NULL, target, &bad)
            if not status and target == field:
                for i in range(rows):
                    codes[i] = <int32_t> (<uint32_t> codes[i] * 31u + <uint32_t> field[i])
        if status:
            column.raise_status(status, bad)
        target = field
    return any_nulls


cdef list read_columns(object columns, object key_types, object names):
    if hasattr(columns, "column_names"):                    # pyarrow's RecordBatch and Table
        names = columns.column_names if names is None else names
        columns = columns.columns
    if not isinstance(columns, (list, tuple)):
        columns = [columns]
    if not columns:
        raise ValueError("no column to take keys from; pass at least one")
    if names is None:
        names = range(len(columns))
    elif isinstance(names, str):
        names = [names]
    if key_types is None:
        key_types = [None] * len(columns)
    elif isinstance(key_types, str):
        key_types = [key_types]
    if not len(columns) == len(key_types) == len(names):
        raise ValueError(
            f"{len(columns)} column(s) came with {len(key_types)} key type(s) and {len(names)} "
            "name(s); pass one for each column, or none"
        )
    read = [
        KeyColumn(column, key_type, name)
        for column, key_type, name in zip(columns, key_types, names)
    ]
    lengths = [(<KeyColumn> column).length for column in read]
    if len(set(lengths)) > 1:
        raise ValueError(f"the columns of a key have different lengths: {lengths}")
    return read


def assign_to_key_groups(columns, max_parallelism, key_types=None, *, nulls="error", names=None):
    """Return the key group of every row, as an int32 NumPy array of shape (rows,).

    ``columns`` is one column, or a list or tuple of columns (a pyarrow RecordBatch or Table
    counts as its columns), whose rows then are tuple keys.  A column is anything with
    ``__arrow_c_array__`` or ``__arrow_c_stream__`` (pyarrow arrays and chunked arrays), or a
    one-dimensional NumPy array; its type says which Java type the keys have, and
    :func:`assign_to_key_group` gives the same groups for keys of that type.  ``key_types``
    (one, or one for each column) may say "int" or "long" of any integer column and "double" of
    a float32 column.

    A null, also a NaT and a null in a struct, is a ``MissingKeyError`` that names the column (by
    ``names`` where given), the first row and the count; with ``nulls="mark"`` the row's
    key group is -1.  ``TypeError`` for columns without a Java hash.  The GIL is released while
    rows are hashed.
    """
    cdef int32_t groups = check_max_parallelism(max_parallelism)
    cdef bint mark = nulls == "mark"
    cdef bint any_nulls
    cdef Py_ssize_t rows, i
    cdef Py_buffer view
    cdef int32_t* codes
    cdef int32_t* field = NULL
    cdef uint8_t* mask = NULL
    if not mark and nulls != "error":
        raise ValueError(f"nulls is {nulls!r}, but must be 'error' or 'mark'")
    read = read_columns(columns, key_types, names)
    rows = (<KeyColumn> read[0]).length
    result = np.empty(rows, np.int32)
    if rows == 0:
        return result
    PyObject_GetBuffer(result, &view, PyBUF_WRITABLE)
    try:
        codes = <int32_t*> view.buf
        if any([(<KeyColumn> column).may_have_nulls() for column in read]):
            mask = <uint8_t*> calloc(rows, 1)
            if mask == NULL:
                raise MemoryError()
        if len(read) > 1:
            field = <int32_t*> malloc(rows * sizeof(int32_t))
            if field == NULL:
                raise MemoryError()
        any_nulls = hash_columns(read, not mark, mask, codes, field)
        with nogil:
            codes_to_groups(codes, rows, groups)
            if any_nulls:
                for i in range(rows):
                    if mask[i]:
                        codes[i] = -1
    finally:
        free(field)
        free(mask)
        PyBuffer_Release(&view)
    return result
