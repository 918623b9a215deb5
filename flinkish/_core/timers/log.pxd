# What changed in timers, for a log; and timers from a log.
#
# Recording: while `tracking`, a removed timer that was there at the last timers_clear_changes is
# noted by its slot, an added one by its slot and its sequence.  A timer that came and went in
# between leaves no trace.  A slot may be in both lists: first all removals, then all additions.
#
# Replay, with tracking off: per log entry timers_remove_slot for all removals, then
# timers_insert_at for all additions in the order of the log, which is the order of registration;
# after the last entry timers_rebuild_free.  The result has every timer in its recorded slot, so
# that the next entries of the log fit.  timers_load does a whole snapshot in one pass.

from libc.stdint cimport int64_t, uint32_t


# Switch recording on or off; both forget what was recorded.
cdef void timers_track(Timers* timers, bint on) noexcept nogil

# Slots of removed timers, `timers.removed_count` of them; valid until the next change.
cdef const uint32_t* timers_removed(Timers* timers) noexcept nogil

# The next added timer that is still there, in order of registration.  Start with cursor 0; 0 at
# the end.
cdef bint timers_next_fresh(Timers* timers, size_t* cursor, Timer* out) noexcept nogil

# All recorded changes are in the log: start over.
cdef void timers_clear_changes(Timers* timers) noexcept nogil

# Replay.  timers_remove_slot: 1, or 0 when the slot holds no timer.  timers_insert_at: 1; 0 when
# such a timer exists; -EINVAL when the slot is taken; or -errno.
cdef int timers_remove_slot(Timers* timers, uint32_t slot) noexcept nogil
cdef int timers_insert_at(Timers* timers, uint32_t slot, int64_t timestamp, uint32_t key,
                          uint32_t ns, uint32_t group) noexcept nogil

# Chain the free slots again, lowest first.  Until then adding takes new slots only.
cdef void timers_rebuild_free(Timers* timers) noexcept nogil

# Fill empty timers with `count` timers of one group, given in order of registration, in one
# pass.  `slots` may be NULL: 0, 1, 2, ...  0; -EINVAL when timers are there, a slot comes twice
# or a timer comes twice; or -errno.  After a failure the timers are empty.
cdef int timers_load(Timers* timers, size_t count, const uint32_t* slots,
                     const int64_t* timestamps, const uint32_t* keys,
                     const uint32_t* namespaces, uint32_t group) noexcept nogil

# Write the slots of all timers in order of registration: `out` has room for timers_count.  With
# timers_get on each it is the snapshot that timers_load takes.  0 or -errno.
cdef int timers_by_registration(Timers* timers, uint32_t* out) noexcept nogil
