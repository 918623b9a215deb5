# The Arrow C data interface: how columns come in from pyarrow (or any other producer) without
# its headers.  Layout: https://arrow.apache.org/docs/format/CDataInterface.html
#
# Ownership, in one rule: the code that holds a struct with a non-NULL `release` releases it, once.
#
# * A struct inside a PyCapsule belongs to the capsule.  `arrow_schema_of`, `arrow_array_of` and
#   `arrow_stream_of` only lend it: keep a reference to the capsule while you read, and its
#   destructor does the rest.
# * A struct that a call filled in for you (`stream.get_schema`, `stream.get_next`) is yours:
#   call `arrow_schema_release` or `arrow_array_release` when done.  Zero it before the call.
# * To keep what a capsule lends for longer than the capsule, `arrow_..._move` it: the source is
#   marked as released and the target is yours.
# * Children and dictionaries belong to their parent: never release them.
#
# A release sets `release` to NULL, so that releasing twice does nothing.
#
# Header only: `cimport` it; there is no module `arrow_abi` at run time.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cdef struct ArrowSchema:
    const char* format        # the type, for instance b"l" for int64; never NULL
    const char* name          # the field's name, may be NULL
    const char* metadata
    int64_t flags             # ordered dictionary 1, nullable 2, sorted map keys 4
    int64_t n_children
    ArrowSchema** children
    ArrowSchema* dictionary   # type of the values when `format` is the type of the indices
    void (*release)(ArrowSchema*) noexcept nogil
    void* private_data

cdef struct ArrowArray:
    int64_t length            # rows, not counting `offset`
    int64_t null_count        # -1 = not computed
    int64_t offset            # rows to skip in every buffer, the validity bits included
    int64_t n_buffers
    int64_t n_children
    const void** buffers      # [0] validity bits (NULL = no nulls), then as the type says
    ArrowArray** children     # a struct's children do not contain its `offset`
    ArrowArray* dictionary
    void (*release)(ArrowArray*) noexcept nogil
    void* private_data

cdef struct ArrowArrayStream:
    int (*get_schema)(ArrowArrayStream*, ArrowSchema* out) noexcept nogil    # 0, or an errno
    int (*get_next)(ArrowArrayStream*, ArrowArray* out) noexcept nogil       # out.release NULL = end
    const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil          # may be NULL
    void (*release)(ArrowArrayStream*) noexcept nogil
    void* private_data


# Whether row `index` (with the array's offset already added) is not null; NULL bits = no nulls.
cdef inline bint arrow_is_valid(const uint8_t* bits, int64_t index) noexcept nogil:
    return bits == NULL or (bits[index >> 3] >> (index & 7)) & 1


# The struct in the first / second capsule of `__arrow_c_array__()`, lent.
cdef inline ArrowSchema* arrow_schema_of(object capsule) except NULL:
    cdef ArrowSchema* schema = <ArrowSchema*> PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release == NULL:
        raise ValueError("this Arrow schema was already consumed; export the array again")
    return schema


cdef inline ArrowArray* arrow_array_of(object capsule) except NULL:
    cdef ArrowArray* array = <ArrowArray*> PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release == NULL:
        raise ValueError("this Arrow array was already consumed; export it again")
    return array


# The struct in the capsule of `__arrow_c_stream__()`, lent; reading advances it.
cdef inline ArrowArrayStream* arrow_stream_of(object capsule) except NULL:
    cdef ArrowArrayStream* stream
    stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release == NULL:
        raise ValueError("this Arrow stream was already consumed; export it again")
    return stream


# Release what is yours; nothing happens when it was zeroed, moved away or released before.
cdef inline void arrow_schema_release(ArrowSchema* schema) noexcept nogil:
    if schema.release != NULL:
        schema.release(schema)


cdef inline void arrow_array_release(ArrowArray* array) noexcept nogil:
    if array.release != NULL:
        array.release(array)


# Take over a struct: `target` (uninitialised before) is yours, `source` counts as released.
cdef inline void arrow_schema_move(ArrowSchema* source, ArrowSchema* target) noexcept nogil:
    memcpy(target, source, sizeof(ArrowSchema))
    source.release = NULL


cdef inline void arrow_array_move(ArrowArray* source, ArrowArray* target) noexcept nogil:
    memcpy(target, source, sizeof(ArrowArray))
    source.release = NULL
