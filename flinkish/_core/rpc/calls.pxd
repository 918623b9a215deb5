# Calls of an endpoint: what a gateway sends and what arrives.
#
# A Procedure is a method of a gateway: its name, its number in the schema, what it answers and the
# functions that turn its arguments and results into bytes.  A Port is where a gateway sends to; the
# local one puts calls into the inbox of an endpoint of this process.
#
# A local call passes references (Flink: PekkoInvocationHandler): a LocalCall holds the tuple of
# arguments and the future of the asker.  With `serialize` both sides go through bytes as if they
# were remote.
#
# The blocking ask of a method `-> T` wakes the endpoint only when it is about to sleep itself, and
# is refused where it cannot end: in the turn of the very endpoint that would answer, or of one that
# the answering one waits for, however many stand between (`Inbox.waits_for`).

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.rpc.future cimport Deadlines, RpcFuture
from flinkish._core.rpc.inbox cimport Inbox, Letter

include "task.pxd"

cdef enum ProcedureKind:
    KIND_TELL
    KIND_ASK
    KIND_BLOCKING

cdef class Procedure:
    cdef readonly str name
    cdef readonly str gateway            # name of the class
    cdef readonly int number
    cdef readonly int kind               # ProcedureKind
    cdef readonly bint local             # never serialized
    cdef readonly object encode_arguments
    cdef readonly object decode_arguments
    cdef readonly object encode_result
    cdef readonly object decode_result
    cdef readonly bint foreign_result    # decoding it runs code of users, which may block

cdef class Port:
    cdef readonly object home            # the service
    cdef readonly str address
    cdef readonly str hostname
    cdef readonly object token           # of a fenced gateway, else None
    cdef readonly int64_t timeout_ms
    cdef Deadlines deadlines
    cdef bint capture                    # keep the place of the call for errors
    cdef AskFuture _ask(self, Procedure procedure, tuple arguments, int64_t millis, bint wake)
    cdef int _tell(self, Procedure procedure, tuple arguments) except -1
    cdef int64_t _millis(self, object timeout) except -1

cdef class LocalPort(Port):
    cdef readonly Inbox inbox
    cdef bint serialize

# The answer that somebody waits for.
cdef class AskFuture(TurnFuture):
    cdef Port port
    cdef Procedure procedure
    cdef object place             # where the call was made
    cdef object read(self, bytes payload, bint good, uint32_t* state)

# A turn of the endpoint runs the method, if it lets the caller in, and answers with what that
# returned or raised.
#
# Invariants:
#   C1  Whatever a call raises is the affair of that call: in the method, in its arguments, token or
#       result, in their codecs, in the making of its error.  It goes to the asker, or into the log
#       if nobody asks, whatever its class; endpoint, worker and service go on.
#   C2  An ask is answered once: when its method has returned, or when the future that this returned
#       has ended, or when the endpoint has ended before (`Inbox.pending`).
cdef class Call(Letter):
    cdef Procedure procedure
    cdef object arguments         # a tuple, or bytes

    cdef object _token(self)      # what the caller is let in by
    cdef bint _is_tell(self) noexcept
    # Of a tell the first is not called, and the second does nothing.
    cdef int _answer(self, object result) except -1
    cdef int _fail(self, object error) except -1
    cdef int _turn_away(self, Inbox inbox, object error) except -1
    cdef int _raised(self, Inbox inbox, object error) except -1
    cdef int _answer_later(self, Inbox inbox, object result) except -1
    cdef Inbox _inbox(self)       # that it is for


cdef class LocalCall(Call):
    cdef Port port                # of the caller
    cdef RpcFuture future         # None for a tell


# Arguments as a message; what cannot travel raises in the caller (Flink: PekkoInvocationHandler).
cdef object encode(Procedure procedure, tuple arguments, str address)
