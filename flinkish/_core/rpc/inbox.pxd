# Inboxes by the hundred thousand, and the few threads that run them.
#
# An inbox is what an endpoint has instead of a thread: a TaskMailbox belongs to one thread and knows
# priorities; an inbox belongs to whichever thread runs its turn, knows only first come first served,
# and weighs a few hundred bytes.  What both promise is the same: everything an endpoint does runs
# serially, in the order in which it was asked, in its "main thread".
#
# Invariants:
#   I1  An inbox is in at most one place: in a run queue, or in a turn; `scheduled` says so.  The
#       put that finds it unscheduled pushes it; a turn that ends with letters left pushes it again;
#       only the end of a turn that leaves none makes it unscheduled, in the section in which it
#       sees that none came.  So one thread runs it at a time, and no letter is forgotten.
#   I2  `batch` is touched by the turn only, last letter first; `arrived` within the inbox's
#       critical section.  Letters come out in the order in which they went in.
#   I3  `runner` is the thread in the turn, 0 when there is none: what validate_runs_in_main_thread
#       asks.  It is 0 before the inbox is unscheduled.
#   I4  A closed inbox takes no letter and has none: a thread that puts one is told at once.  It is
#       closed within its own turn only.
#   I5  No ready inbox is forgotten: a worker that finds none counts itself in `parked` and reads
#       `bell` in one section; a push that sees a parked worker and no wake on its way (`waking`)
#       moves `bell`, then wakes.  The woken worker clears `waking`, and when it leaves work undone
#       it wakes the next one.  So as long as inboxes wait and workers sleep, one worker is on its
#       way to the queue.
#   I6  A worker that finds none after a single call from another process may read that connection
#       meanwhile (`reader`, one of them in a queue).  It is not parked; a push that finds nobody
#       parked rings for it.  It names itself in the section in which it sees no inbox, and looks
#       again when it has borrowed the reading, for a ring before that is not heard.  What it reads
#       itself wakes nobody: it is on its way.
#   I7  `workers` - `waiting` threads are free for turns, and that is 1 at least: a worker that is
#       about to wait for an answer in a turn starts a spare one otherwise.  Surplus workers end
#       when they find nothing to do.
#   I8  A turn delivers `limit` letters at most; then others have theirs.
#   I9  What a letter raises ends its own inbox at most, never the worker: the end of a turn is made
#       in any case, and a thread that cannot be started is not counted.
#   I10 A call whose method returned a future is in `pending` from before the future's end is
#       listened to; the thread that takes it out answers it: the end of the future, or the end of
#       the endpoint.  Calls that nobody waits for any more are dropped from time to time.
#
# Critical sections are as in timer_tasks.pxd: no Python code runs in one, no object of the garbage
# collector is made or freed, none is nested.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.rpc.reading cimport Reading

# What an inbox delivers.
cdef class Letter:
    # In the turn.  What it raises ends the endpoint.
    cdef int deliver(self, Inbox inbox) except -1
    # The inbox is closed.
    cdef int refuse(self, Inbox inbox) except -1
    # The inbox was closed before the future that was to be the answer has ended.
    cdef int abandon(self, Inbox inbox) except -1
    # Whether nobody waits for the answer any more.
    cdef bint given_up(self) except -1
    # Where the next one may come from, if that waits for this one; or None.
    cdef Reading reading(self)

cdef enum InboxLife:
    LIFE_STOPPED
    LIFE_STARTED
    LIFE_TERMINATING     # still delivers
    LIFE_TERMINATED

cdef class Inbox:
    cdef readonly object target         # the endpoint; None when it has ended
    cdef readonly object home           # the service
    cdef readonly str name
    cdef readonly object token          # of a fenced endpoint, else None
    cdef RunQueue queue
    cdef Inbox waits_for                # whose answer its main thread waits for
    cdef list arrived
    cdef list batch
    cdef dict held                      # Gate -> calls of its connection; None when there are none
    cdef dict pending                   # Letter -> True; None before the first one
    cdef Py_ssize_t look_at             # how many pending ones are looked through for given-up ones
    cdef unsigned long runner
    cdef int life                       # InboxLife; changes in turns only
    cdef uint32_t generation            # of forks: a child has no thread that would run it
    cdef bint scheduled
    cdef bint closed

    # Take a letter, or refuse it.  `wake` = False leaves the wake to the caller, who is about to
    # sleep itself: True is returned when one is due.
    cdef int check_process(self) except -1
    cdef bint put(self, Letter letter, bint wake) except -1
    # Whether there is more goes to `more`.  Of a turn with a single letter its `reading` is returned.
    cdef Reading turn(self, int limit, bint* more)
    cdef int deliver_one(self, Letter letter) except -1
    cdef int refuse_one(self, Letter letter) except -1
    cdef int keep_pending(self, Letter call) except -1
    cdef bint take_pending(self, Letter call) except -1
    cdef int fail_pending(self) except -1
    cdef int close_now(self) except -1

cdef class RunQueue:
    cdef list ready                     # the next one last
    cdef list later
    cdef uint32_t bell
    cdef int parked
    cdef int limit
    cdef int keep                       # workers when none waits
    cdef int workers
    cdef int waiting                    # workers that wait for an answer within a turn
    cdef object spare
    cdef Reading reader                 # with which a worker waits for a connection, or None
    cdef bint waking
    cdef bint closed
    cdef readonly int64_t turns
    cdef readonly int64_t letters
    cdef bint push(self, Inbox inbox, bint wake) except -1
    cdef int _again(self, Inbox inbox) except -1      # by the worker that had its turn
    cdef Inbox next_one(self, Reading reading)
    cdef bint _read(self, Reading reading) except -1
    cdef void ring(self) noexcept
    # Around a wait of a worker in a turn: another one takes its place.
    cdef int begin_wait(self) except -1
    cdef int end_wait(self) except -1

cdef void unraisable(object error) noexcept

# The inbox whose turn this thread is in, or None.
cdef Inbox current_inbox()
