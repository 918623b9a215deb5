# Records of the panes of a batch, without a table: what may travel instead of rows.



cdef class PaneCombiner:
    cdef Shape shape
    cdef AccumulatorLayout layout
    cdef Groups groups
    cdef unsigned long holder       # thread at work, or 0 (`one_thread`)
    cdef tuple found(self)
