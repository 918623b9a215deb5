# Whether timers are as ``timers.pxd`` says.

from libc.stdint cimport uint32_t


# What is wrong with the structure, or NULL.  Reads everything: for tests and for doubts.
cdef const char* timers_fault(Timers* timers) noexcept nogil
