# Session windows of keys in a table.
#
#   key row ──cell──▶ chain of sessions, each [begin, end) and a record
#
# An element at t is a session [t, t + gap) until it meets others: sessions that overlap or touch
# are one (Flink: TimeWindow).  The sessions of a key never touch, and all are kept in one chain,
# which is looked through for each element: a key has few that are not forgotten.
#
# Timers, by service: FIRE at the last millisecond of a session, CLEANUP at the end of its
# lateness.  A session grows with nearly every element and its timers stay where they are;
# one that finds its session grown is registered anew.  Invariants:
#   * the key of a session that is not due has a FIRE timer at or before its last millisecond;
#   * the key of a session has a CLEANUP timer at or before the time when it is to be forgotten,
#     unless that is never, or there is no lateness: then FIRE forgets it.
#
# Statuses are 0 or an errno: EINVAL for a row that is of no key, EBADMSG for an entry that is no
# session.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment
from flinkish._core.state.table cimport Table

cdef struct Session:             # what an entry's value begins with; the record follows
    int64_t begin
    int64_t end

cdef struct Sessions:
    int64_t gap
    int64_t lateness
    int64_t watermark
    const Layout* layout
    Table* table
    uint32_t cell
    Segment nothing              # a session of zeros
    Fired fired

# Take in one row of the columns with the time `time`.  What fires at once is in `fired`, and what
# comes too late in `fired.late`, under the number `at`.
cdef int session_add(Sessions* sessions, uint32_t row, int64_t time, const WordColumn* columns,
                     uint32_t at, uint64_t arrival) noexcept nogil

# Fire every session that is due at `watermark`, in order of time, and set the watermark.
cdef int sessions_advance(Sessions* sessions, int64_t watermark, uint64_t* fired) noexcept nogil
