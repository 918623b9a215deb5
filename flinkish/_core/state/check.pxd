# Every invariant of a table, for tests that call it after every step.


# AssertionError that says what is wrong and where.
cdef int check_table(Table* table) except -1
