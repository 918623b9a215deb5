# Tables of many key groups, by turns in the table of one engine.
#
# The engine, its handles and its timer service belong to one table.  What a key group holds is
# laid into this table while it is at hand, and into a table of its own while another one is: an
# exchange of two structs, whatever they hold.

from libc.stdint cimport int64_t

from flinkish._core.state.table cimport StateTable


cdef class OpenTable:
    cdef StateTable table               # what the key group holds, unless it is at hand
    cdef int64_t event                  # when its next timers are due on either clock, ms
    cdef int64_t processing


cdef class KeyGroupTables:
    cdef readonly StateTable table
    cdef readonly int at_hand           # key group, or -1
    cdef readonly long long event       # no timer is due before, ms; or the highest number
    cdef readonly long long processing
    cdef bint served                    # timers on processing time count
    cdef dict open                      # OpenTables by key group
    cdef list ends                      # of runs of elements, for `take_ends`

    # Have a key group at hand.
    cdef OpenTable move(self, int key_group)

    # See when its next timers are due; and be ready for those.
    cdef void look_at(self, OpenTable own) noexcept
    cdef void note(self, OpenTable own) noexcept
