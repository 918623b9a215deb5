# A row: the values of one record, read by position, by name, or as attributes.
#
# Rows of a batch share one tuple of names.  Make it once with `row_names`, which interns the
# names and refuses double ones; a field is then found by comparing pointers.
#
# Ownership: `row_of` keeps the container it is given and does not copy it.  A tuple is copied
# into a list before the first write, so several rows may share one; a list belongs to the row.
#
# Invariants: `_names` is None, or as long as `_values`.  A row that the collector does not know
# (`RecordReader` makes such) holds nothing that could lead back to it.

cdef class Row:
    cdef tuple _names     # interned field names, or None: the fields have positions only
    cdef object _values   # exactly a list or a tuple
    cdef int _kind        # value of a RowKind

# Names as rows want them: a tuple of interned str without doubles.  TypeError, ValueError.
cdef tuple row_names(object names)

# A row over `values` (a list or a tuple) with the names of `row_names`, or with None.
# ValueError when the lengths differ, TypeError for another container.
cdef Row row_of(tuple names, object values)

# Position of a name, or -1.
cdef Py_ssize_t row_find(tuple names, object name) noexcept
