"""Panes and the windows made of them; described in ``windows/panes/shapes.pxd``."""


cdef inline bint is_live(const Shape* shape, int64_t pane, int64_t watermark) noexcept nogil:
    return cleanup_time(shape, last_end(shape, pane)) > watermark


cdef inline bint is_ahead(const Shape* shape, int64_t pane, int64_t watermark) noexcept nogil:
    return first_end(shape, pane) - 1 > watermark


cdef int64_t first_such(const Shape* shape, int64_t watermark, bint ahead) noexcept nogil:
    """The first pane of which it is true: from one pane on it is."""
    cdef int64_t low = pane_of(shape, -<int64_t>SHAPE_LIMIT)
    cdef int64_t high = pane_of(shape, <int64_t>SHAPE_LIMIT) + 1
    cdef int64_t middle
    while low < high:
        middle = low + (high - low) // 2
        if is_ahead(shape, middle, watermark) if ahead else is_live(shape, middle, watermark):
            high = middle
        else:
            low = middle + 1
    return low


cdef int64_t first_live(const Shape* shape, int64_t watermark) noexcept nogil:
    return first_such(shape, watermark, False)


cdef int64_t first_ahead(const Shape* shape, int64_t watermark) noexcept nogil:
    return first_such(shape, watermark, True)
