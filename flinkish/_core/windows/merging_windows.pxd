# The windows of one key that merge: which there are, and where the contents of each are.
#
# A window that has grown keeps its contents where they were: in its state window, the first of
# those that were merged into it (Flink: MergingWindowSet).  Nothing is moved when a session grows.
#
# Invariants: windows differ; state windows differ; of windows of time that the floor merges
# itself no two overlap or touch, since adding one merges it with all that it overlaps or touches.


cdef class MergingWindowSet:
    cdef object merge_windows       # of the assigner; None: windows of time, merged here
    cdef readonly list windows
    cdef readonly list states       # state windows, in the order of `windows`
    cdef readonly bint changed      # since it was made or `load`ed

    cdef int load(self, list windows, list states) except -1

    # Add a window; the one that it is part of now.  What was merged is appended to `merges`:
    # (merged window, list of those it replaces, its state window, list of the state windows that
    # go into that).
    cdef object add(self, object window, list merges)
    cdef Py_ssize_t find(self, object window) except -2     # place of a window, or -1
    cdef int retire(self, Py_ssize_t place) except -1
    cdef list touching(self, object window)
    cdef int unite(self, object outcome, list group, list merges) except -1
