# Batches of Arrow columns -> records.
#
# A reader holds the arrays and the capsules of their exported structs, and so the producer's
# buffers, until it dies; its columns lend what the structs contain.

from libc.stdint cimport int64_t

include "arrow_abi.pxd"
include "arrow_types.pxd"
include "arrow_values.pxd"

cdef class RecordReader:
    cdef readonly tuple names             # column names
    cdef readonly Py_ssize_t num_rows
    cdef list _arrays                     # the pyarrow arrays
    cdef list _capsules                   # what keeps the structs alive
    cdef Column* _columns                 # one a column, owned

    # Rows `start` to `stop` of a column; 0 <= start <= stop <= num_rows.
    cdef list _values(self, Py_ssize_t column, int64_t start, int64_t stop)

    # Rows `start` to `stop` as a list of Row, or of tuples.
    cdef list _records(self, int64_t start, int64_t stop, bint named)

    # Position of a column given by position or name, else KeyError.
    cdef Py_ssize_t _index_of(self, object column) except -1
