# Apply the log of a table; `state/log.pxd` describes the form.

from flinkish._core.state.table cimport Ids, Table

# How to read: ids as they are in the log (a replay), or ids anew (a whole table into one that
# may hold other things, as after rescaling).
cdef enum:
    SAME_IDS = 0
    NEW_IDS = 1

# Apply one piece of a log.  `cells` maps the log's cell numbers to the table's.  Tracking must
# be off.  0, EBADMSG for bytes that make no sense, or another errno; after an error the table
# is half changed and must be thrown away.  The caller rebuilds free chains afterwards.
cdef int read_log(Table* table, Reader* reader, const Ids* cells, int ids, unsigned short key_group) noexcept nogil
