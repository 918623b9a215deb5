# What crosses to Spark as bytes: batches cut by key group, and sealed state.
#
# A frame is 32 bytes of header, little endian, then the body.
#
#    0  4  magic  "FLKS"
#    4  2  layout of this header, 1
#    6  2  kind of the contents
#    8  2  version of the contents' format, the caller's
#   10  2  flags: 1 = the body is compressed with zstd
#   12  4  key group
#   16  8  size of the contents
#   24  4  CRC-32 of the bytes 0 to 23
#   28  4  CRC-32 of the body as it is stored
#
# A later layout keeps these 28 bytes and adds after them, so that it is known for newer and not
# taken for damage.  What callers write keeps the same promise by its version.
#
# The header has a checksum of its own, so that a damaged frame and a foreign one (another key
# group, another kind) are told apart, and a size is believed before memory is allocated for it.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

# A payload is an Arrow IPC record-batch message, then 8 bytes that say its schema.

cdef enum:
    HASH_SIZE = 8
    HEADER_SIZE = 32
    LAYOUT = 1
    FLAG_ZSTD = 1

ctypedef fused Group:
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t

# Counting sort of `count` group numbers.  `offsets` (n_groups + 1 of them) gets where each group
# starts in the order, and in the end how many rows have a group other than -1.
# -1, or the first row whose group is neither -1 nor in 0 ... n_groups - 1.
cdef int64_t count_groups(const Group* groups, int64_t count, int64_t n_groups,
                          int64_t* offsets) noexcept nogil

# The row numbers group by group, those of a group ascending, after a good `count_groups`.
# `cursors` is scratch for n_groups numbers.
cdef void order_rows(const Group* groups, int64_t count, int64_t n_groups, const int64_t* offsets,
                     int64_t* cursors, uint32_t* order) noexcept nogil
