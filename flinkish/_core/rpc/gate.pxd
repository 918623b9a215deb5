# Replies of a connection are bounded: calls of a peer that reads none are not carried out.
#
# A request of a few bytes may ask for a reply of many.  A thread must not wait for a peer to read, so
# while the way out of a connection holds more than `ample` bytes, the calls that came over it are
# held back, unlike those of others; so are results that are there, not yet encoded.  So the replies of
# a connection need `ample` bytes, and a reply of each method that was running meanwhile.  What is
# held back is bounded by the credit of requests, which is given back when they are carried out.
#
# Invariants:
#   G1  The calls of a connection to an endpoint are carried out in the order in which they came: as
#       long as some are held back (`Inbox.held`), so are those that follow, and `Resume` puts them in
#       front of what has come meanwhile.  `Inbox.held` is touched in turns of the inbox alone.
#   G2  Nothing is held back for ever: `hold_back` sets `relief_due` in the section of the buffer in
#       which it sees a backlog, and the flusher that carries that away clears it and calls `relieve`.
#       Who holds back looks at `relief_due` again afterwards, and calls `relieve` itself if that has
#       been too early; so does the end of the connection.
#   G3  An endpoint that ends refuses what it holds back.

from flinkish._core.rpc.frame_buffer cimport FrameBuffer
from flinkish._core.rpc.inbox cimport Inbox, Letter

cdef class Gate:
    cdef FrameBuffer out
    cdef dict inboxes             # that hold calls back
    cdef object late              # deque of (call, result)
    cdef bint is_narrow(self) noexcept
    # Whether the call, or the answer, is held back.
    cdef bint hold(self, Letter call, Inbox inbox) except -1
    cdef bint hold_answer(self, object call, object result) except -1
