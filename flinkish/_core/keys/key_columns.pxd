# A column of keys: takes an Arrow or NumPy column in and owns what it reads from.
#
# The column owns its Arrow structs (moved out of the producer's capsules) and releases each
# once, when it is deallocated.  A NumPy array lends its memory through the buffer protocol for
# as long; its structs are made here and have no release.  A column of a wrong type is refused
# with the GIL; marking nulls and hashing rows do without.

from libc.stdint cimport int32_t, int64_t, uint8_t

from flinkish._core.columns.records cimport ArrowArray, ArrowSchema

# The KeyKind (column_hash.pxd) that a type's name ("int", "bigint", ...) stands for; ValueError
# for an unknown name.
cdef int kind_of_name(object name) except -1

cdef class KeyColumn:
    cdef ArrowSchema schema
    cdef ArrowArray* chunks            # vector of n_chunks
    cdef Py_ssize_t n_chunks
    cdef Py_buffer values              # of a NumPy array, else .obj is NULL
    cdef Py_buffer validity            # of a NumPy array with NaT
    cdef const void* numpy_buffers[2]  # what chunks[0].buffers is for a NumPy array
    cdef int kind                      # the KeyKind to hash as
    cdef object name                   # or the position among the columns
    cdef object label                  # the name in messages
    cdef Py_ssize_t length             # rows in all chunks

    cdef int read(self, object column) except -1
    cdef int read_stream(self, object capsule) except -1
    cdef int read_numpy(self, object array) except -1
    cdef ArrowArray* add_chunk(self) except NULL
    cdef int choose_kind(self, object column, object key_type) except -1

    # False where no row can be null.
    cdef bint may_have_nulls(self) noexcept nogil

    # mask[row] = 1 for every null row; other bytes stay.  A HashStatus.
    cdef int mark_nulls(self, uint8_t* mask) noexcept nogil

    # codes[row] = hash of the row, anything where `mask` (NULL = no nulls) is set.  A HashStatus;
    # `bad` is the row that it is about, or -1.
    cdef int hash_rows(self, const uint8_t* mask, int32_t* codes, int64_t* bad) noexcept nogil

    # Raise what a status other than HASH_OK means.
    cdef int raise_status(self, int status, int64_t row) except -1
