# Rows of a table by keys that it may know already, and the end of rows that hold nothing.

include "key_gather.pxd"
include "row_visits.pxd"

#
# The key group of a key costs a hash of Java's; a row remembers it.  So look a key up first and
# compute its key group only when it is new.  These functions are for the walls alone.
