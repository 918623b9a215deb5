# The lock of a mailbox: a mutex, an owner, a turn for the thread that wants it all to itself.
#
# Invariants (numbered on from those of mailbox.pxd):
#   Q6  `exclusive` is the thread within run_exclusively, or 0; without the lock a thread may ask
#       whether it is itself.  All others stay out of the lock's sections and wait for `turnstile`
#       to move, without the GIL; `outside` counts them.
#   Q7  A forked child has the memory of a mailbox but none of the threads that use it, one of
#       which may have been within the lock.  So it is turned away before it touches the lock:
#       `generation` is that of the process that made the mailbox.
#
# Threads: all, but for what says that it belongs to the owner.
# Ownership: __cinit__ makes the mutex, __dealloc__ destroys it.

from libc.stdint cimport uint32_t

from flinkish._core.memory.pthreads cimport pthread_mutex_t

cdef enum:
    SLICE = 500_000_000    # ns of one wait, so that no signal stays unnoticed longer

cdef class MailboxLock:
    cdef pthread_mutex_t lock
    cdef unsigned long owner       # ident of the thread
    cdef unsigned long exclusive
    cdef uint32_t depth            # of nested run_exclusively
    cdef uint32_t turnstile
    cdef uint32_t outside
    cdef uint32_t generation

    # With the lock, unless it raises: in a forked child.
    cdef int _enter(self) except -1
    cdef int _await_turn(self) except -1
    cdef void _leave(self) noexcept
    # Raises unless the caller is the owner.
    cdef int _own(self) except -1
    cdef int _release_turn(self) except -1
    # What is wrong, or NULL; under the lock.
    cdef const char* _lock_fault(self) noexcept
