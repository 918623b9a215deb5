"""Timers of named services, within namespaces; described in ``named_timers.pxd``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.string cimport memcmp, memcpy

from flinkish._core.memory cimport segment_raise
from flinkish._core.state_rows cimport (
    NO_ROW,
    Row,
    header_of,
    row_at,
    table_add_timer,
    table_find,
    table_intern,
    table_poll_timer,
    table_remove_timer,
)
from flinkish._core.timers cimport (
    Timer,
    timers_contains,
    timers_get,
    timers_header,
    timers_peek,
)
from flinkish._core.values cimport (
    TAG_EMPTY,
    TAG_SCOPED,
    Encoded,
    bytes_of,
    decode_key,
    decode_namespace,
    encode_key,
    hash_bytes,
)

cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF


cdef struct Piece:                  # an element of a scoped key, or a whole plain one
    uint8_t tag
    uint32_t size
    const char* data


cdef void piece_at(const char* data, Piece* out) noexcept:
    out.tag = <uint8_t>data[0]
    memcpy(&out.size, data + 1, 4)
    out.data = data + 5


cdef void pieces_of(StateTable table, uint32_t at, Piece* key, Piece* namespace) noexcept:
    """Key and namespace of a row; the namespace of a plain key has TAG_EMPTY."""
    cdef Row* row = row_at(&table.table, at)
    key.tag = row.tag
    key.size = row.size
    key.data = bytes_of(row.size, &row.word, table.table.slab.base)
    namespace.tag = TAG_EMPTY
    namespace.size = 0
    namespace.data = NULL
    if row.tag == TAG_SCOPED:
        piece_at(key.data, key)
        piece_at(key.data + key.size, namespace)


cdef char* write_piece(char* at, uint8_t tag, uint32_t size, const char* data) noexcept:
    at[0] = <char>tag
    memcpy(at + 1, &size, 4)
    if size != 0:
        memcpy(at + 5, data, size)
    return at + 5 + size


cdef inline bint is_namespace(const Piece* piece, const Encoded* namespace) noexcept:
    return piece.tag == namespace.tag and piece.size == namespace.size \
        and (piece.size == 0 or memcmp(piece.data, namespace.data, piece.size) == 0)


cdef class NamedTimers:
    """Timers of one service of an operator; `event` chooses the heap.

    A namespace is None, or what a key may be.  `on_earlier(timestamp)` is called when a
    processing-time timer becomes the earliest of all services.
    """

    def __init__(self, StateTable table not None, uint32_t service, on_earlier=None):
        self.table = table
        self.service = service
        self.on_earlier = on_earlier

    cdef Timers* of(self, bint event) noexcept:
        return &self.table.table.event if event else &self.table.table.processing

    cdef uint32_t row(self, object namespace, bint make) except? 0xFFFFFFFE:
        cdef uint32_t current = self.table.current, found
        cdef Encoded scope
        cdef Piece key, held
        cdef object owner = None, whole
        cdef char* at
        if current == NO_ROW:
            raise self.table.illegal_state(
                "timers can only be used with a current key: set the key before them"
            )
        pieces_of(self.table, current, &key, &held)
        if namespace is None:
            if held.tag == TAG_EMPTY:
                return current
            whole = PyBytes_FromStringAndSize(key.data, key.size)
        else:
            owner = encode_key(namespace, &scope)
            if held.tag != TAG_EMPTY and is_namespace(&held, &scope):
                return current
            whole = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>10 + key.size + scope.size)
            at = write_piece(PyBytes_AS_STRING(whole), key.tag, key.size, key.data)
            write_piece(at, scope.tag, scope.size, scope.data)
            key.tag = TAG_SCOPED
            key.size = 10 + key.size + scope.size
        key.data = PyBytes_AS_STRING(whole)
        if make:
            segment_raise(table_intern(&self.table.table, key.tag, key.size, key.data,
                                       row_at(&self.table.table, current).key_group, &found))
            return found
        return table_find(&self.table.table, key.tag, key.size, key.data,
                          hash_bytes(key.tag, key.size, key.data))

    def add(self, bint event, int64_t timestamp, namespace=None):
        """Register a timer of the current key; False when it was there (Flink: B.1)."""
        cdef uint32_t row = self.row(namespace, True)
        cdef Timer head
        cdef int added
        if event or not timers_peek(self.of(event), &head):
            head.timestamp = NEVER
        added = table_add_timer(&self.table.table, self.of(event), timestamp, row, self.service)
        if added < 0:
            segment_raise(-added)
        if added and not event and self.on_earlier is not None and timestamp < head.timestamp:
            self.on_earlier(timestamp)
        return added == 1

    def remove(self, bint event, int64_t timestamp, namespace=None):
        """Delete a timer of the current key; False when it was not there (Flink: B.11)."""
        cdef uint32_t row = self.row(namespace, False)
        cdef int removed
        if row == NO_ROW:
            return False
        removed = table_remove_timer(&self.table.table, self.of(event), timestamp, row,
                                     self.service)
        if removed < 0:
            segment_raise(-removed)
        return removed == 1

    def count(self, bint event):
        """How many timers there are, of all keys and namespaces."""
        return len(self.timers(event))

    def count_in(self, bint event, namespace):
        """How many timers of all keys are within one namespace, which may be None (B.10)."""
        cdef Encoded scope
        cdef Piece key, held
        cdef object owner
        cdef Py_ssize_t found = 0
        cdef uint32_t slot
        cdef Timer timer
        self.table.check_open()
        scope.tag = TAG_EMPTY
        scope.size = 0
        scope.data = ""
        if namespace is not None:
            owner = encode_key(namespace, &scope)
        for slot in range(timers_header(self.of(event)).used):
            if timers_get(self.of(event), slot, &timer) and timer.ns == self.service:
                pieces_of(self.table, timer.key, &key, &held)
                found += held.tag == scope.tag and is_namespace(&held, &scope)
        return found

    def timers(self, bint event):
        """(timestamp, row) of every timer, in no order; see `use`."""
        cdef list found = []
        cdef uint32_t slot
        cdef Timer timer
        self.table.check_open()
        for slot in range(timers_header(self.of(event)).used):
            if timers_get(self.of(event), slot, &timer) and timer.ns == self.service:
                found.append((timer.timestamp, timer.key))
        return found

    def use(self, bint event, int64_t timestamp, uint32_t row):
        """Make the row of a timer from `timers` current: its (key, namespace).

        None, and nothing changes, when the timer is no longer there.
        """
        cdef Row* found
        self.table.check_open()
        found = row_at(&self.table.table, row)
        if row >= header_of(&self.table.table).rows or found.tag == TAG_EMPTY:
            return None
        if not timers_contains(self.of(event), timestamp, row, self.service,
                               found.key_group - header_of(&self.table.table).first_key_group):
            return None
        self.table.current = row
        return key_and_namespace(self.table, row)


cdef tuple key_and_namespace(StateTable table, uint32_t at):
    cdef Row* row = row_at(&table.table, at)
    cdef const char* data = bytes_of(row.size, &row.word, table.table.slab.base)
    return decode_key(row.tag, row.size, data), decode_namespace(row.tag, row.size, data)


def next_timer(StateTable table not None, bint event):
    """Timestamp (ms) of the earliest timer of all services, or None."""
    cdef Timer timer
    table.check_open()
    if timers_peek(&table.table.event if event else &table.table.processing, &timer):
        return timer.timestamp
    return None


def poll_timer(StateTable table not None, bint event, int64_t until):
    """Take out the earliest timer at or before `until` (ms) and make its key current.

    (service, timestamp, key, namespace), or None; equal timestamps in order of registration.
    The timer is gone before anybody hears of it (Flink: B.7).
    """
    cdef Timer timer
    cdef int polled
    table.check_open()
    polled = table_poll_timer(
        &table.table, &table.table.event if event else &table.table.processing, until, &timer)
    if polled < 0:
        segment_raise(-polled)
    if polled == 0:
        return None
    table.current = timer.key
    return (timer.ns, timer.timestamp, *key_and_namespace(table, timer.key))
