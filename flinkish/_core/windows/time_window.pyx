"""Windows of time; described in ``time_window.pxd``."""

include "merging_windows.pyx"

cdef int64_t LOWEST = <int64_t>(<unsigned long long>1 << 63)


cdef TimeWindow time_window(int64_t start, int64_t end):
    cdef TimeWindow window = TimeWindow.__new__(TimeWindow)
    window.start = start
    window.end = end
    return window


cdef int64_t window_start(int64_t timestamp, int64_t offset, int64_t size) noexcept nogil:
    cdef int64_t base = offset % size
    cdef int64_t past = timestamp % size
    # With C's division a remainder has the sign of its dividend; both are wanted from 0 on.
    if base < 0:
        base += size
    if past < 0:
        past += size
    past -= base
    if past < 0:
        past += size
    return timestamp - past if timestamp >= LOWEST + past else LOWEST


cdef class TimeWindow:
    """TimeWindow(start, end)\n--\n\nThe time from `start` to before `end`, in ms since the epoch (Flink: TimeWindow)."""

    def __init__(self, int64_t start, int64_t end):
        self.start = start
        self.end = end

    def max_timestamp(self):
        """The last millisecond of the window: `end` - 1."""
        return self.end - 1 if self.end != LOWEST else LOWEST

    def intersects(self, TimeWindow other not None):
        """Whether the windows overlap, or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, TimeWindow other not None):
        """The smallest window that holds both."""
        return time_window(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp, offset, window_size):
        """Start (ms) of the window of `window_size` that holds `timestamp`."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows, callback):
        """Merge windows that overlap or touch; `callback.merge(merged, result)` for each group.

        Groups of one window are left alone.
        """
        cdef list ordered = sorted(windows, key=begin_of)
        cdef list group = []
        cdef TimeWindow window, cover = None
        for window in ordered:
            if cover is not None and cover.start <= window.end and cover.end >= window.start:
                group.append(window)
                cover = cover.cover(window)
                continue
            if len(group) > 1:
                callback.merge(group, cover)
            group = [window]
            cover = window
        if len(group) > 1:
            callback.merge(group, cover)

    def __eq__(self, other):
        if type(other) is not TimeWindow:
            return NotImplemented
        return self.start == (<TimeWindow>other).start and self.end == (<TimeWindow>other).end

    def __hash__(self):
        return hash((self.start, self.end))

    def __lt__(self, TimeWindow other not None):
        if self.start != other.start:
            return self.start < other.start
        return self.end < other.end

    def __le__(self, TimeWindow other not None):
        return not other < self

    def __reduce__(self):
        return TimeWindow, (self.start, self.end)

    def __repr__(self):
        return f"TimeWindow(start={self.start}, end={self.end})"


def begin_of(TimeWindow window not None):
    """For sorting: start, then end."""
    return window.start, window.end
