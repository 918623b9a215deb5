# Python values -> Arrow arrays, one loop a type.
#
# `build_array` writes the buffers of the common types itself and leaves the rare ones to pyarrow.
# A value that does not fit is a Refusal, which knows the value's place in the list; the caller that
# knows the record turns it into a RecordMismatch.

cdef class Target:
    cdef readonly str column      # name, or path like "a.b", for messages
    cdef readonly object type     # pyarrow.DataType
    cdef readonly bint nullable
    cdef readonly object zone     # tzinfo of naive datetimes, None = UTC

    # Raise a Refusal of values[index].
    cdef int refuse(self, Py_ssize_t index, object value, str needed=*) except -1

    # Accept a None, or refuse it.  `parents` (or None) are the structs around the values: where
    # the struct itself is None, so may be its fields.
    cdef int check_null(self, Py_ssize_t index, list parents) except -1

# A target of the same zone for something inside this one.
cdef Target target_inside(Target target, object field, str name)

# A pyarrow array of target.type.  `values` may be changed on the way.  Refusal; ValueError for
# more text than 32-bit offsets can reach.
cdef object build_array(Target target, list values, list parents)

# Value and type of something for a message, cut.
cdef str shown(object value)
