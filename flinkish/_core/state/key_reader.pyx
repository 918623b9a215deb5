"""Columns of keys, and the rows that they have in a table."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

import numpy as np

from flinkish._core.state.table cimport KeyColumn, StateTable
from flinkish._core.values.values cimport TAG_EMPTY, TAG_INT, TAG_STR


cdef class KeyReader:
    """Keys of one kind, and the rows they have in tables.

    Either `numbers`, or texts i in UTF-8 at text[offsets[i]:offsets[i + 1]], which are encoded keys
    if `packed`, or `objects`.

    Ownership: keeps the memory of what it is given.  Threading: that of the table.
    """

    def __cinit__(self, *, const int64_t[::1] numbers=None, const int32_t[::1] offsets=None,
                  const uint8_t[::1] text=None, bint packed=False, list objects=None):
        memset(&self.column, 0, sizeof(self.column))
        self.numbers, self.offsets, self.text, self.objects = numbers, offsets, text, objects
        if numbers is not None:
            self.count = numbers.shape[0]
            self.column.tag = TAG_INT
        elif offsets is not None:
            if text is None or offsets.shape[0] == 0:
                raise ValueError("texts need their bytes, and one offset more than there are texts")
            self.count = offsets.shape[0] - 1
            self.column.tag = TAG_EMPTY if packed else TAG_STR
            self.column.text_size = text.shape[0]
            self.column.text = ""
            if text.shape[0]:
                self.column.text = <const char*>&self.text[0]
        elif objects is not None:
            self.count = len(objects)
        else:
            raise ValueError("needed are numbers, texts or objects")

    def rows(self, StateTable table not None, Py_ssize_t start=0, stop=None, *,
             const int32_t[::1] groups=None):
        """The table's rows of keys `start` to `stop`, of all by default; new keys get rows.

        `groups` are their key groups, for a table of several.
        """
        cdef Py_ssize_t end = self.count if stop is None else stop
        cdef object found
        if not 0 <= start <= end <= self.count:
            raise ValueError(f"there are {self.count} keys, so none from {start} to {end}")
        found = np.empty(end - start, np.uint32)
        self.read(table, start, end, groups, found)
        return found

    cdef int read(self, StateTable table, Py_ssize_t start, Py_ssize_t stop,
                  const int32_t[::1] groups, uint32_t[::1] rows) except -1:
        cdef KeyColumn keys
        if self.objects is not None:
            table.intern_objects(self.objects[start:stop], groups, rows)
            return 0
        keys = self.column
        keys.count = stop - start
        if keys.count and self.numbers is not None:
            keys.numbers = &self.numbers[start]
        elif self.offsets is not None:
            keys.offsets = &self.offsets[start]
        return table.intern(&keys, groups, rows)
