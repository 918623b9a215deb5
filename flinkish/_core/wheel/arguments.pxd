# What the methods of a timing wheel take: an error names the argument, what it is and what is
# needed.

from libc.stdint cimport int64_t

# An int of 64 bits, or of NumPy's; what is beyond int64 is taken for the nearest int64.
cdef int64_t read_expiration(object value) except? -1

# How many timers to take out, None for all.
cdef size_t read_limit(object limit) except? 0

# Whether it is a contiguous array of int64 with one dimension, ready to be read in C.
cdef bint is_int64s(object values) except -1

# A list of ints of 64 bits as such an array; anything else as it is.
cdef object as_int64s(object values)

cdef str unequal_rows(Py_ssize_t expirations, Py_ssize_t payloads)
