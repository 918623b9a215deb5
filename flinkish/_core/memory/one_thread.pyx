"""Objects of one thread; described in ``one_thread.pxd``."""

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() noexcept


cdef unsigned long this_thread() noexcept:
    return PyThread_get_thread_ident()


cdef str in_use(str thing, unsigned long holder):
    cdef unsigned long comer = PyThread_get_thread_ident()
    if comer == holder:
        return f"{thing} is at work, and code that this work called came back to it; leave it alone there"
    return (
        f"thread {comer} came to {thing} while thread {holder} is at work on it; it is for one "
        f"thread at a time: send the work to thread {holder}, for instance as a mail"
    )
