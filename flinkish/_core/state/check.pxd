# Every invariant of a table, for tests that call it after every step.

from flinkish._core.state.rows cimport Table

# AssertionError that says what is wrong and where.
cdef int check_table(Table* table) except -1
