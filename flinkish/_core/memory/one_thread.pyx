"""Objects of one thread; described in ``one_thread.pxd``."""

import os

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


cdef str in_a_child(str thing):
    return (
        f"{thing} was used in process {os.getpid()}, a forked child of the one that has its operator;"
        " what a child writes would be lost, or would change the parent's files. Let the child"
        " compute and return values, and write them in the function; with multiprocessing take the"
        " start method 'spawn', and give it values"
    )


cdef str of_another_thread(str thing, unsigned long worker):
    return (
        f"{thing} was used by thread {PyThread_get_thread_ident()}, and thread {worker} runs the "
        "operator: it is of the current key, which may be another one at any time. Let the thread "
        "return its result to the function, or make it a new element of the stream, for instance "
        "with async_map before the operator"
    )
