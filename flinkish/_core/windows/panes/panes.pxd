# Panes of keys in a table: where elements are taken in, and windows put together.
#
#   key row ──cell──▶ map of blocks: block number → records of its panes
#
# A block is a run of 2**shift panes, with a record of all of them in front if there are more than
# one.  A window of n panes is then put together from some n / 2**shift whole blocks and the single
# panes at both ends, and what the log writes for a changed pane is one block.  Blocks are
# entries of a map state, so they commit, replay and lie in a file as all state does.
#
# Timers, by service: FIRE at the last millisecond of a window, CLEANUP when a block is of no use
# any more.  Invariants:
#   * a window with elements that is not due has a FIRE timer of its key, or the window before it
#     has elements and is not due either; a window that fires registers the one after it, if that
#     has elements, so each window is reached;
#   * a block has a CLEANUP timer, unless it lasts for ever, or each window is a block of its own
#     and ends with its FIRE (no lateness);
#   * a block is forgotten only when all its panes' windows are.
#
# The watermark is kept above -2 * SHAPE_LIMIT, where it makes no difference any more.  Statuses
# are 0 or an errno: EINVAL for a row that is of no key, EBADMSG for an entry that is no block.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from flinkish._core.memory.segment cimport Segment, segment_reserve
from flinkish._core.state.table cimport Table

cdef enum:
    FIRE = 0                     # services of timers
    CLEANUP = 1
    NEAR = 64                    # blocks remembered, a power of two

cdef struct Panes:
    Shape shape
    const Layout* layout
    Table* table
    uint32_t cell
    uint32_t shift
    uint32_t block_bytes
    bint single                  # every pane is a window of its own
    Segment nothing              # block_bytes of zeros
    Segment pairs                # room to bring into the order of rows (row_order.pxd)
    int64_t watermark
    Fired fired
    # Blocks of the key whose windows are being put together, by their lowest bits: neighbouring
    # windows are made of the same.  A block that is not there is remembered as NULL.
    uint64_t near_known          # a bit for each that is remembered
    int64_t[NEAR] near_numbers
    const char* near_blocks[NEAR]

# Remember no block: to be called before windows of another key, and after any change.
cdef inline void panes_forget_near(Panes* panes) noexcept nogil:
    panes.near_known = 0

# Room in `pairs` for so many and as many again.
cdef inline int panes_reserve_pairs(Panes* panes, size_t count) noexcept nogil:
    return segment_reserve(&panes.pairs, 2 * count * sizeof(uint64_t))

# Merge a record into a pane of a key.
cdef int pane_merge(Panes* panes, uint32_t row, int64_t pane, const char* record) noexcept nogil

# Merge each group into the pane that it is named by.
cdef int panes_merge_groups(Panes* panes, Groups* groups) noexcept nogil

# Take one row of the columns into a pane some of whose windows have been due: each of those that
# is not forgotten fires: sliding ones from the last to begin to the first (Flink: WindowOperator,
# EventTimeTrigger, SlidingEventTimeWindows), cumulative ones from the shortest to the longest.
cdef int pane_add_late(Panes* panes, uint32_t row, int64_t pane, const WordColumn* columns,
                       int64_t at, uint64_t arrival) noexcept nogil

# Ask for the memory of the blocks that a window is made of.
cdef void fetch_blocks(Panes* panes, uint32_t row, int64_t end) noexcept nogil

# Merge the panes from `begin` to `end`, which panes begin and end at, into `record`; whether they
# have elements.  Without a record only say so.  This and the next two remember blocks.
cdef bint merge_time(Panes* panes, uint32_t row, int64_t begin, int64_t end,
                     char* record) noexcept nogil

# Put a window together in `record`, which is overwritten.
cdef void window_record(Panes* panes, uint32_t row, int64_t end, char* record) noexcept nogil

# Whether a window has elements.
cdef bint window_has_elements(Panes* panes, uint32_t row, int64_t end) noexcept nogil

# Forget the blocks of a key whose CLEANUP timer was at `time`.
cdef int forget_blocks(Panes* panes, uint32_t row, int64_t time) noexcept nogil

# Forget one block.
cdef int forget_block(Panes* panes, uint32_t row, int64_t block) noexcept nogil
