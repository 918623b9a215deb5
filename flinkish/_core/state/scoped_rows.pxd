# Rows of a key within a namespace, such as those of a key's windows.
#
# A row whose tag is TAG_SCOPED has two elements for its key, as a tuple has: the key and the
# namespace.  So the two are found from each other by what
# they are called, without a pointer between them: the rows of a key may come and go.
#
# Statuses are 0 or an errno.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.state.table cimport Table
from flinkish._core.values.values cimport Piece

cdef enum:
    WINDOW_BYTES = 26           # of a namespace of two ints: a window of time

# Key and namespace of a row, good until the table changes; a plain row has no namespace: TAG_EMPTY.
cdef void pieces_of(Table* table, uint32_t row, Piece* key, Piece* namespace) noexcept nogil

cdef bint same_piece(const Piece* left, const Piece* right) noexcept nogil

# The row of the key of `row` within `namespace`, or of the key alone where `namespace` is NULL or
# has TAG_EMPTY.  NO_ROW when there is none and none is to be made.  `namespace` must not lie in
# the table.
cdef int scoped_row(Table* table, uint32_t row, const Piece* namespace, bint make,
                    uint32_t* found) noexcept nogil

# A window of time as a namespace; `space` holds its bytes.
cdef void window_piece(int64_t start, int64_t end, char* space, Piece* out) noexcept nogil

# Start and end of a row within a window of time; 0 when it is in another namespace or in none.
cdef bint window_of_row(Table* table, uint32_t row, int64_t* start, int64_t* end) noexcept nogil

# The same row, made when there is none, if possible of `spare`: a row that the caller no longer
# needs and that may not be empty, known to the log or gone, in which case it is left alone.  Who
# leaves a window for the next one a thousand times between two commits so needs no thousand rows.
# `spare` becomes NO_ROW when it was used.
cdef int scoped_row_of(Table* table, uint32_t row, const Piece* namespace, uint32_t* spare,
                       uint32_t* found) noexcept nogil
