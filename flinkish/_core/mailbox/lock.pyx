"""The lock of a mailbox, its owner, and who has it to himself."""

from cpython.exc cimport PyErr_CheckSignals

from flinkish._core.memory.atomic cimport load_thread, store_thread
from flinkish._core.memory.futex cimport (
    fork_generation, fork_watch, futex_wait, futex_wake, load_word, store_word,
)
from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.memory.pthreads cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

segment_raise(fork_watch())


cdef class MailboxLock:
    """The lock that guards a MailboxQueue; errors are of the class ``illegal_state``."""

    illegal_state = RuntimeError

    def __cinit__(self, *args, **kwargs):
        self.generation = fork_generation()
        self.owner = PyThread_get_thread_ident()
        segment_raise(pthread_mutex_init(&self.lock, NULL))

    def __dealloc__(self):
        pthread_mutex_destroy(&self.lock)

    cdef int _enter(self) except -1:
        if self.generation != fork_generation():
            raise self.illegal_state(
                "this mailbox was made before a fork, in the parent process, and its threads are "
                "not here: make a new mailbox in this process"
            )
        pthread_mutex_lock(&self.lock)
        if self.exclusive != 0 and self.exclusive != PyThread_get_thread_ident():
            return self._await_turn()
        return 0

    cdef int _await_turn(self) except -1:
        """Wait until nobody is within run_exclusively; with the lock before and after."""
        cdef uint32_t turn
        while self.exclusive != 0:
            turn = load_word(&self.turnstile)
            self.outside += 1
            pthread_mutex_unlock(&self.lock)
            with nogil:
                futex_wait(&self.turnstile, turn, SLICE)
                pthread_mutex_lock(&self.lock)
                self.outside -= 1
                pthread_mutex_unlock(&self.lock)
            PyErr_CheckSignals()
            pthread_mutex_lock(&self.lock)
        return 0

    cdef void _leave(self) noexcept:
        pthread_mutex_unlock(&self.lock)

    cdef int _own(self) except -1:
        if self.owner != PyThread_get_thread_ident():
            raise self.illegal_state(
                f"this call belongs to the mailbox thread (ident {self.owner}), and it came from "
                f"thread {PyThread_get_thread_ident()}: put a mail instead, for instance with "
                "executor.execute"
            )
        return 0

    def is_mailbox_thread(self):
        """Whether the caller is the owner."""
        return self.owner == PyThread_get_thread_ident()

    def run_exclusively(self, runnable):
        """Call ``runnable()`` while no other thread can put, take or close.

        As in Flink's TaskMailboxImpl.  It may use the mailbox, and call this again.  It should be
        short: others wait meanwhile.
        """
        self._enter()
        store_thread(&self.exclusive, PyThread_get_thread_ident())
        self.depth += 1
        self._leave()
        try:
            return runnable()
        finally:
            self._release_turn()

    cdef int _release_turn(self) except -1:
        cdef bint wake = False
        self._enter()
        self.depth -= 1
        if self.depth == 0:
            store_thread(&self.exclusive, 0)
            if self.outside != 0:
                store_word(&self.turnstile, self.turnstile + 1)
                wake = True
        self._leave()
        if wake:
            with nogil:
                futex_wake(&self.turnstile, 0x7FFFFFFF)
        return 0

    cdef const char* _lock_fault(self) noexcept:
        if (self.exclusive == 0) != (self.depth == 0):
            return "exclusive without depth, or depth without exclusive"
        return NULL
