# Records -> a batch of Arrow columns.

include "arrow_builders.pxd"

#
# Records are first laid out as one list of values a column, so that the loops that write Arrow
# buffers know their type; a value's place in such a list is the number of its record.


# One list of values a field from records of any supported form.  `names` comes from `row_names`;
# `nullable[i]` says whether a field may be missing.  `path` is empty for whole records, else "a." for
# the struct in column a, whose records may be None.  `lone`: the type of the only column, or None.
# Refusal where a record does not have the fields.
cdef list spread_records(list records, tuple names, str path, object lone)

# The array of a column of any type: structs, lists and maps here, the others by `build_array`.
cdef object build_column(Target target, list values, list parents)
