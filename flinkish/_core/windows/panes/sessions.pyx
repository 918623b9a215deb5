"""Session windows of keys in a table; described in ``windows/panes/sessions.pxd``."""

from libc.errno cimport EBADMSG, EINVAL
from libc.stdint cimport INT64_MAX
from libc.string cimport memcpy

from flinkish._core.memory.segment cimport slab_holds
from flinkish._core.state.table cimport (
    NO_ROW, Cell, Entry, cell_at, chain_next, chain_tail, entry_at, ids_push, row_at,
    table_add_timer, table_append, table_poll_timer, table_remove_entry, table_touch_entry,
)
from flinkish._core.windows.time_window cimport later
from flinkish._core.timers.timers cimport Timer
from flinkish._core.values.values cimport TAG_BYTES, TAG_CHAIN, TAG_EMPTY


cdef inline Session* session_at(Sessions* sessions, uint32_t entry) noexcept nogil:
    # Longer than eight bytes, so it lies in the slab.
    return <Session*>(sessions.table.slab.base + entry_at(sessions.table, entry).word)


cdef inline bint is_session(Sessions* sessions, uint32_t entry) noexcept nogil:
    """Whether an entry can be a session; one from a damaged log or table need not."""
    cdef Entry* found = entry_at(sessions.table, entry)
    return found.size == sizeof(Session) + sessions.layout.stride \
        and slab_holds(&sessions.table.slab, found.word, found.size) \
        and session_at(sessions, entry).begin < session_at(sessions, entry).end


cdef inline char* record_of(Session* session) noexcept nogil:
    return <char*>(session + 1)


cdef inline uint32_t first_session(Sessions* sessions, uint32_t row) noexcept nogil:
    cdef Cell* head = cell_at(sessions.table, row, sessions.cell)
    return chain_next(sessions.table, head, NO_ROW) if head.tag == TAG_CHAIN else NO_ROW


cdef inline int64_t forgotten_at(Sessions* sessions, int64_t end) noexcept nogil:
    """When a session with this end is forgotten; INT64_MAX: never."""
    return later(end - 1, sessions.lateness)


cdef int watch(Sessions* sessions, uint32_t row, int64_t time, uint32_t service) noexcept nogil:
    cdef int status = table_add_timer(sessions.table, &sessions.table.event, time, row, service)
    return -status if status < 0 else 0


cdef int watch_end(Sessions* sessions, uint32_t row, int64_t end) noexcept nogil:
    """Register when a session is to be forgotten, if that is not when it fires."""
    cdef int64_t time = forgotten_at(sessions, end)
    if sessions.lateness == 0 or time == INT64_MAX:
        return 0
    return watch(sessions, row, time, CLEANUP)


cdef int make_session(Sessions* sessions, uint32_t row, int64_t begin, int64_t end,
                      uint32_t* entry) noexcept nogil:
    cdef int status = table_append(
        sessions.table, row, sessions.cell, TAG_EMPTY, 0, b"", TAG_BYTES,
        <uint32_t>sizeof(Session) + sessions.layout.stride, sessions.nothing.base, 0, NO_ROW)
    if status != 0:
        return status
    entry[0] = chain_tail(cell_at(sessions.table, row, sessions.cell))
    session_at(sessions, entry[0])[0] = Session(begin, end)
    if end - 1 > sessions.watermark:
        status = watch(sessions, row, end - 1, FIRE)
    return watch_end(sessions, row, end) if status == 0 else status


cdef int meet(Sessions* sessions, uint32_t row, int64_t begin, int64_t end, uint32_t* met) noexcept nogil:
    """Make one session of [begin, end) and all that touch it; NO_ROW when none does.

    Its timer is registered if none of these had one that is still to come.
    """
    cdef uint32_t at = first_session(sessions, row), following
    cdef Cell* head = cell_at(sessions.table, row, sessions.cell)
    cdef bint watched = False
    cdef Session* session
    cdef Session* one
    cdef int status
    met[0] = NO_ROW
    if row_at(sessions.table, row).tag == TAG_EMPTY:
        return EINVAL
    while at != NO_ROW:
        if not is_session(sessions, at):
            return EBADMSG
        following = chain_next(sessions.table, head, at)
        session = session_at(sessions, at)
        if session.begin <= end and session.end >= begin:
            watched |= session.end - 1 > sessions.watermark
            if met[0] == NO_ROW:
                status = table_touch_entry(sessions.table, at, 0)
                if status != 0:
                    return status
                met[0] = at
                begin = min(begin, session.begin)
                end = max(end, session.end)
            else:
                one = session_at(sessions, met[0])
                begin = min(begin, session.begin)
                end = max(end, session.end)
                record_merge(sessions.layout, record_of(one), record_of(session))
                status = table_remove_entry(sessions.table, at)
                if status != 0:
                    return status
        at = following
    if met[0] == NO_ROW:
        return 0
    session_at(sessions, met[0])[0] = Session(begin, end)
    if not watched and end - 1 > sessions.watermark:
        return watch(sessions, row, end - 1, FIRE)
    return 0


cdef int fire(Sessions* sessions, uint32_t row, uint32_t entry) noexcept nogil:
    cdef Session* session = session_at(sessions, entry)
    cdef char* record
    cdef int status = fired_push(&sessions.fired, row, session.begin, session.end, &record)
    if status == 0:
        memcpy(record, record_of(session), sessions.layout.stride)
    return status


cdef int session_add(Sessions* sessions, uint32_t row, int64_t time, const WordColumn* columns,
                     uint32_t at, uint64_t arrival) noexcept nogil:
    cdef uint32_t entry
    cdef int status = meet(sessions, row, time, time + sessions.gap, &entry)
    if status == 0 and entry == NO_ROW:
        if forgotten_at(sessions, time + sessions.gap) <= sessions.watermark:
            return ids_push(&sessions.fired.late, at)
        status = make_session(sessions, row, time, time + sessions.gap, &entry)
    if status != 0:
        return status
    record_add(sessions.layout, record_of(session_at(sessions, entry)), columns, at, arrival)
    if session_at(sessions, entry).end - 1 <= sessions.watermark:
        return fire(sessions, row, entry)
    return 0


cdef int on_timer(Sessions* sessions, const Timer* timer) noexcept nogil:
    cdef uint32_t at = first_session(sessions, timer.key), following
    cdef Cell* head = cell_at(sessions.table, timer.key, sessions.cell)
    cdef int64_t time
    cdef int status = 0
    while at != NO_ROW and status == 0:
        if not is_session(sessions, at):
            return EBADMSG
        following = chain_next(sessions.table, head, at)
        time = session_at(sessions, at).end - 1
        if timer.ns == FIRE:
            if time == timer.timestamp:
                status = fire(sessions, timer.key, at)
                if status == 0 and sessions.lateness == 0:
                    status = table_remove_entry(sessions.table, at)
            elif time > timer.timestamp:
                status = watch(sessions, timer.key, time, FIRE)
        elif forgotten_at(sessions, time + 1) <= timer.timestamp:
            status = table_remove_entry(sessions.table, at)
        else:
            status = watch_end(sessions, timer.key, time + 1)
        at = following
    return status


cdef int sessions_advance(Sessions* sessions, int64_t watermark, uint64_t* fired) noexcept nogil:
    cdef Timer timer
    cdef int status
    sessions.watermark = watermark
    while True:
        status = table_poll_timer(sessions.table, &sessions.table.event, watermark, &timer)
        if status <= 0:
            return -status
        fired[0] += 1
        status = on_timer(sessions, &timer)
        if status != 0:
            return status
