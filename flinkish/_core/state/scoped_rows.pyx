"""Rows of a key within a namespace; described in ``scoped_rows.pxd``."""

from libc.errno cimport EBADMSG, EINVAL, ENOMEM
from libc.stdint cimport uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from flinkish._core.state.table cimport (
    NO_ROW, ROW_FRESH, Row, Slot, header_of, index_insert, index_remove, row_at, row_is_empty,
    table_find, table_intern_hashed, table_put_bytes,
)
from flinkish._core.values.values cimport (
    PIECE_HEAD, TAG_EMPTY, TAG_INT, TAG_SCOPED, TAG_TUPLE, bytes_of, hash_bytes, piece_at,
    put_piece,
)

cdef enum:
    ON_STACK = 256


cdef void pieces_of(Table* table, uint32_t at, Piece* key, Piece* namespace) noexcept nogil:
    cdef Row* row = row_at(table, at)
    key.tag = row.tag
    key.size = row.size
    key.data = bytes_of(row.size, &row.word, &table.slab)
    namespace.tag = TAG_EMPTY
    namespace.size = 0
    namespace.data = NULL
    if key.data == NULL \
            or row.tag == TAG_SCOPED and not pieces_in(row.size, key.data, key, namespace):
        key.tag = namespace.tag = TAG_EMPTY
        key.size = namespace.size = 0


cdef bint pieces_in(uint32_t size, const char* data, Piece* key, Piece* namespace) noexcept nogil:
    """The two pieces of which these bytes consist; 0 when they do not."""
    cdef uint32_t before
    if not piece_at(data, size, key):
        return 0
    before = PIECE_HEAD + key.size
    return piece_at(data + before, size - before, namespace) \
        and before + PIECE_HEAD + namespace.size == size \
        and key.tag != TAG_EMPTY and namespace.tag != TAG_EMPTY


cdef bint same_piece(const Piece* left, const Piece* right) noexcept nogil:
    return left.tag == right.tag and left.size == right.size \
        and (left.size == 0 or memcmp(left.data, right.data, left.size) == 0)


cdef struct Name:               # of a row: its tag and bytes, in memory of its own
    uint8_t tag
    uint32_t size
    char* data
    char[ON_STACK] small


cdef int compose(Table* table, uint32_t at, const Piece* namespace, Name* out) noexcept nogil:
    """The name of a key within a namespace: 1, 0 when `at` has it already, or -errno.

    After 1 it is to be given to `release`.
    """
    cdef Piece key, held
    cdef uint64_t size
    pieces_of(table, at, &key, &held)
    if key.tag == TAG_EMPTY:
        return -EBADMSG
    if namespace == NULL or namespace.tag == TAG_EMPTY:
        if held.tag == TAG_EMPTY:
            return 0
        out.tag = key.tag
        size = key.size
    else:
        if held.tag != TAG_EMPTY and same_piece(&held, namespace):
            return 0
        out.tag = TAG_SCOPED
        size = <uint64_t>2 * PIECE_HEAD + key.size + namespace.size
    out.data = out.small
    # The key is copied, since making a row may move what it lies in.
    if size > ON_STACK:
        if size > <uint64_t>0xFFFFFFF0:
            return -EINVAL
        out.data = <char*>malloc(size)
        if out.data == NULL:
            return -ENOMEM
    out.size = <uint32_t>size
    if out.tag == TAG_SCOPED:
        put_piece(put_piece(out.data, key.tag, key.size, key.data),
                    namespace.tag, namespace.size, namespace.data)
    else:
        memcpy(out.data, key.data, key.size)
    return 1


cdef inline void release(Name* name) noexcept nogil:
    if name.data != name.small:
        free(name.data)


cdef int scoped_row(Table* table, uint32_t at, const Piece* namespace, bint make,
                    uint32_t* found) noexcept nogil:
    cdef Name name
    cdef uint32_t hash
    cdef int status = compose(table, at, namespace, &name)
    found[0] = at
    if status <= 0:
        return -status
    status = 0
    hash = hash_bytes(name.tag, name.size, name.data)
    if make:
        status = table_intern_hashed(table, name.tag, name.size, name.data, hash,
                                     row_at(table, at).key_group, found)
    else:
        found[0] = table_find(table, name.tag, name.size, name.data, hash)
    release(&name)
    return status


cdef int scoped_row_of(Table* table, uint32_t at, const Piece* namespace, uint32_t* spare,
                       uint32_t* found) noexcept nogil:
    cdef Name name
    cdef uint32_t hash
    cdef int status = compose(table, at, namespace, &name)
    found[0] = at
    if status <= 0:
        return -status
    status = 0
    hash = hash_bytes(name.tag, name.size, name.data)
    found[0] = table_find(table, name.tag, name.size, name.data, hash)
    if found[0] == spare[0]:
        spare[0] = NO_ROW  # it is needed again, if it was not both times none
    if found[0] == NO_ROW:
        if rename_row(table, spare[0], &name, hash, row_at(table, at).key_group):
            found[0] = spare[0]
            spare[0] = NO_ROW
        else:
            status = table_intern_hashed(table, name.tag, name.size, name.data, hash,
                                         row_at(table, at).key_group, found)
    release(&name)
    return status


cdef bint rename_row(Table* table, uint32_t at, const Name* name, uint32_t hash,
                     uint16_t key_group) noexcept nogil:
    """Give a spare row another name: 1, or 0 when it cannot be."""
    cdef uint32_t mask = header_of(table).index_size - 1
    cdef uint64_t* total = &header_of(table).index_sum
    cdef Row* row
    if at >= header_of(table).rows:
        return 0
    row = row_at(table, at)
    if row.tag != TAG_SCOPED or (table.tracking and not row.flags & ROW_FRESH) \
            or not row_is_empty(table, at):
        return 0
    if table_put_bytes(table, &row.word, row.size, name.size, name.data, &row.word) != 0:
        return 0
    if not index_remove(<Slot*>table.index.base, mask, at, row.hash, total):
        table.damaged = True
        return 0
    row.tag = name.tag
    row.size = name.size
    row.hash = hash
    row.key_group = key_group
    index_insert(<Slot*>table.index.base, mask, at, hash, total)
    return 1


cdef void window_piece(int64_t start, int64_t end, char* space, Piece* out) noexcept nogil:
    put_piece(put_piece(space, TAG_INT, 8, <const char*>&start), TAG_INT, 8, <const char*>&end)
    out.tag = TAG_TUPLE
    out.size = WINDOW_BYTES
    out.data = space


cdef bint window_of_row(Table* table, uint32_t row, int64_t* start, int64_t* end) noexcept nogil:
    cdef Piece key, window
    pieces_of(table, row, &key, &window)
    if window.tag != TAG_TUPLE or window.size != WINDOW_BYTES \
            or window.data[0] != TAG_INT or window.data[13] != TAG_INT:
        return 0
    memcpy(start, window.data + 5, 8)
    memcpy(end, window.data + 18, 8)
    return 1
