"""Windows that merge; described in ``merging_windows.pxd``."""



cdef class Groups:
    """The MergeCallback that an assigner is given."""

    cdef list found

    def __cinit__(self):
        self.found = []

    def merge(self, to_be_merged, merge_result):
        """Note a group of windows and the one that takes their place."""
        self.found.append((merge_result, list(to_be_merged)))


cdef class MergingWindowSet:
    """Which windows of a key there are, and in which the contents of each are kept.

    Parameters
    ----------
    merge_windows: the assigner's method; None for windows of time that merge when they overlap
        or touch.
    """

    def __init__(self, merge_windows=None):
        self.merge_windows = merge_windows
        self.load([], [])

    cdef int load(self, list windows, list states) except -1:
        self.windows = windows
        self.states = states
        self.changed = False
        return 0

    def add_window(self, window, merge_function=None):
        """Add a window; the one that it is part of now (Flink: MergingWindowSet).

        For each group of windows that became one `merge_function(result, merged, state_window,
        merged_state_windows)` is called; the new window is in no list.
        """
        cdef list merges = []
        cdef object result = self.add(window, merges)
        if merge_function is not None:
            for merge in merges:
                merge_function(*merge)
        return result

    def get_state_window(self, window):
        """Where the contents of a window are kept; None for a window that is not in the set."""
        cdef Py_ssize_t place = self.find(window)
        return None if place < 0 else self.states[place]

    def retire_window(self, window):
        """Remove a window; KeyError for one that is not in the set."""
        cdef Py_ssize_t place = self.find(window)
        if place < 0:
            raise KeyError(f"{window!r} is not among the windows {self.windows!r}")
        self.retire(place)

    cdef Py_ssize_t find(self, object window) except -2:
        cdef Py_ssize_t place
        cdef TimeWindow sought, held
        if type(window) is not TimeWindow:
            return self.windows.index(window) if window in self.windows else -1
        sought = window
        for place in range(len(self.windows)):
            held = self.windows[place]
            if held.start == sought.start and held.end == sought.end:
                return place
        return -1

    cdef int retire(self, Py_ssize_t place) except -1:
        self.changed = True
        del self.windows[place]
        del self.states[place]
        return 0

    cdef object add(self, object window, list merges):
        cdef list groups
        cdef object result = window
        cdef bint merged = False
        if self.find(window) >= 0:
            return window
        if self.merge_windows is None:
            groups = self.touching(window)
        else:
            callback = Groups()
            self.merge_windows([*self.windows, window], callback)
            groups = callback.found
        for outcome, group in groups:
            if window in group:
                group.remove(window)
                merged = True
                result = outcome
            if group:
                self.unite(outcome, group, merges)
        if not merged:
            self.changed = True
            self.windows.append(window)
            self.states.append(window)
        return result

    cdef list touching(self, object new):
        """The one group there is when all others have been merged before, with its outcome."""
        cdef list group = None
        cdef TimeWindow held
        cdef TimeWindow window = new, cover = new
        for held in self.windows:
            if held.start <= window.end and held.end >= window.start:
                if group is None:
                    group = [window]
                group.append(held)
                cover = time_window(min(cover.start, held.start), max(cover.end, held.end))
        return [] if group is None else [(cover, group)]

    cdef int unite(self, object outcome, list group, list merges) except -1:
        """Have one window take the place of those in `group`, which are all in the set."""
        cdef Py_ssize_t place = self.find(group[0])
        cdef object kept, state
        cdef list others = []
        if place < 0:
            raise ValueError(
                f"merge_windows merged {group[0]!r}, which is none of the windows that it was given"
            )
        kept = self.states[place]
        if len(group) == 1 and group[0] == outcome:
            return 0  # the new window lies within an old one
        for one in group:
            place = self.find(one)
            if place < 0:
                raise ValueError(
                    f"merge_windows merged {one!r}, which is none of the windows that it was given"
                )
            state = self.states[place]
            if state != kept:
                others.append(state)
            self.retire(place)
        self.windows.append(outcome)
        self.states.append(kept)
        merges.append((outcome, group, kept, others))
        return 0
