# cython: freethreading_compatible=True
"""The queue of a mailbox: many threads put, one takes."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX

from flinkish._core.memory.futex cimport (
    fork_generation, futex_wait, futex_wake, load_int64, store_int64, store_word,
)
from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.memory.object_slots cimport (
    objects_clear, objects_fit, objects_hold, objects_put, objects_room, objects_take,
)
from flinkish._core.memory.pthreads cimport pthread_mutex_lock, pthread_mutex_unlock

include "mail.pyx"
include "lanes.pyx"
include "lock.pyx"
include "loop.pyx"

cdef extern from *:
    """
    /* An object whose reference the caller takes over. */
    #define stolen_reference(reference) ((PyObject *)(reference))
    """
    object stolen_reference(PyObject* reference)

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

cdef int64_t NOBODY = INT64_MAX
cdef size_t KEEP = 4096               # mails whose memory an empty queue keeps

URGENT_BURST = BURST

cdef tuple _STATES = (MailboxState.OPEN, MailboxState.QUIESCED, MailboxState.CLOSED)


cdef class MailboxQueue(MailboxLock):
    """MailboxQueue()\n--\n\nMails on their way to the thread that made this queue.

    Ordering, as in Flink's TaskMailboxImpl: a take gets, of the mails with its priority or more,
    the oldest; before these come urgent mails in their own order, and before them what was put
    first, latest first.  When urgent mail keeps coming, then after ``URGENT_BURST`` times the
    oldest other mail has its turn, so nothing waits for ever.

    Life cycle: OPEN, then maybe QUIESCED, then CLOSED.

    Threading: any thread may put; takes, batches, ``quiesce`` and ``close`` belong to the owner,
    others get an error.  In a forked process whatever touches the mails is an error.

    Complexity: put and take cost the number of distinct priorities that are queued, not the
    number of mails.

    Errors are of the classes ``illegal_state`` and ``closed_error``.
    """

    closed_error = RuntimeError

    def __cinit__(self, *args, **kwargs):
        self.objects = []
        self.awaited = NOBODY
        lanes_init(&self.lanes)

    def __dealloc__(self):
        lanes_release(&self.lanes)

    def __repr__(self):
        state = _STATES[self.status].name.lower()
        return f"<{type(self).__name__} {state}, {load_int64(&self.total)} mails>"

    cdef object _refusal(self, str what):
        return self.closed_error(f"the mailbox is {_STATES[self.status].name}, so {what}")

    # --- put

    cdef int put_mail(self, Mail mail, int32_t kind) except -1:
        cdef uint32_t index
        cdef int status
        cdef bint wake
        self._enter()
        if self.status != QUEUE_OPEN:
            self._leave()
            raise self._refusal(f"it takes in no mail; {mail!r} was not put")
        status = lanes_room(&self.lanes, &index)
        if status == 0:
            status = -objects_fit(<PyObject*>self.objects, index)
        if status != 0:
            self._leave()
            segment_raise(status)
        objects_put(<PyObject*>self.objects, index, mail)
        lanes_put(&self.lanes, kind, mail.own_priority, mail.visible)
        store_int64(&self.total, self.lanes.count)
        wake = mail.visible >= self.awaited
        if wake:
            store_int64(&self.awaited, NOBODY)
            store_word(&self.bell, 1)
        self._leave()
        if wake:
            with nogil:
                futex_wake(&self.bell, 1)
        return 0

    def put(self, mail):
        """Put a mail: after the others, or ahead of those that are not urgent."""
        if not isinstance(mail, Mail):
            raise not_a_mail(mail)
        self.put_mail(mail, KIND_URGENT if (<Mail>mail).option == OPTION_URGENT else KIND_NORMAL)

    def put_first(self, mail):
        """Put a mail before all others, urgent ones and earlier ``put_first`` included."""
        if not isinstance(mail, Mail):
            raise not_a_mail(mail)
        self.put_mail(mail, KIND_FRONT)

    # --- take

    cdef Mail _pick(self, int32_t mode, int64_t priority, bint arm):
        """The next mail, or None; with `arm` the next put of such a mail rings then."""
        cdef uint32_t index
        cdef PyObject* taken = NULL
        self._enter()
        if lanes_take(&self.lanes, mode, priority, &index):
            taken = objects_take(<PyObject*>self.objects, index)
            store_int64(&self.total, self.lanes.count)
            if arm and self.awaited == priority:
                self.missed += 1    # it came while Q4 says that it would ring
            if self.lanes.count == 0 and self.lanes.used > KEEP:
                lanes_trim(&self.lanes)
                objects_clear(<PyObject*>self.objects)
        elif arm and self.status == QUEUE_OPEN and self.exclusive == 0:
            store_word(&self.bell, 0)
            store_int64(&self.awaited, priority)
        self._leave()
        return None if taken == NULL else <Mail>stolen_reference(taken)

    cdef Mail take_mail(self, int32_t mode, int64_t priority):
        self._own()
        if self.status == QUEUE_CLOSED:
            raise self._refusal("it gives out no mail")
        if load_int64(&self.total) == 0 and self.generation == fork_generation():
            return None
        return self._pick(mode, priority, False)

    cdef Mail await_mail(self, int64_t priority, int64_t nanos):
        cdef Mail mail = self.take_mail(TAKE_VISIBLE, priority)
        if mail is not None or nanos == 0:
            return mail
        try:
            return self._park(priority, nanos)
        finally:
            pthread_mutex_lock(&self.lock)
            store_int64(&self.awaited, NOBODY)
            pthread_mutex_unlock(&self.lock)

    cdef Mail _park(self, int64_t priority, int64_t nanos):
        cdef int64_t span
        cdef bint interrupted
        cdef Mail mail = self._pick(TAKE_VISIBLE, priority, True)
        while mail is None and nanos != 0:
            if self.status != QUEUE_OPEN:
                raise self._refusal(f"no mail of priority {priority} or more can come any more")
            if load_thread(&self.exclusive) == PyThread_get_thread_ident():
                raise self.illegal_state(
                    "take would not end within run_exclusively, which keeps all others from "
                    "putting mail: use try_take there"
                )
            span = SLICE if nanos < 0 or nanos > SLICE else nanos
            with nogil:
                interrupted = futex_wait(&self.bell, 0, span)
            PyErr_CheckSignals()
            if nanos > 0:
                nanos = 0 if interrupted else nanos - span
            mail = self._pick(TAKE_VISIBLE, priority, True)
        return mail

    def take(self, priority=-1, nanos=None):
        """The next mail with ``priority`` or more, waiting for it.

        None when ``nanos`` ns are over, or earlier if a signal came.  Signals are served while it
        waits, so Ctrl-C ends it.  On a quiesced mailbox without such a mail, where Flink would
        wait for ever, this is a ``closed_error``.
        """
        cdef int64_t span = -1
        if nanos is not None:
            span = nanos
            span = max(span, 0)
        return self.await_mail(read_priority(priority), span)

    def try_take(self, priority=-1):
        """The next mail with ``priority`` or more, or None."""
        return self.take_mail(TAKE_VISIBLE, read_priority(priority))

    def try_take_ignoring_deferrable(self, priority=-1):
        """The same, but deferrable mails count by their original priority.

        As in Flink's MailboxExecutorImpl.
        """
        return self.take_mail(TAKE_ORIGINAL, read_priority(priority))

    cdef bint make_batch(self) except -1:
        self._own()
        if load_int64(&self.total) == 0 and self.generation == fork_generation():
            return False
        self._enter()
        lanes_batch(&self.lanes)
        self._leave()
        return True

    def create_batch(self):
        """Make a batch of all that is queued; whether there is any.  O(1)."""
        return self.make_batch()

    def try_take_from_batch(self):
        """The next mail of the batch, or an urgent one, or None.

        As in Flink's MailboxExecutor.MailOptions.  An urgent mail that came after the batch brings
        everything into it that is queued then.
        """
        return self.take_mail(TAKE_BATCH, -1)

    # --- what there is

    cdef bint is_empty(self) noexcept:
        return load_int64(&self.total) == 0

    def has_mail(self):
        """Whether there is any mail, of whatever priority."""
        self._own()
        return not self.is_empty()

    def size(self):
        """How many mails there are; from any thread."""
        return load_int64(&self.total)

    @property
    def state(self):
        """A MailboxState; from any thread."""
        cdef int32_t status
        self._enter()
        status = self.status
        self._leave()
        return _STATES[status]

    @property
    def awaits_mail(self):
        """Whether the owner waits for mail just now; from any thread."""
        return load_int64(&self.awaited) != NOBODY

    def adopt(self):
        """Make the calling thread the owner; not while the owner waits for mail.

        The code that hands a mailbox over sees to it that only one thread works with it at a time.
        """
        cdef bint parked
        self._enter()
        parked = self.awaited != NOBODY
        if not parked:
            self.owner = PyThread_get_thread_ident()
        self._leave()
        if parked:
            raise self.illegal_state(
                f"thread {self.owner} waits for mail of this mailbox, so it cannot change hands"
            )

    # --- the end

    cdef list _drain(self, bint close):
        cdef MailLanes taken
        cdef list objects, fresh = [], mails = []
        cdef uint32_t index
        self._enter()
        if close:
            self.status = QUEUE_CLOSED
        taken = self.lanes
        objects = self.objects
        lanes_init(&self.lanes)
        self.lanes.sequence = taken.sequence
        self.lanes.batch_end = taken.sequence
        self.objects = fresh
        store_int64(&self.total, 0)
        self._leave()
        lanes_batch(&taken)    # so that none of them is late
        try:
            while lanes_take(&taken, TAKE_VISIBLE, -1, &index):
                mails.append(stolen_reference(objects_take(<PyObject*>objects, index)))
        finally:
            lanes_release(&taken)
        return mails

    def drain(self):
        """Take out all mails, in the order in which takes would get them."""
        return self._drain(False)

    def quiesce(self):
        """Take in no more mail; nothing happens on a quiesced or closed one."""
        self._own()
        self._enter()
        if self.status == QUEUE_OPEN:
            self.status = QUEUE_QUIESCED
        self._leave()

    def close(self):
        """Take in and give out no more; the mails that nobody took.  A second time: []."""
        self._own()
        return self._drain(True)

    # --- doubts

    def _check(self):
        """Raise AssertionError where the invariants of ``mailbox.pxd`` do not hold."""
        cdef const char* fault
        cdef size_t i
        cdef int64_t held = 0, count
        self._enter()
        fault = lanes_fault(&self.lanes)
        for i in range(objects_room(<PyObject*>self.objects)):
            held += objects_hold(<PyObject*>self.objects, i)
        count = self.lanes.count
        if fault == NULL and self.total != count:
            fault = "the public count is another"
        elif fault == NULL and held != count:
            fault = "objects and nodes are not equally many"
        elif fault == NULL:
            fault = self._lock_fault()
        if fault == NULL and self.missed != 0:
            fault = "a wake-up was lost"
        self._leave()
        if fault != NULL:
            raise AssertionError(f"{fault.decode()}: {count} nodes, {held} objects")
