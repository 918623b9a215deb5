# Which windows there are, as arithmetic: panes, and the windows made of them.
#
# A pane is a stretch of time that no window cuts: every window is a run of whole panes, so an
# element is taken into one pane only, however many windows it belongs to.  Panes are numbered
# in order of time, below zero too.
#
#   sliding      windows [k * slide + offset, ... + size): panes begin where windows begin, and
#                where they end if that is elsewhere (`cut` after each beginning): two to a slide
#   tumbling     slide == size
#   cumulative   windows [c, c + i * step) of the cycles c = k * cycle + offset, i * step <= cycle
#
# Ends are what names a window: ends are `unit` apart.  All times are ms below SHAPE_LIMIT either
# way, lengths likewise, so that sums of a few do not overflow; only a lateness may be larger.

from libc.stdint cimport int64_t

from flinkish._core.values.civil cimport floor_div
from flinkish._core.windows.time_window cimport later

cdef enum:
    SHAPE_LIMIT = 0x1000000000000000  # 2**60

cdef struct Shape:
    int64_t size                 # of a window; of the longest, if they cumulate
    int64_t unit                 # slide or step
    int64_t offset               # 0 <= offset < slide or cycle
    int64_t cut                  # of sliding windows: size modulo slide
    int64_t cycle                # of cumulative windows: the longest size; else 0
    int64_t lateness
    double inverse               # 1 / unit

# The quotient, by a product of doubles where it is exact but for one.
cdef inline int64_t unit_of(const Shape* shape, int64_t time) noexcept nogil:
    cdef int64_t quotient
    if not -(<int64_t>1 << 50) < time < <int64_t>1 << 50:
        return floor_div(time, shape.unit)
    quotient = <int64_t>(<double>time * shape.inverse)
    if quotient * shape.unit > time:
        quotient -= 1
        if quotient * shape.unit > time:
            quotient -= 1
    elif (quotient + 1) * shape.unit <= time:
        quotient += 1
    return quotient

# Number of the pane that a time is in.
cdef inline int64_t pane_of(const Shape* shape, int64_t time) noexcept nogil:
    cdef int64_t since = time - shape.offset
    cdef int64_t unit = unit_of(shape, since)
    if shape.cut == 0:
        return unit
    return 2 * unit + (since - unit * shape.unit >= shape.cut)

cdef inline int64_t pane_begin(const Shape* shape, int64_t pane) noexcept nogil:
    if shape.cut == 0:
        return pane * shape.unit + shape.offset
    return (pane >> 1) * shape.unit + shape.offset + (shape.cut if pane & 1 else 0)

# Ends of the first and the last window that a pane is in.  Where windows leave gaps, a pane that
# is in none has a first end after its last.
cdef inline int64_t first_end(const Shape* shape, int64_t pane) noexcept nogil:
    if shape.cut == 0:
        return (pane + 1) * shape.unit + shape.offset
    return ((pane + 1) >> 1) * shape.unit + shape.offset + shape.cut

cdef inline int64_t last_end(const Shape* shape, int64_t pane) noexcept nogil:
    if shape.cycle:
        return window_begin(shape, first_end(shape, pane)) + shape.cycle
    return (pane >> (shape.cut != 0)) * shape.unit + shape.offset + shape.size

# Where the window with this end begins.
cdef inline int64_t window_begin(const Shape* shape, int64_t end) noexcept nogil:
    if shape.cycle:
        return floor_div(end - 1 - shape.offset, shape.cycle) * shape.cycle + shape.offset
    return end - shape.size

# When a window is forgotten (Flink: WindowOperator); INT64_MAX: never.
cdef inline int64_t cleanup_time(const Shape* shape, int64_t end) noexcept nogil:
    return later(end - 1, shape.lateness)

# The end of the last window that is due at a watermark, `below` it in steps of `unit`: the
# greatest of below, below - unit, ... with end - 1 <= watermark.
cdef inline int64_t due_end(const Shape* shape, int64_t below, int64_t watermark) noexcept nogil:
    if below - 1 <= watermark:
        return below
    return below + floor_div(watermark - (below - 1), shape.unit) * shape.unit

# First pane whose last window is not forgotten, first pane none of whose windows has been due.
cdef int64_t first_live(const Shape* shape, int64_t watermark) noexcept nogil
cdef int64_t first_ahead(const Shape* shape, int64_t watermark) noexcept nogil
