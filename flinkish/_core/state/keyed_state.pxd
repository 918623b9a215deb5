# Handles of keyed state: what `state.value()` and its like run.
#
# A handle is one (state, operator) pair; the table's current row decides whose state it
# reads: of the row itself, or of its key alone.  The table moves when it grows, so no handle keeps a pointer over a call.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from flinkish._core.state.table cimport StateTable
from flinkish._core.values.values cimport Encoded

include "scoped_rows.pxd"
include "coding.pxd"
include "expiry.pxd"

cdef class StateHandle:
    cdef StateTable table
    cdef uint32_t cell
    cdef readonly str name
    cdef Coding coding
    cdef object check               # of values that coding knows nothing of, or None
    cdef readonly int64_t ttl       # ms; 0: lives for ever
    cdef bint renew_on_read
    cdef bint show_expired
    cdef readonly bint of_key       # of the current row's key, whatever its namespace

    cdef uint32_t row(self) except? 0xFFFFFFFF
    cdef uint32_t pair(self, int64_t ttl) noexcept
    cdef bint outlived(self, int64_t time) noexcept

    # As encode_value, encode_key and decode_value of values.pxd, with errors that name the state, and
    # with a look at the table afterwards: they may run code of users.
    cdef object encode(self, object value, Encoded* out)
    cdef object decode(self, uint8_t tag, uint32_t size, const uint64_t* word)
    cdef object encode_key(self, object key, Encoded* out)


cdef class ValueCell(StateHandle):
    cdef object load(self)
    cdef int store(self, object value) except -1


cdef class ReducingCell(ValueCell):
    cdef object reduce


cdef class AggregatingCell(ValueCell):
    cdef object function


cdef class ListCell(StateHandle):
    pass


cdef class MapCell(StateHandle):
    cdef Coding key_coding
    cdef object key_check
    cdef uint32_t find(self, object key) except? 0xFFFFFFFE
    cdef bint expire(self, uint32_t entry) except -1
    cdef list entries(self, bint keys, bint values)
