# Calls that cross a connection.
#
# A Session is one side of a connection: it takes the frames that come in and knows both the links
# that the peer has opened to endpoints here and the asks that we have under way to the peer.
#
#     frame     whose          endpoint field    method field           call field
#     TELL ASK  the peer's     index of a Link   number in the peer's   chosen by the asker,
#                                                schema                 0 in a TELL
#     REPLY     ours           -                 -                      that of the ask
#     ERROR     ours           -                 -                      that of the ask
#
# Method numbers are those of the caller's schema; a Link holds, for each of them, the procedure
# of the endpoint, or None where it has none.  The fencing token is agreed on when the link is
# opened, and checked in the endpoint's turn at every call (`admission`).
#
# Invariants:
#   S1  An ask is in `asks` from before it is sent until it is settled: an answer finds it,
#       whichever thread gives it up takes it out, and when the connection is lost `lose` fails all
#       that are left.  Its time may be over before it is entered: the thread that enters it looks,
#       and takes it out.  After the loss `lost` is set and nothing is entered: both happen within
#       the session's critical section.
#   S2  The reader calls `accept` and `settle`: the I/O thread, or the one that borrowed the reading
#       (`reading.pxd`).  Neither runs a method of an endpoint: requests go into inboxes, and `settle`
#       rings for each run queue once.  Nor does it run callbacks (F5).
#   S3  Requests are given back to the sender's credit when their turn takes them, or when they are
#       refused.
#   S4  Who waits for the last ask that was made over a connection reads there itself, if nobody
#       does.  Others wait for many answers, and the I/O thread gives them many at once.  An asker
#       names the reading in its future before it looks whether the future has ended; `ended` looks
#       there afterwards, and rings.
#   S5  A reply is sent with the flush of the buffer (B4, B5): it never waits for the next letter
#       of the turn, which may take its time, or wait for what the asker does with this reply.
#   S6  A peer that does not read its replies gets no more of them (`rpc/gate.pxd`).

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from flinkish._core.rpc.frame_buffer cimport FrameBuffer
from flinkish._core.rpc.framing cimport Frame, FrameSink
from flinkish._core.rpc.reading cimport Reading
from flinkish._core.rpc.calls cimport AskFuture, Call, Port, Procedure
from flinkish._core.rpc.inbox cimport Inbox

include "gate.pxd"

cdef class Link:
    cdef readonly Inbox inbox
    cdef readonly object token         # what calls over this link are checked by
    cdef list procedures               # by the caller's numbers
    cdef list names
    cdef Session session

cdef class Session(FrameSink):
    cdef readonly object connection
    cdef FrameBuffer out               # the same
    cdef readonly object owner         # has the slow half: on_open(session, call, payload)
    cdef list links
    cdef dict asks                     # call -> RemoteAsk
    cdef uint64_t last_call
    cdef readonly object lost          # the error, once the connection is over
    cdef list due                      # run queues to ring for
    cdef list woken                    # answered futures whose waiters are to be woken
    cdef Reading reading
    cdef Gate gate
    cdef uint64_t enter(self, RemoteAsk ask) except 0
    cdef int _request(self, Frame* frame) except -1
    cdef int _answer(self, Frame* frame, bint good) except -1

cdef class RemoteCall(Call):
    cdef Link link
    cdef uint64_t call                 # 0 for a tell
    cdef int64_t length                # bytes of the frame

cdef class RemoteAsk(AskFuture):
    cdef Session session
    cdef uint64_t call                 # 0 when it is not in the session's table
    cdef Reading reading               # that its asker waits with

# A link as its user sees it; never changes, so that a call uses one of them from end to end.
cdef class Route:
    cdef readonly Session session
    cdef uint32_t link
    cdef frozenset absent              # numbers of methods that the endpoint does not have

# The way to an endpoint: the present route, and how to find another one when the connection is
# lost.  Shared by all gateways that were made of one.
cdef class Way:
    cdef readonly Route route
    cdef object again                  # called with the way, once for each loss; or None
    cdef bint searching
    cdef int search(self) except -1

cdef class RemotePort(Port):
    cdef readonly Way way
    cdef uint32_t generation
    cdef Route _ready(self, Procedure procedure)
    cdef int _send(self, Route route, Procedure procedure, int kind, uint64_t call,
                   object payload, int64_t millis) except -1
