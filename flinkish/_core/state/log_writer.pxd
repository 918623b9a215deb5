# Write the log of a table; `state/log.pxd` describes the form.

from flinkish._core.state.table cimport Ids, Table

# Write what changed since the last commit; nothing when all that came has gone.  0 or an errno.
cdef int write_changes(Table* table, Writer* writer) noexcept nogil

# Write everything that the rows in `rows` (ascending) hold, and their timers: the slots of these
# in order of registration.
cdef int write_whole(Table* table, Ids* rows, const Ids* event, const Ids* processing,
                     Writer* writer) noexcept nogil
