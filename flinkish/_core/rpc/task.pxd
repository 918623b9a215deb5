# Functions that run in the main thread of an endpoint, and the waits for what turns do.
#
# A thread that waits in a turn for another turn is replaced by a spare thread meanwhile (I7 of
# rpc/inbox.pxd), or gets a DeadlockError if the wait could never end (`Inbox.waits_for`).

from flinkish._core.rpc.future cimport TimedFuture
from flinkish._core.rpc.inbox cimport Inbox, RunQueue

# A future that a turn of `inbox` ends; None when that is in another process.
cdef class TurnFuture(TimedFuture):
    cdef Inbox inbox
    cdef RunQueue unrung                # a wake that is due before this thread sleeps
    cdef object awaited(self)           # a name for what is waited for
