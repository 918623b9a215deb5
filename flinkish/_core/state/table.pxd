# The Python face of a table of keyed state, and the one owner of its memory.

from libc.stdint cimport int32_t, uint32_t

include "rows.pxd"
include "index.pxd"
include "entries.pxd"
include "intern.pxd"
include "open.pxd"
include "check.pxd"

cdef class StateTable:
    cdef Table table
    cdef bint ready                         # segments are open
    cdef readonly list cells                # descriptions given to `add_cell`, by cell
    cdef public long long processing_time   # ms; decides what has outlived its time
    cdef public long long watermark         # ms
    cdef uint32_t current                   # row of the current key, or NO_ROW; held: NO_ROW
    cdef unsigned long worker               # thread for which a key was made current last, or 0
    cdef uint32_t generation                # forks before the memory was opened
    cdef unsigned long holder               # thread at work without the GIL, or 0 (`one_thread`)
    cdef uint32_t row_held                  # the current row that `let_go` makes current again
    cdef public object illegal_state        # classes of errors, for the walls to choose:
    cdef public object illegal_argument     #   a moment, a value, a type that will not do
    cdef public object illegal_type
    cdef public object not_serializable     #   a value that cannot be pickled

    # Whether this is another thread than the one for which a key was made current, or a forked
    # child.
    cdef bint is_elsewhere(self) noexcept

    # `illegal_state` if so, for `thing`.
    cdef int check_place(self, str thing) except -1

    # Make a row current, or none, for the thread that runs.
    cdef void use_row(self, uint32_t row) noexcept

    # `illegal_state` when a thread is at work without the GIL, or nothing is open; DamagedTable.
    cdef int check_alone(self) except -1
    cdef int check_open(self) except -1

    # Around sections without the GIL, and between them if they belong together: no other thread gets
    # at the table.  It has no current key meanwhile, so that handles, which look for one anyway,
    # need not look twice.
    cdef int hold(self) except -1
    cdef void let_go(self) noexcept

    # ValueError for a cell that was not added.
    cdef int check_cell(self, uint32_t cell) except -1

    # The error for a value that cannot be kept because of another one; `keeper` was given it.
    cdef object unkeepable(self, str keeper, object value, object error)

    # Make `key` (within `namespace`, unless that is None) the current key.
    cdef int select(self, object key, object namespace, uint32_t key_group) except -1

    # Give each key of a column its row; the error for a bad column names the key.
    cdef int intern(self, KeyColumn* keys, const int32_t[::1] key_groups,
                    uint32_t[::1] rows) except -1


# A table that never opens: what handles, contexts and operators have until their `__init__` gives
# them another, so that none of them has to look whether it has one.
cdef StateTable NOWHERE
