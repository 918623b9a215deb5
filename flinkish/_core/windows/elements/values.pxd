# Elements and accumulators of windows as bytes: what `values` does, and rows, tuples and lists
# quickly.
#
# Windows take in and give out every element once, so it is here that the time goes.  A tuple, or
# a row of the operator's own columns, becomes TAG_BYTES: a byte that says which (`Whole`), then its
# fields, each a tag and its bytes.  Fields of the common types are written as they are, all
# others pickled; a tuple in a field is written by its fields if all of them are common, and so is a
# list that is a whole value.  Any other list is pickled at once, which keeps what is in it twice, or
# the list itself, as it is.  Everything else is as `encode_value` has it, but that bytes begin with a
# byte of their own, too.

from libc.stdint cimport uint8_t, uint32_t

from flinkish._core.values.values cimport Encoded

cdef enum Whole:
    A_TUPLE = 0
    A_ROW = 1                   # of the names that the reader knows
    RAW_BYTES = 2
    A_LIST = 3


cdef class WindowValues:
    cdef readonly tuple names   # of rows that are written without them, or None
    cdef char* buffer           # owned; what was encoded last
    cdef size_t room
    cdef size_t size

    # Encode anything; the bytes are good until the next call, or as long as the object that is
    # returned.  Errors: what pickle raises; OverflowError past 4 GiB.
    cdef object encode(self, object value, Encoded* out)

    # ValueError for bytes that are no value.
    cdef object decode(self, uint8_t tag, uint32_t size, const char* data)

    cdef int put(self, const void* data, size_t size) except -1
    cdef int put_fields(self, object fields) except -1
    cdef int put_field(self, object value) except -1

    # Write what is common; False, with nothing or a part of a list written, for what is not.
    cdef bint put_common(self, object value) except -1
    cdef bint put_tuple(self, tuple value) except -1
    cdef bint put_list(self, list value) except -1
