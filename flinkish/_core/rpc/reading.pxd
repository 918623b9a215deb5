# Which thread reads a socket: the I/O thread, or a thread that has nothing to do but wait for what
# comes in.
#
# An answer that the I/O thread reads wakes the asker, and a call that it reads wakes a dispatcher
# thread: where one asks after the other, half of the threads that are woken only pass on what they
# have read.  So who is about to sleep until something comes in over one connection may borrow its
# reading and wait for the socket itself: the asker until its answer is there, a dispatcher thread
# until the next call.  All other connections, timers and whatever has to be written stay with the
# I/O thread, and so does this one as soon as there is anything else to do.
#
# Invariants:
#   R1  One thread at a time reads: it set `busy` within the object's critical section and clears
#       it there.  What reading touches (cutter, sink, counts) is its own meanwhile.
#   R2  While the reading is lent the I/O thread does not wait for input of this socket.  It does
#       again when it is given back, and epoll is level-triggered: what came meanwhile is found.
#   R3  Who borrows runs nobody's code: the callbacks of answers are left to other threads, and a
#       turn begins when the reading was given back.  So it is never long until that.
#   R4  A connection ends on the I/O thread, and not while its reading is lent: `end` says no then,
#       once and for all lends no more, and the socket is shut down, which ends the borrower's wait;
#       `give_back` tells that the end is still to be made.
#   R5  A borrower waits for the socket and for `bell`, an eventfd.  A ring before the wait ends it
#       at once; `rung` keeps a burst of rings from costing more than one, and is cleared before
#       the borrower looks at what it was rung for.
#   R6  A forked child borrows nothing: its parent's sockets are not its own.
#   R7  What fails while bytes are taken in ends the connection, as it does on the I/O thread; so does
#       a signal handler that raises just then, in a main thread that reads.
#
# Ownership: a bell belongs to the borrower, and is kept for the next one of any connection; epoll
# and the socket belong to the I/O thread and the connection.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.rpc.framing cimport FrameCutter, FrameSink

cdef class Reading:
    cdef object connection
    cdef FrameCutter cutter
    cdef FrameSink sink
    cdef int epoll
    cdef int fd
    cdef int bell                 # the borrower's, -1 when there is none
    cdef uint32_t generation
    cdef unsigned long holder     # the thread that borrowed, 0 when nobody did
    cdef bint may_lend            # the peer has proved itself, and nothing is to be decrypted
    cdef bint busy
    cdef bint room                # whether the I/O thread waits for room to write, too
    cdef bint rung
    cdef bint over
    cdef bint failed              # what the borrower read ends the connection
    cdef object error             # why
    cdef public int silent        # heartbeats since something came in
    cdef public int64_t received  # bytes
    cdef readonly int64_t loans

    # Whether this thread reads from here on; `give_back` must follow.
    cdef bint borrow(self) except -1
    # As the borrower: wait and take in what comes.  False when nothing came: rung, `nanos` are
    # over, a signal came, or the connection has failed.
    cdef bint read_on(self, int64_t nanos) except -1
    cdef int give_back(self) except -1
    # End the wait of a borrower, unless it is the calling thread.
    cdef int ring(self) except -1
    cdef bint is_mine(self) noexcept

    cdef int _take_in(self) except -1
    cdef int _watch(self) noexcept
    cdef int _take_bell(self) except -2
