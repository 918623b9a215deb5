# What the values of a state may be: the descriptor's type, checked when a value is stored.

from flinkish._core.state.table cimport StateTable

cdef enum Coding:
    ANY = 0                 # whatever can be pickled
    INT64 = 1
    INT32 = 2
    INT16 = 3
    INT8 = 4
    FLOAT64 = 5             # takes ints
    BOOLEAN = 6
    STRING = 7
    BINARY = 8

# The coding of a name: "any", "int64", ..., as above.  ValueError for another.
cdef Coding coding_of(str name) except *

# The value as it will be stored.  The errors for one that does not fit are the table's, and name
# the state.
cdef object coerce_value(object value, Coding coding, StateTable table, str state)

# Raise the table's error unless `check` (a value -> why it is not of its type, or None) is content.
# `what` and the name of the state begin it.
cdef int check_value(object value, object check, StateTable table, str what,
                     str state) except -1

# The same for a key of a map: it stays as it is, since another form would be another key.
cdef int check_key(object key, Coding coding, object check, StateTable table, str state) except -1
