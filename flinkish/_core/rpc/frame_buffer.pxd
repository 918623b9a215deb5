# Frames on their way out: many threads put them in, the first that comes carries them away.
#
# Invariants:
#   B1  All fields change under `lock`, except that `outgoing` and `sent` belong to the flusher.
#       `lock` is held for a few instructions, or while a large payload is copied, and then
#       without the GIL.  No Python code runs under it.
#   B2  `pending` holds `filled` bytes: whole frames, in the order of their puts.
#   B3  At most one thread flushes: it set `flushing`, took `pending` for its `outgoing`, and
#       writes that from `sent` on.  It clears `flushing` under the lock and only when it finds
#       `pending` empty.  So the bytes of one put come after those of the puts before it, and
#       what was put is carried away: either by the flusher, which looks again, or by the thread
#       that put it and found nobody.
#   B4  A put that need not flush at once leaves it to the I/O thread and rings for it; `rung`
#       says that it has been told and has not come yet, so one ring is enough for many puts.  It
#       clears `rung` before it looks at `pending`.
#   B5  `quick` counts flushes by senders since the I/O thread last came or heard from the peer.
#       The first few are written by their senders at once: that is the shortest way for a call
#       that waits for its answer.  A thread that sends more meanwhile does not wait for answers,
#       and pays less when many frames share a system call.
#   B6  Back pressure: `credit` bytes of requests may still be put; a request is taken while it is
#       positive, whole, and may overdraw it once.  So requests under way are bounded by the
#       window of the receiver and one frame.  All other kinds are taken always.
#   B7  Credit is given back by the receiver in batches (`owed`), and not while its own way out
#       holds more than a window: a peer that sends requests and reads no replies gets no more
#       credit.  Nor are requests carried out meanwhile, whose replies would fill it
#       (`rpc/gate.pxd`).
#   B8  After `shut` nothing is put.  In a forked child nothing is touched.
#   B9  After `seal` all that is put goes out in records (`wire_records.pxd`).  What was put before,
#       `bare` bytes, goes out as it is.  The flusher makes a few records at a time of what it took:
#       `sent` counts the bytes of frames whose records are written as a whole.
#
# The flusher's half is FrameWriter (`frame_writer.pxd`).
#
# Threads: puts are for all; begin, the buffer and advance for the flusher.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from flinkish._core.rpc.framing cimport Allowance

include "frame_writer.pxd"

cdef enum PutStatus:
    PUT_LEFT         # somebody carries it away
    PUT_FLUSH        # the caller should flush
    PUT_RING         # the caller should tell the I/O thread
    PUT_NO_CREDIT    # nothing was put
    PUT_SHUT         # nothing was put
    PUT_FAILED       # nothing was put: no memory

cdef enum PutManner:
    MANNER_APPEND    # somebody will flush
    MANNER_FLUSH     # see to it that it is carried away

cdef class FrameBuffer(FrameWriter):
    cdef bint indirect             # only the I/O thread may flush (TLS)
    cdef uint32_t quick
    cdef int64_t credit
    cdef int64_t window            # bytes of requests that we let the peer have under way
    cdef int64_t owed              # bytes consumed here that the peer does not know of
    cdef readonly Allowance allowance    # the same for the reader: C7
    cdef int64_t largest           # bytes of the largest frame that both sides allow
    cdef unsigned long long put_frames
    cdef unsigned long long put_bytes
    cdef unsigned long long lacked # puts that had to wait for credit

    # Put a frame of the application and see that it goes out when `flush` is set; errors as of
    # `send`.  Requests wait for credit, `timeout_ms` at most (-1: the connection's own limit).
    cdef int send_frame(
        self, uint8_t kind, uint8_t flags, uint16_t method, uint32_t endpoint, uint64_t call,
        const uint8_t* payload, Py_ssize_t size, bint flush, int64_t timeout_ms,
    ) except -1
    # A turn of the receiver has taken requests with so many bytes (Frame.length).
    cdef int give_back(self, int64_t size) except -1
    # Carry away what was put without flushing.
    cdef int kick(self) except -1

    cdef int _put(
        self, uint8_t kind, uint8_t flags, uint16_t method, uint32_t endpoint, uint64_t call,
        const uint8_t* payload, size_t size, int manner,
    ) noexcept nogil
    cdef int _manner(self) noexcept nogil
    cdef int _act(self, int status) except -1
