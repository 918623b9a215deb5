# The mailbox of a thread: many put, one takes.
#
# Invariants:
#   Q1  `lanes`, `objects`, `status`, `awaited` and `exclusive` change under `lock` only.  `lock`
#       is held for a few instructions: no Python code runs under it, nothing is raised, no memory
#       of the garbage collector is asked for, and the GIL is not given up.  So a thread that waits
#       for it waits briefly, with the GIL or without one.
#   Q2  objects[i] is the mail of node i, or None: C memory holds integers, and the garbage
#       collector sees every mail.  The reference moves from the list to the thread that takes the
#       mail.
#   Q3  `total` is the number of mails.  It is written under `lock`; the owner may read it without:
#       a mail that a put has announced to anybody is counted before.
#   Q4  No wake-up is lost.  The owner, under `lock`, finds no mail that it may take, and before
#       the lock is free it sets `bell` to 0 and `awaited` to what it waits for.  A put, under
#       `lock`, sees `awaited`, clears it and sets `bell` to 1, and when the lock is free wakes
#       `bell`.  Either the put came first and the owner found the mail; or the owner came first,
#       and then `bell` is 1 before it sleeps, so that the kernel does not let it, or the wake
#       comes after.
#   Q5  One wake for a burst: the put that clears `awaited` wakes, all others see that nobody
#       waits.  Mails that the owner does not wait for wake nobody.
#   Q6, Q7: see mailbox/lock.pxd.
#
# Threads: `put`, `size`, `state` and `run_exclusively` are for all, the rest for `owner`.
# Ownership: __cinit__ makes lanes and lock, __dealloc__ releases them.

from libc.stdint cimport int32_t, int64_t, uint32_t

include "mail.pxd"
include "lanes.pxd"
include "lock.pxd"
include "loop.pxd"

cdef enum QueueStatus:
    QUEUE_OPEN
    QUEUE_QUIESCED    # takes, puts no more
    QUEUE_CLOSED

cdef class MailboxQueue(MailboxLock):
    cdef MailLanes lanes
    cdef list objects
    cdef int64_t total
    cdef int64_t awaited           # priority the parked owner waits for; NOBODY when it does not
    cdef uint32_t bell
    cdef int32_t status            # QueueStatus
    cdef uint32_t missed           # wake-ups that were lost: 0, or Q4 does not hold

    cdef int put_mail(self, Mail mail, int32_t kind) except -1
    cdef Mail _pick(self, int32_t mode, int64_t priority, bint arm)
    # The next mail, or None: lanes_take's arguments.
    cdef Mail take_mail(self, int32_t mode, int64_t priority)
    # The same, waiting for `nanos` at most, or until there is one with -1.  None only when the
    # time is over or a signal came.
    cdef Mail await_mail(self, int64_t priority, int64_t nanos)
    cdef Mail _park(self, int64_t priority, int64_t nanos)
    cdef bint make_batch(self) except -1
    cdef bint is_empty(self) noexcept
    cdef object _refusal(self, str what)
    cdef list _drain(self, bint close)
