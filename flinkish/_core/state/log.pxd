# The log of a table: bytes that say what changed, and bytes that say everything.
#
# Column by column, so that it compresses: rows touched (ids ascending), keys of new rows, then
# cell by cell the new values, chains that were emptied, entries removed, entries put, and for
# each timer heap timers removed and timers added.  Numbers are differences to the one before.
#
# Row, entry and timer ids are in the log, so a replay gives every thing its id again, and the
# next piece of the log fits.  A whole table (`dump_all`) has the same form, with everything
# new; cut into pieces (`dump_pieces`), those after the first are changes whose rows are new.
# Reading checks every length and id: bytes of another origin are an error, never a crash.

from flinkish._core.state.table cimport Table

include "bytestream.pxd"
include "log_writer.pxd"
include "log_reader.pxd"

cdef enum:
    LOG_CHANGES = 0
    LOG_WHOLE = 1
    ROW_IS_NEW = 1          # its key follows
    ROW_IS_GONE = 2
    ENTRY_IS_NEW = 1        # its map key follows
