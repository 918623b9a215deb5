# The loop of the mailbox thread: run mails, then the default action, again and again.
#
# Invariants:
#   M1  All fields belong to the mailbox thread.  Other threads change them by control mails,
#       which are put first, with the highest priority.
#   M2  One turn of the loop takes a bounded number of mails: the batch, and what mailbox.pxd lets
#       urgent mails add.  So no mail starves the default action; and every turn looks for mail,
#       so no default action starves mails.
#   M3  The default action is not called while `suspension` is set; only `resume` of that very
#       suspension clears it.
#   M4  Once `running` is False it stays so.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t


cdef class MailboxLoop:
    cdef readonly MailboxQueue mailbox
    cdef object default_action         # called with `controller`
    cdef MailboxController controller
    cdef Suspension suspension         # the default action is suspended by it, or None
    cdef object after_mail             # called once, after the next mail that does not end the loop
    cdef int64_t mails                 # run so far
    cdef uint32_t turns                # since signals were looked for
    cdef bint running
    cdef bint suspended                # the loop is to return

    cdef int _start(self) except -1
    cdef int _run_mail(self, Mail mail) except -1
    cdef int _run_mail_paused(self, Mail mail) except -1
    cdef bint _run_queued(self) except -1
    cdef bint _act_if_available(self) except -1
    cdef int _run_batch(self) except -1
    cdef int _await_action(self) except -1
    cdef int _act(self) except -1
    cdef int _control(self, object command, str description) except -1
    cdef int _pause_timer(self) except -1
    cdef int _restart_timer(self) except -1

@cython.final
cdef class MailboxController:
    cdef MailboxLoop loop

@cython.final
cdef class Suspension:
    cdef MailboxLoop loop
    cdef object timer                  # has mark_start and mark_end, or is None

cdef class MailExecutor:
    cdef readonly MailboxQueue mailbox
    cdef MailboxLoop loop              # or None
    cdef object action_executor        # or None
    cdef int32_t own_priority
    cdef bint _run_one(self, int32_t mode) except -1
