"""Batches of Arrow columns as records, and event times as epoch milliseconds."""

import numpy
from flinkish._core.values.arrow import pyarrow

cimport cython
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from flinkish._core.values.civil cimport floor_div
from flinkish._core.values.row cimport row_names, row_of
from libc.stdint cimport (
    INT64_MAX,
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

include "arrow_types.pyx"
include "arrow_values.pyx"

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* thing) noexcept

# Rows are built in blocks whose values still lie in the cache when their row is made.
cdef enum:
    BLOCK = 512


cdef object _arrow_array(object column):
    """`column` as a pyarrow array."""
    if isinstance(column, pyarrow.Array):
        return column
    if hasattr(column, "__arrow_c_array__"):
        return pyarrow.array(column)
    raise TypeError(
        f"a column must be one Arrow array, found {type(column).__name__}"
        + ("; call combine_chunks() first" if hasattr(column, "combine_chunks") else ""))


@cython.final
cdef class RecordReader:
    """Python records of a batch of Arrow columns.

    `source` is a `pyarrow.RecordBatch`, or a list of arrays of one length together with
    their `names`.  Slices and nulls are honoured; a null is None.

    | Arrow | Python |
    | --- | --- |
    | integers, floats, bool, utf8, binary (large too), null | int, float, bool, str, bytes, None |
    | date32 | `datetime.date` |
    | timestamp with a zone (Spark `timestamp`) | aware `datetime`, in UTC |
    | timestamp without (Spark `timestamp_ntz`) | naive `datetime` |
    | decimal128 | `decimal.Decimal` with the column's scale |
    | struct | `Row` by the fields' names |
    | list, map | list, dict |
    | dictionary | the values |
    | all others | what pyarrow's `to_pylist` gives |

    A `datetime` holds microseconds: a nanosecond timestamp that is not a whole number of them is
    refused with a `ValueError`, as is a date outside the years 1 to 9999.

    Ownership: keeps the arrays and their exported structs until it dies.
    """

    def __cinit__(self) -> None:
        self._columns = NULL

    def __init__(self, source: object, names: object = None) -> None:
        cdef Py_ssize_t index
        if isinstance(source, pyarrow.RecordBatch):
            names = source.schema.names if names is None else names
            source = source.columns
        elif names is None:
            raise TypeError("a list of arrays needs the names of its columns, found names=None")
        self.names = tuple(names)
        self._arrays = [_arrow_array(column) for column in source]
        self._capsules = []
        if len(self.names) != len(self._arrays):
            raise ValueError(f"found {len(self._arrays)} columns and {len(self.names)} names"
                             f" {self.names}; give one name a column")
        self.num_rows = len(self._arrays[0]) if self._arrays else 0
        PyMem_Free(self._columns)
        self._columns = <Column*>PyMem_Calloc(len(self._arrays) + 1, sizeof(Column))
        if self._columns == NULL:
            raise MemoryError()
        for index, array in enumerate(self._arrays):
            if len(array) != self.num_rows:
                raise ValueError(f"column {self.names[index]!r} has {len(array)} rows,"
                                 f" the first column has {self.num_rows}; they must be equal")
            capsules = array.__arrow_c_array__()
            self._capsules.append(capsules)
            column_describe(&self._columns[index], arrow_schema_of(capsules[0]),
                            arrow_array_of(capsules[1]))
            if isinstance(array.type, pyarrow.BaseExtensionType):
                self._columns[index].kind = AS_OTHER

    def __dealloc__(self) -> None:
        PyMem_Free(self._columns)

    def __len__(self) -> int:
        return self.num_rows

    def values(self, column: object, start: int = 0, stop: object = None) -> list:
        """The Python values of rows `start` to `stop` of a column, by position or name."""
        cdef Py_ssize_t index = self._index_of(column)
        first, last, _ = slice(start, stop).indices(self.num_rows)
        return self._values(index, first, max(first, last))

    def rows(self, start: int = 0, stop: object = None) -> list:
        """Rows `start` to `stop` as `Row`s with the columns' names."""
        first, last, _ = slice(start, stop).indices(self.num_rows)
        return self._records(first, max(first, last), True)

    def tuples(self, start: int = 0, stop: object = None) -> list:
        """Rows `start` to `stop` as plain tuples."""
        first, last, _ = slice(start, stop).indices(self.num_rows)
        return self._records(first, max(first, last), False)

    def _check(self) -> None:
        """Fail unless every column lends what its description says; for tests."""
        for index in range(len(self._arrays)):
            assert self._columns[index].array.length == self.num_rows

    cdef Py_ssize_t _index_of(self, object column) except -1:
        if isinstance(column, str):
            if column in self.names:
                return self.names.index(column)
        elif 0 <= column < len(self.names):
            return column
        raise KeyError(f"no column {column!r}, there are {', '.join(map(repr, self.names))}")

    cdef list _values(self, Py_ssize_t index, int64_t start, int64_t stop):
        if stop <= start:
            return []
        if self._columns[index].kind != AS_OTHER:
            return column_values(&self._columns[index], start, stop)
        return _nested(self._arrays[index].slice(start, stop - start))

    cdef list _records(self, int64_t start, int64_t stop, bint named):
        cdef Py_ssize_t width = len(self._arrays)
        cdef tuple names = row_names(self.names) if named else None
        cdef list records = PyList_New(stop - start)
        cdef list block = [None] * width
        cdef bint plain = True
        cdef int64_t first, row
        cdef Py_ssize_t index
        cdef tuple record
        cdef object value
        for index in range(width):
            plain = plain and self._columns[index].kind != AS_OTHER
        for first in range(start, stop, BLOCK):
            for index in range(width):
                block[index] = self._values(index, first, min(first + BLOCK, stop))
            for row in range(min(BLOCK, stop - first)):
                record = PyTuple_New(width)
                for index in range(width):
                    value = <object>PyList_GET_ITEM(block[index], row)
                    Py_INCREF(value)
                    PyTuple_SET_ITEM(record, index, value)
                value = row_of(names, record) if named else record
                if plain:
                    # Records of scalars are in no cycle.  Left to the collector, which looks
                    # at them over and over, a million of them cost six times as much.
                    PyObject_GC_UnTrack(<void*>record)
                    PyObject_GC_UnTrack(<void*>value)
                Py_INCREF(value)
                PyList_SET_ITEM(records, first - start + row, value)
        return records


# ---------------------------------------------------------------- types without a C path


cdef list _nested(object array):
    """Structs as Rows, lists as lists, maps as dicts; of the rest what `to_pylist` gives."""
    kind = array.type
    types = pyarrow.types
    if types.is_struct(kind):
        names = tuple([kind.field(i).name for i in range(kind.num_fields)])
        values = RecordReader(array.flatten(), names).rows() if names else [
            () for _ in range(len(array))]
    elif types.is_list(kind) or types.is_large_list(kind):
        values = _cut(array.offsets.to_pylist(), array.values)
    elif types.is_fixed_size_list(kind):
        size = kind.list_size
        first = array.offset * size
        values = _cut([first + i * size for i in range(len(array) + 1)], array.values)
    elif types.is_map(kind):
        offsets = array.offsets.to_pylist()
        values = [
            dict(zip(keys, items))
            for keys, items in zip(_cut(offsets, array.keys), _cut(offsets, array.items))
        ]
    elif types.is_dictionary(kind):
        distinct = _python_values(array.dictionary)
        return [None if i is None else distinct[i] for i in array.indices.to_pylist()]
    else:
        return array.to_pylist()
    if array.null_count:
        return [value if valid else None
                for value, valid in zip(values, array.is_valid().to_pylist())]
    return values


cdef list _cut(list offsets, object items):
    """The lists that lie between neighbouring offsets into `items`."""
    cdef Py_ssize_t first = offsets[0]
    cdef Py_ssize_t last = offsets[len(offsets) - 1]
    cdef list values = _python_values(items.slice(first, last - first))
    cdef list lists = []
    cdef Py_ssize_t i, begin
    cdef Py_ssize_t end = 0
    for i in range(1, len(offsets)):
        begin = end
        end = <Py_ssize_t>offsets[i] - first
        lists.append(values[begin:end])
    return lists


cdef list _python_values(object array):
    return (<RecordReader>RecordReader([array], ("values",))).values(0)


# ---------------------------------------------------------------- event times


cdef enum Flaw:
    FLAW_NONE
    FLAW_NULL
    FLAW_OVERFLOW


cdef void _widen(const ArrowArray* array, int64_t* out, Number kind) noexcept nogil:
    cdef int64_t row
    for row in range(array.length):
        out[row] = <int64_t>column_load(array, row, kind)


cdef int _read_int64(const Column* column, int64_t* out) except -1:
    """The column's integers, whatever stands under a null."""
    cdef const ArrowArray* array = column.array
    cdef Kind kind = column.kind
    if kind == AS_INT64 or kind == AS_TIMESTAMP:
        _widen(array, out, <int64_t>0)
    elif kind == AS_INT32 or kind == AS_DATE:
        _widen(array, out, <int32_t>0)
    elif kind == AS_INT16:
        _widen(array, out, <int16_t>0)
    elif kind == AS_INT8:
        _widen(array, out, <int8_t>0)
    elif kind == AS_UINT64:
        _widen(array, out, <uint64_t>0)
    elif kind == AS_UINT32:
        _widen(array, out, <uint32_t>0)
    elif kind == AS_UINT16:
        _widen(array, out, <uint16_t>0)
    elif kind == AS_UINT8:
        _widen(array, out, <uint8_t>0)
    else:
        raise TypeError("an event time must be a timestamp, date or integer (epoch ms) column")
    return 0


cdef Flaw _to_ms(const Column* column, int64_t* out, bint allow_null, int64_t null_value,
                 int64_t* bad_row) noexcept nogil:
    """Turn the column's units in `out` into milliseconds; the first flaw's row in `bad_row`."""
    cdef const uint8_t* valid = column_validity(column.array)
    cdef int64_t factor = 86400000 if column.kind == AS_DATE else 1
    cdef int64_t divisor = 1
    cdef bint unsigned = column.kind == AS_UINT64
    cdef int64_t highest, lowest
    cdef int64_t row
    if column.kind == AS_TIMESTAMP:
        if column.per_second < 1000:
            factor = 1000
        divisor = column.per_second // 1000 if factor == 1 else 1
    if valid == NULL and factor == 1 and divisor == 1 and not unsigned:
        return FLAW_NONE
    highest = INT64_MAX // factor
    lowest = INT64_MIN if factor == 1 else -highest
    for row in range(column.array.length):
        if not arrow_is_valid(valid, column.array.offset + row):
            if not allow_null:
                bad_row[0] = row
                return FLAW_NULL
            out[row] = null_value
        elif divisor != 1:
            out[row] = floor_div(out[row], divisor)
        elif out[row] > highest or out[row] < lowest or (unsigned and out[row] < 0):
            bad_row[0] = row
            return FLAW_OVERFLOW
        else:
            out[row] *= factor
    return FLAW_NONE


def timestamps_ms(column: object, *, null_value: object = None) -> object:
    """Event times of a column, in milliseconds since the epoch, rounded down.

    `column` is one Arrow array: timestamp of any unit (with or without a zone), date32, or
    integers, which are milliseconds already.  Gives a new numpy int64 array.

    A null is a ValueError unless `null_value` (an int64, say -2**63) stands in for it.
    ValueError too for a time past the int64 milliseconds, TypeError for another type.
    """
    cdef Column described
    cdef Py_buffer view
    cdef int64_t bad_row = 0
    cdef int64_t stand_in = 0 if null_value is None else null_value
    cdef bint allow_null = null_value is not None
    cdef Flaw flaw
    array = _arrow_array(column)
    schema, exported = array.__arrow_c_array__()
    column_describe(&described, arrow_schema_of(schema), arrow_array_of(exported))
    out = numpy.empty(len(array), dtype=numpy.int64)
    PyObject_GetBuffer(out, &view, PyBUF_WRITABLE)
    try:
        try:
            _read_int64(&described, <int64_t*>view.buf)
        except TypeError as error:
            raise TypeError(f"{error}, found {array.type}") from None
        with nogil:
            flaw = _to_ms(&described, <int64_t*>view.buf, allow_null, stand_in, &bad_row)
    finally:
        PyBuffer_Release(&view)
    if flaw == FLAW_NULL:
        raise ValueError(f"row {bad_row} has no event time (null); filter such rows out, or say"
                         " which null_value stands for it")
    if flaw == FLAW_OVERFLOW:
        value = array[bad_row].as_py() if described.kind == AS_UINT64 else out[bad_row]
        raise ValueError(f"row {bad_row}: event time {value} of type {array.type} does not fit"
                         " 64-bit milliseconds since the epoch")
    return out
