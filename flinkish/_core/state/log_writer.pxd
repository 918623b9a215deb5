# Write the log of a table; `state/log.pxd` describes the form.

from libc.stdint cimport uint32_t, uint64_t

from flinkish._core.state.table cimport Ids, Table

# Write what changed since the last commit; nothing when all that came has gone.  0 or an errno.
cdef int write_changes(Table* table, Writer* writer) noexcept nogil

# Write everything that the rows in `rows` (ascending) hold, and their timers: the slots of these
# in order of registration.  `first`: nothing is written before it.
cdef int write_whole(Table* table, Ids* rows, bint first, const Ids* event, const Ids* processing,
                     Writer* writer) noexcept nogil

# Write timers of rows that earlier pieces have written; of `rows` those that have timers are left.
cdef int write_timers(Table* table, Ids* rows, const Ids* event, const Ids* processing,
                      Writer* writer) noexcept nogil

# About how many bytes `write_whole` takes for a row without its timers.
cdef uint64_t bytes_of_row(Table* table, uint32_t row) noexcept nogil
