"""A column of keys, as read from Arrow or NumPy; ``key_columns.pxd`` tells who owns what."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from flinkish._core.columns.records cimport (
    ArrowArray, ArrowArrayStream, ArrowSchema, arrow_array_move, arrow_array_of,
    arrow_array_release, arrow_schema_move, arrow_schema_of, arrow_schema_release, arrow_stream_of,
)

import numpy as np

cdef dict KINDS = {
    "bool": KIND_BOOL, "boolean": KIND_BOOL,
    "byte": KIND_INT, "tinyint": KIND_INT, "short": KIND_INT, "smallint": KIND_INT,
    "int": KIND_INT, "integer": KIND_INT,
    "long": KIND_LONG, "bigint": KIND_LONG,
    "int|long": KIND_WIDENED,
    "float": KIND_FLOAT, "double": KIND_DOUBLE,
    "str": KIND_STR, "string": KIND_STR,
    "bytes": KIND_BYTES, "binary": KIND_BYTES,
    "date": KIND_DATE,
    "timestamp": KIND_TIMESTAMP, "timestamp_ntz": KIND_TIMESTAMP,
    "decimal": KIND_DECIMAL,
}

cdef str COLUMN_TYPES = (
    "integers, booleans, float32 and float64, strings, binary, date32, timestamps, decimals, "
    "structs and dictionaries of these"
)

# Arrow formats of NumPy's types; "?" is ours (columns/arrow_types.pxd).
cdef dict NUMPY_FORMATS = {
    "i1": b"c", "i2": b"s", "i4": b"i", "i8": b"l",
    "u1": b"C", "u2": b"S", "u4": b"I", "u8": b"L",
    "f4": b"f", "f8": b"g", "b1": b"?",
}
cdef dict NUMPY_TIMES = {
    "D": b"tdD", "s": b"tss:", "ms": b"tsm:", "us": b"tsu:", "ns": b"tsn:",
}


cdef int kind_of_name(object name) except -1:
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None and isinstance(name, str) and name.startswith("decimal("):
        return KIND_DECIMAL
    if kind is None:
        raise ValueError(
            f"unknown key type {name!r}; known are {', '.join(KINDS)}, "
            "and a tuple of types for a tuple key"
        )
    return kind


@cython.final
cdef class KeyColumn:
    """One column of keys, for the floor."""

    def __cinit__(self, column, key_type=None, name=0):
        memset(&self.schema, 0, sizeof(ArrowSchema))
        memset(&self.values, 0, sizeof(Py_buffer))
        memset(&self.validity, 0, sizeof(Py_buffer))
        self.name = name
        self.label = f"column {name!r}"
        self.read(column)
        self.choose_kind(column, key_type)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_chunks):
            arrow_array_release(&self.chunks[i])
        free(self.chunks)
        arrow_schema_release(&self.schema)
        PyBuffer_Release(&self.values)
        PyBuffer_Release(&self.validity)

    cdef ArrowArray* add_chunk(self) except NULL:
        cdef ArrowArray* grown = <ArrowArray*> realloc(
            self.chunks, (self.n_chunks + 1) * sizeof(ArrowArray)
        )
        if grown == NULL:
            raise MemoryError()
        self.chunks = grown
        memset(&grown[self.n_chunks], 0, sizeof(ArrowArray))
        self.n_chunks += 1
        return &grown[self.n_chunks - 1]

    cdef int read(self, object column) except -1:
        cdef Py_ssize_t i
        if isinstance(column, np.ndarray):
            self.read_numpy(column)
        elif hasattr(column, "__arrow_c_array__"):
            schema, array = column.__arrow_c_array__()
            arrow_schema_move(arrow_schema_of(schema), &self.schema)
            arrow_array_move(arrow_array_of(array), self.add_chunk())
        elif hasattr(column, "__arrow_c_stream__"):
            self.read_stream(column.__arrow_c_stream__())
        else:
            raise TypeError(
                f"{self.label} is of type {type(column).__name__}, which is neither an Arrow "
                "array nor a NumPy array; pass pyarrow.array(column)"
            )
        for i in range(self.n_chunks):
            self.length += self.chunks[i].length
        return 0

    cdef int read_stream(self, object capsule) except -1:
        cdef ArrowArrayStream* stream = arrow_stream_of(capsule)
        cdef int status = stream.get_schema(stream, &self.schema)
        while not status:
            status = stream.get_next(stream, self.add_chunk())
            if self.chunks[self.n_chunks - 1].release == NULL:
                self.n_chunks -= 1
                break
        if status:
            said = stream.get_last_error(stream)
            raise ValueError(
                f"{self.label} could not be read from its Arrow stream (errno {status}): "
                f"{said.decode('utf-8', 'replace') if said != NULL else 'no reason given'}"
            )
        return 0

    cdef int read_numpy(self, object array) except -1:
        cdef ArrowArray* chunk
        if array.ndim != 1:
            raise ValueError(
                f"{self.label} has the shape {array.shape}; a column has one dimension"
            )
        shown = array.dtype
        nulls = None
        if isinstance(array, np.ma.MaskedArray):
            nulls = np.ma.getmaskarray(array)
            array = array.data
        if shown.kind == "M":
            unit, count = np.datetime_data(shown)
            text = NUMPY_TIMES.get(unit) if count == 1 else None
            nulls = np.isnat(array) if nulls is None else nulls | np.isnat(array)
            array = array.astype(shown.newbyteorder("="), copy=False).view("i8")
            if text == b"tdD":
                array = array.astype("i4")
        else:
            text = NUMPY_FORMATS.get(shown.str[1:])
        if text is None:
            raise TypeError(
                f"{self.label} is a NumPy array of {shown}, which has no Java hash here; allowed "
                f"are {COLUMN_TYPES}; cast it, or pass pyarrow.array(column)"
            )
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        PyObject_GetBuffer(array, &self.values, PyBUF_SIMPLE)
        chunk = self.add_chunk()
        chunk.length = array.shape[0]
        chunk.n_buffers = 2
        chunk.buffers = self.numpy_buffers
        self.numpy_buffers[1] = self.values.buf
        self.schema.format = <const char*> text      # a constant of this module
        if nulls is not None and nulls.any():
            chunk.null_count = -1
            PyObject_GetBuffer(
                np.packbits(~nulls, bitorder="little"), &self.validity, PyBUF_SIMPLE
            )
            self.numpy_buffers[0] = self.validity.buf
        return 0

    cdef int choose_kind(self, object column, object key_type) except -1:
        cdef ColumnType found
        shown = getattr(column, "type", None) or getattr(column, "dtype", None)
        if column_type(&self.schema, &found) == LAYOUT_UNKNOWN:
            raise TypeError(
                f"{self.label} is of type {shown or self.schema.format}, which has no Java hash "
                f"here; allowed are {COLUMN_TYPES}; cast it, or leave it out of the key"
            )
        self.kind = found.kind
        if key_type is None or found.kind == KIND_NULL:
            return 0
        self.kind = kind_of_name(key_type)
        if self.kind == found.kind:
            return 0
        if found.layout == LAYOUT_INT or found.layout == LAYOUT_UINT:
            if self.kind in (KIND_INT, KIND_LONG, KIND_WIDENED):
                return 0
        if found.layout == LAYOUT_FLOAT and self.kind == KIND_DOUBLE:
            return 0
        raise TypeError(
            f"{self.label} is of type {shown or self.schema.format}, which cannot be hashed as "
            f"{key_type!r}; leave the key type out, or cast the column"
        )

    cdef bint may_have_nulls(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_chunks):
            if column_may_have_nulls(&self.schema, &self.chunks[i]):
                return True
        return False

    cdef int mark_nulls(self, uint8_t* mask) noexcept nogil:
        cdef Py_ssize_t i, done = 0
        cdef int status = HASH_OK
        for i in range(self.n_chunks):
            status = column_mark_nulls(
                &self.schema, &self.chunks[i], 0, self.chunks[i].length, mask + done
            )
            if status:
                break
            done += self.chunks[i].length
        return status

    cdef int hash_rows(self, const uint8_t* mask, int32_t* codes, int64_t* bad) noexcept nogil:
        cdef Py_ssize_t i, done = 0
        cdef int status = HASH_OK
        for i in range(self.n_chunks):
            status = column_hash(
                &self.schema, &self.chunks[i], 0, self.chunks[i].length, self.kind,
                mask + done if mask != NULL else NULL, codes + done, bad,
            )
            if status:
                if bad[0] >= 0:
                    bad[0] += done
                break
            done += self.chunks[i].length
        return status

    cdef int raise_status(self, int status, int64_t row) except -1:
        place = f"row {row}" if row >= 0 else "a value of its dictionary"
        if status == HASH_NO_MEMORY:
            raise MemoryError(f"no memory to hash {self.label} of {self.length} rows")
        if status == HASH_BAD_TEXT:
            raise ValueError(
                f"{self.label} has a string that is not UTF-8 in {place}; store it as binary"
            )
        if status == HASH_TOO_WIDE:
            raise ValueError(
                f"{self.label} has a number in {place} that does not fit the key type "
                f"{'int (32 bits)' if self.kind == KIND_INT else 'long (64 bits, signed)'}; "
                "use a wider key type, or a string"
            )
        assert status == HASH_BAD_INDEX
        raise ValueError(
            f"{self.label} has a dictionary index in {place} that its dictionary does not have"
        )
