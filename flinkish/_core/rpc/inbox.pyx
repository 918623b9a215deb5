"""Inboxes and run queues; described in ``rpc/inbox.pxd``."""

cimport cython
from cpython.ref cimport PyObject

from flinkish._core.memory.futex cimport (
    fork_generation, fork_watch, futex_wait, futex_wake, store_word,
)
from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.rpc.future cimport turn_has_more, words

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

cdef extern from *:
    """
    /* Borrowed: a turn holds the reference. */
    static __thread PyObject *flinkish_current_inbox = NULL;
    """
    PyObject* flinkish_current_inbox

cdef int64_t SLICE = 60_000_000_000   # ns a worker sleeps before it looks for itself
cdef int64_t READ_SLICE = 100_000_000 # ns for which it reads a connection before it lets go
cdef int ALL = 0x7FFFFFFF
cdef Py_ssize_t FORGOTTEN = 1024      # pending calls that nobody may wait for any more, at most


segment_raise(fork_watch())


cdef Inbox current_inbox():
    return None if flinkish_current_inbox == NULL else <Inbox>flinkish_current_inbox


cdef void unraisable(object error) noexcept:
    """Give an error of the error handling to ``sys.unraisablehook``: the thread goes on."""
    raise error


cdef class Letter:
    """Something for an endpoint."""

    cdef int deliver(self, Inbox inbox) except -1:
        return 0

    cdef int refuse(self, Inbox inbox) except -1:
        return 0

    cdef int abandon(self, Inbox inbox) except -1:
        return 0

    cdef bint given_up(self) except -1:
        return False

    cdef Reading reading(self):
        return None


cdef class Inbox:
    """Letters on their way to one endpoint, delivered one at a time."""

    def __init__(self, RunQueue queue not None, home, str name not None, target, token=None):
        self.queue = queue
        self.home = home
        self.name = name
        self.target = target
        self.token = token
        self.generation = fork_generation()
        self.arrived = []
        self.batch = []

    def __repr__(self):
        return f"<Inbox {self.name!r}, {len(self.arrived) + len(self.batch)} letters>"

    cdef int check_process(self) except -1:
        if self.generation != fork_generation():
            raise words().forked(self)
        return 0

    cdef bint put(self, Letter letter, bint wake) except -1:
        cdef bint closed, push = False
        self.check_process()
        with cython.critical_section(self):
            closed = self.closed
            if not closed:
                self.arrived.append(letter)
                push = not self.scheduled
                self.scheduled = True
        if closed:
            letter.refuse(self)
            return False
        return push and self.queue.push(self, wake)

    cdef int deliver_one(self, Letter letter) except -1:
        try:
            try:
                letter.deliver(self)
            except BaseException as error:
                words().endpoint_failed(self, error)
        except BaseException as error:
            unraisable(error)
        return 0

    cdef int refuse_one(self, Letter letter) except -1:
        try:
            letter.refuse(self)
        except BaseException as error:
            unraisable(error)
        return 0

    cdef Reading turn(self, int limit, bint* more):
        """Deliver some letters."""
        cdef list batch = self.batch
        cdef Letter letter = None
        cdef int done = 0
        more[0] = True
        self.runner = PyThread_get_thread_ident()
        global flinkish_current_inbox
        flinkish_current_inbox = <PyObject*>self
        try:
            while done < limit:
                if not batch:
                    with cython.critical_section(self):
                        self.batch = self.arrived
                        self.arrived = batch
                    batch = self.batch
                    if not batch:
                        break
                    batch.reverse()
                turn_has_more(len(batch) > 1 or len(self.arrived) != 0)
                letter = <Letter>batch.pop()
                done += 1
                self.deliver_one(letter)
        finally:
            turn_has_more(False)
            flinkish_current_inbox = NULL
            self.runner = 0
            with cython.critical_section(self):
                if not self.batch and not self.arrived:
                    self.scheduled = False
                    more[0] = False
            with cython.critical_section(self.queue):
                self.queue.turns += 1
                self.queue.letters += done
        return letter.reading() if done == 1 else None

    cdef int close_now(self) except -1:
        cdef list rest = [], batch = self.batch
        cdef Letter letter
        with cython.critical_section(self):
            self.closed = True
            self.life = LIFE_TERMINATED
            rest, self.arrived = self.arrived, rest
        while batch:
            self.refuse_one(<Letter>batch.pop())
        if self.held is not None:
            rest = [*sum(self.held.values(), []), *rest]
            self.held = None
        for letter in rest:
            self.refuse_one(letter)
        self.fail_pending()
        self.target = None
        return 0

    # --- calls whose methods have returned a future that has not ended

    cdef int keep_pending(self, Letter call) except -1:
        if self.pending is None:
            self.pending = {}
            self.look_at = FORGOTTEN
        elif len(self.pending) >= self.look_at:
            for other in list(self.pending):
                if (<Letter>other).given_up():
                    self.pending.pop(other, None)
            self.look_at = 2 * len(self.pending) + FORGOTTEN
        self.pending[call] = True
        return 0

    cdef bint take_pending(self, Letter call) except -1:
        return self.pending.pop(call, False)

    cdef int fail_pending(self) except -1:
        cdef Letter call
        while self.pending:
            try:
                call = self.pending.popitem()[0]
            except KeyError:    # the last one has just ended
                break
            try:
                call.abandon(self)
            except BaseException as error:
                unraisable(error)
        return 0

    # --- for the wall

    def in_turn(self):
        """Whether the calling thread is in this inbox's turn."""
        return self.runner == PyThread_get_thread_ident()

    def post(self, letter):
        """Put a letter; a closed inbox refuses it."""
        self.put(<Letter?>letter, True)

    def set_life(self, int life):
        """Change the life of the endpoint; in its turn only."""
        self.life = life

    def close(self):
        """Refuse what is left and whatever comes; in its turn only."""
        self.close_now()

    @property
    def life_code(self):
        """0 stopped, 1 started, 2 terminating, 3 terminated."""
        return self.life

    @property
    def pending_calls(self):
        """Calls whose methods have returned a future that has not ended."""
        return 0 if self.pending is None else len(self.pending)

    @property
    def size(self):
        """Letters that wait."""
        return len(self.arrived) + len(self.batch)


cdef class RunQueue:
    """Inboxes with letters, in the order in which they get their turns.

    ``workers`` threads are expected to call ``work``, which runs the turns; ``spare(queue)``
    starts one more.  Threading: any thread may push.
    """

    def __init__(self, int limit, int workers, spare):
        self.limit = limit
        self.keep = self.workers = workers
        self.spare = spare
        self.ready = []
        self.later = []

    cdef bint push(self, Inbox inbox, bint wake) except -1:
        cdef bint due = False
        cdef Reading reader
        with cython.critical_section(self):
            self.later.append(inbox)
            reader = self.reader
            if reader is not None and reader.is_mine():
                reader = None
            elif self.parked != 0:
                reader = None
                if not self.waking:
                    due = True
                    self.waking = True
                    store_word(&self.bell, self.bell + 1)
        if reader is not None:
            reader.ring()
        if due and wake:
            # With the GIL held: the worker needs it, and gets it when this thread waits.
            futex_wake(&self.bell, 1)
            return False
        return due

    cdef void ring(self) noexcept:
        with nogil:
            futex_wake(&self.bell, 1)

    cdef Inbox next_one(self, Reading reading):
        """The next inbox, waiting until there is one; None when the queue is closed and empty."""
        cdef Inbox inbox
        cdef list turned
        cdef uint32_t ticket = 0
        cdef bint wake, ended, reads
        while True:
            inbox = None
            wake = ended = reads = False
            with cython.critical_section(self):
                if not self.ready:
                    turned = self.ready
                    self.ready = self.later
                    self.later = turned
                    self.ready.reverse()
                if self.ready:
                    inbox = <Inbox>self.ready.pop()
                    if self.parked != 0 and not self.waking and (self.ready or self.later):
                        wake = self.waking = True
                        store_word(&self.bell, self.bell + 1)
                elif self.closed or self.workers - self.waiting > self.keep:
                    ended = True
                    self.workers -= 1
                elif reading is not None and self.reader is None:
                    reads = True
                    self.reader = reading
                else:
                    self.parked += 1
                    ticket = self.bell
            if wake:
                futex_wake(&self.bell, 1)
            if inbox is not None or ended:
                return inbox
            if reads:
                if not self._read(reading):
                    reading = None
                continue
            reading = None
            with nogil:
                futex_wait(&self.bell, ticket, SLICE)
            with cython.critical_section(self):
                self.parked -= 1
                self.waking = False

    cdef bint _read(self, Reading reading) except -1:
        """Read what comes next over a connection; False when nothing came."""
        cdef bint found = False, idle
        try:
            if reading.borrow():
                try:
                    with cython.critical_section(self):
                        idle = not self.ready and not self.later and not self.closed
                    found = idle and reading.read_on(READ_SLICE)
                finally:
                    reading.give_back()
        finally:
            with cython.critical_section(self):
                self.reader = None
        return found

    cdef int _again(self, Inbox inbox) except -1:
        with cython.critical_section(self):
            self.later.append(inbox)
        return 0

    def work(self):
        """Run turns until the queue is closed and empty: the life of a dispatcher thread."""
        cdef Inbox inbox
        cdef Reading reading = None
        cdef bint more = False
        while True:
            inbox = self.next_one(reading)
            if inbox is None:
                return
            reading = None
            try:
                reading = inbox.turn(self.limit, &more)
            except BaseException as error:
                unraisable(error)
            if more:
                self._again(inbox)
            inbox = None

    cdef int begin_wait(self) except -1:
        cdef bint starving = False
        with cython.critical_section(self):
            self.waiting += 1
            if self.workers - self.waiting < 1 and not self.closed:
                self.workers += 1
                starving = True
        if starving:
            try:
                self.spare(self)
            except BaseException:    # no thread can be had: nothing waits, and none came
                with cython.critical_section(self):
                    self.workers -= 1
                    self.waiting -= 1
                raise
        return 0

    cdef int end_wait(self) except -1:
        with cython.critical_section(self):
            self.waiting -= 1
        return 0

    def close(self):
        """Let ``work`` return when nothing is left."""
        with cython.critical_section(self):
            self.closed = True
            store_word(&self.bell, self.bell + 1)
            reader = self.reader
        futex_wake(&self.bell, ALL)
        if reader is not None:
            (<Reading>reader).ring()

    def __len__(self):
        return len(self.ready) + len(self.later)
