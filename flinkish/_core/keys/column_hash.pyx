"""Java hash codes of the rows of an Arrow array, without the GIL; see ``column_hash.pxd``."""

cimport cython
from libc.stdint cimport (
    INT32_MAX, INT32_MIN, INT64_MAX,
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from flinkish._core.columns.records cimport (
    LAYOUT_BITS, LAYOUT_DAYS, LAYOUT_DECIMAL, LAYOUT_EPOCH, LAYOUT_FIXED, LAYOUT_FLAGS,
    LAYOUT_FLOAT, LAYOUT_INT, LAYOUT_NULL, LAYOUT_OFFSETS_32, LAYOUT_OFFSETS_64, LAYOUT_STRUCT,
    LAYOUT_UINT, LAYOUT_UNKNOWN, LAYOUT_VIEWS, ArrowArray, ArrowSchema, ArrowType, arrow_is_valid,
    arrow_type,
)

ctypedef fused integer:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t

ctypedef fused text_offset:
    int32_t
    int64_t


cdef int kind_of(const ArrowType* type) noexcept nogil:
    """The KeyKind of a type that is not a dictionary."""
    if type.layout == LAYOUT_INT:
        return KIND_INT if type.width <= 4 else KIND_LONG
    if type.layout == LAYOUT_UINT:
        return KIND_INT if type.width < 4 else KIND_LONG
    if type.layout in (LAYOUT_OFFSETS_32, LAYOUT_OFFSETS_64, LAYOUT_VIEWS):
        return KIND_STR if type.flag else KIND_BYTES
    if type.layout == LAYOUT_FIXED:
        return KIND_BYTES
    if type.layout == LAYOUT_FLOAT:
        return KIND_FLOAT if type.width == 4 else KIND_DOUBLE
    if type.layout == LAYOUT_BITS or type.layout == LAYOUT_FLAGS:
        return KIND_BOOL
    if type.layout == LAYOUT_NULL:
        return KIND_NULL
    if type.layout == LAYOUT_DAYS:
        return KIND_DATE
    if type.layout == LAYOUT_EPOCH:
        return KIND_TIMESTAMP
    if type.layout == LAYOUT_DECIMAL:
        return KIND_DECIMAL
    return KIND_TUPLE if type.layout == LAYOUT_STRUCT else KIND_ANY


cdef inline int unknown(ColumnType* out) noexcept nogil:
    out.layout, out.kind, out.width, out.detail = LAYOUT_UNKNOWN, KIND_ANY, 0, 0
    return LAYOUT_UNKNOWN


cdef int column_type(const ArrowSchema* schema, ColumnType* out) noexcept nogil:
    cdef ColumnType inner
    cdef ArrowType own
    cdef int64_t i
    arrow_type(schema, &own)
    if schema.dictionary != NULL:
        if own.layout != LAYOUT_INT and own.layout != LAYOUT_UINT:
            return unknown(out)
        return column_type(schema.dictionary, out)
    for i in range(schema.n_children):
        if column_type(schema.children[i], &inner) == LAYOUT_UNKNOWN:
            return unknown(out)
    out.layout, out.kind, out.width, out.detail = own.layout, kind_of(&own), own.width, own.detail
    return own.layout


cdef inline bint has_validity(const ArrowArray* array) noexcept nogil:
    return array.null_count != 0 and array.n_buffers > 0 and array.buffers[0] != NULL


cdef bint column_may_have_nulls(
    const ArrowSchema* schema, const ArrowArray* array
) noexcept nogil:
    cdef int64_t i
    if schema.format[0] == b"n" or has_validity(array):
        return array.length > 0
    if schema.dictionary != NULL and column_may_have_nulls(schema.dictionary, array.dictionary):
        return True
    for i in range(array.n_children):
        if column_may_have_nulls(schema.children[i], array.children[i]):
            return True
    return False


# The dictionary index in `row` (offset counted in), which is not null.
cdef int64_t index_at(const ArrowType* kind, const void* data, int64_t row) noexcept nogil:
    cdef bint signed_ = kind.layout == LAYOUT_INT
    if kind.width == 4:
        return (<const int32_t*> data)[row] if signed_ else (<const uint32_t*> data)[row]
    if kind.width == 1:
        return (<const int8_t*> data)[row] if signed_ else (<const uint8_t*> data)[row]
    if kind.width == 2:
        return (<const int16_t*> data)[row] if signed_ else (<const uint16_t*> data)[row]
    return (<const int64_t*> data)[row]


cdef int column_mark_nulls(
    const ArrowSchema* schema, const ArrowArray* array, int64_t start, int64_t rows,
    uint8_t* mask
) noexcept nogil:
    cdef int64_t first = array.offset + start, i, index
    cdef int status = HASH_OK
    cdef ArrowType indices
    cdef uint8_t* values
    if schema.format[0] == b"n":
        memset(mask, 1, rows)
        return HASH_OK
    if has_validity(array):
        for i in range(rows):
            mask[i] |= not arrow_is_valid(<const uint8_t*> array.buffers[0], first + i)
    for i in range(array.n_children):
        status = column_mark_nulls(schema.children[i], array.children[i], first, rows, mask)
        if status:
            return status
    if schema.dictionary == NULL or not column_may_have_nulls(
        schema.dictionary, array.dictionary
    ):
        return HASH_OK
    values = <uint8_t*> calloc(array.dictionary.length, 1)
    if values == NULL:
        return HASH_NO_MEMORY
    status = column_mark_nulls(
        schema.dictionary, array.dictionary, 0, array.dictionary.length, values
    )
    if not status:
        arrow_type(schema, &indices)
        for i in range(rows):
            if not mask[i]:
                index = index_at(&indices, array.buffers[1], first + i)
                mask[i] = 0 <= index < array.dictionary.length and values[index]
    free(values)
    return status


# The first row that does not fit the Java type, or -1.
cdef int64_t hash_integers(
    const integer* values, int64_t rows, int kind, const uint8_t* mask, int32_t* codes
) noexcept nogil:
    cdef int64_t i, wide
    cdef bint narrow
    if kind == KIND_LONG or kind == KIND_WIDENED:
        for i in range(rows):
            if integer is uint64_t:
                if values[i] > <uint64_t> INT64_MAX and (mask == NULL or not mask[i]):
                    return i
            wide = <int64_t> values[i]
            narrow = kind == KIND_WIDENED and INT32_MIN <= wide <= INT32_MAX
            codes[i] = <int32_t> wide if narrow else hash_long(wide)
    elif integer is uint32_t or integer is int64_t or integer is uint64_t:
        for i in range(rows):
            wide = <int64_t> values[i]    # above int64, a uint64 wraps to a negative ...
            if integer is uint64_t:
                if wide < 0:
                    wide = INT64_MAX      # ... which does not fit either
            if (wide < INT32_MIN or wide > INT32_MAX) and (mask == NULL or not mask[i]):
                return i
            codes[i] = <int32_t> wide
    else:
        for i in range(rows):
            codes[i] = <int32_t> values[i]
    return -1


cdef int hash_numbers(
    const ArrowType* column, const void* data, int64_t first, int64_t rows, int kind,
    const uint8_t* mask, int32_t* codes, int64_t* bad
) noexcept nogil:
    cdef int64_t misfit
    if column.layout == LAYOUT_INT:
        if column.width == 1:
            misfit = hash_integers(<const int8_t*> data + first, rows, kind, mask, codes)
        elif column.width == 2:
            misfit = hash_integers(<const int16_t*> data + first, rows, kind, mask, codes)
        elif column.width == 4:
            misfit = hash_integers(<const int32_t*> data + first, rows, kind, mask, codes)
        else:
            misfit = hash_integers(<const int64_t*> data + first, rows, kind, mask, codes)
    elif column.width == 1:
        misfit = hash_integers(<const uint8_t*> data + first, rows, kind, mask, codes)
    elif column.width == 2:
        misfit = hash_integers(<const uint16_t*> data + first, rows, kind, mask, codes)
    elif column.width == 4:
        misfit = hash_integers(<const uint32_t*> data + first, rows, kind, mask, codes)
    else:
        misfit = hash_integers(<const uint64_t*> data + first, rows, kind, mask, codes)
    if misfit >= 0:
        bad[0] = misfit
        return HASH_TOO_WIDE
    return HASH_OK


# Strings or binary between offsets; the first row that is not UTF-8, or -1.
cdef int64_t hash_between(
    const text_offset* offsets, const uint8_t* data, int64_t rows, int kind,
    const uint8_t* mask, int32_t* codes
) noexcept nogil:
    cdef int64_t i
    for i in range(rows):
        if mask != NULL and mask[i]:
            continue
        if kind == KIND_BYTES:
            codes[i] = hash_bytes(data + offsets[i], offsets[i + 1] - offsets[i])
        elif not hash_utf8(data + offsets[i], offsets[i + 1] - offsets[i], codes + i):
            return i
    return -1


# Views are 16 bytes: the length, then up to 12 bytes, or 4 bytes of prefix, which of the
# variadic buffers (after the first two), and where in it.
cdef int64_t hash_views(
    const int32_t* views, const void** buffers, int64_t rows, int kind,
    const uint8_t* mask, int32_t* codes
) noexcept nogil:
    cdef const uint8_t* data
    cdef int64_t i
    for i in range(rows):
        if mask != NULL and mask[i]:
            continue
        if views[4 * i] <= 12:
            data = <const uint8_t*> (views + 4 * i + 1)
        else:
            data = <const uint8_t*> buffers[2 + views[4 * i + 2]] + views[4 * i + 3]
        if kind == KIND_BYTES:
            codes[i] = hash_bytes(data, views[4 * i])
        elif not hash_utf8(data, views[4 * i], codes + i):
            return i
    return -1


# Constant divisors, so that the compiler multiplies instead.
cdef void hash_times(
    const int64_t* values, int64_t rows, int64_t per_second, int32_t* codes
) noexcept nogil:
    cdef int64_t i
    if per_second == 1000000:
        for i in range(rows):
            codes[i] = hash_epoch_parts(values[i], 1000000)
    elif per_second == 1000000000:
        for i in range(rows):
            codes[i] = hash_epoch_parts(values[i], 1000000000)
    elif per_second == 1000:
        for i in range(rows):
            codes[i] = hash_epoch_parts(values[i], 1000)
    else:
        for i in range(rows):
            codes[i] = hash_epoch_parts(values[i], 1)


# A dictionary's values are hashed once each, then looked up.
cdef int hash_dictionary(
    const ArrowSchema* schema, const ArrowArray* array, int64_t start, int64_t rows, int kind,
    const uint8_t* mask, int32_t* codes, int64_t* bad
) noexcept nogil:
    cdef const ArrowArray* dictionary = array.dictionary
    cdef int64_t size = dictionary.length, i, index
    cdef int32_t* values = <int32_t*> calloc(size + 1, sizeof(int32_t))
    cdef uint8_t* nulls = <uint8_t*> calloc(size + 1, 1)
    cdef ArrowType indices
    cdef int status = HASH_NO_MEMORY
    if values != NULL and nulls != NULL:
        status = column_mark_nulls(schema.dictionary, dictionary, 0, size, nulls)
    if not status:
        status = column_hash(schema.dictionary, dictionary, 0, size, kind, nulls, values, bad)
        bad[0] = -1
    if not status:
        arrow_type(schema, &indices)
        for i in range(rows):
            if mask != NULL and mask[i]:
                continue
            index = index_at(&indices, array.buffers[1], array.offset + start + i)
            if index < 0 or index >= size:
                bad[0] = i
                status = HASH_BAD_INDEX
                break
            codes[i] = values[index]
    free(values)
    free(nulls)
    return status


# A struct is a tuple of its fields.
@cython.overflowcheck(False)
cdef int hash_struct(
    const ArrowSchema* schema, const ArrowArray* array, int64_t start, int64_t rows,
    const uint8_t* mask, int32_t* codes, int64_t* bad
) noexcept nogil:
    cdef int32_t* field = <int32_t*> malloc((rows + 1) * sizeof(int32_t))
    cdef ColumnType inner
    cdef int64_t child, i
    cdef int status = HASH_OK
    if field == NULL:
        return HASH_NO_MEMORY
    memset(codes, 0, rows * sizeof(int32_t))
    for child in range(array.n_children):
        column_type(schema.children[child], &inner)
        memset(field, 0, rows * sizeof(int32_t))
        status = column_hash(
            schema.children[child], array.children[child], array.offset + start, rows,
            inner.kind, mask, field, bad,
        )
        if status:
            break
        for i in range(rows):
            codes[i] = <int32_t> (<uint32_t> codes[i] * 31u + <uint32_t> field[i])
    free(field)
    return status


cdef int column_hash(
    const ArrowSchema* schema, const ArrowArray* array, int64_t start, int64_t rows, int kind,
    const uint8_t* mask, int32_t* codes, int64_t* bad
) noexcept nogil:
    cdef int64_t first = array.offset + start, i, broken = -1
    cdef const void* data = array.buffers[1] if array.n_buffers > 1 else NULL
    cdef uint32_t words[8]
    cdef ArrowType column
    if rows == 0:
        return HASH_OK
    if schema.dictionary != NULL:
        return hash_dictionary(schema, array, start, rows, kind, mask, codes, bad)
    arrow_type(schema, &column)
    if column.layout == LAYOUT_INT or column.layout == LAYOUT_UINT:
        return hash_numbers(&column, data, first, rows, kind, mask, codes, bad)
    if column.layout == LAYOUT_OFFSETS_32:
        broken = hash_between(
            <const int32_t*> data + first, <const uint8_t*> array.buffers[2], rows, kind, mask,
            codes,
        )
    elif column.layout == LAYOUT_OFFSETS_64:
        broken = hash_between(
            <const int64_t*> data + first, <const uint8_t*> array.buffers[2], rows, kind, mask,
            codes,
        )
    elif column.layout == LAYOUT_VIEWS:
        broken = hash_views(
            <const int32_t*> data + 4 * first, array.buffers, rows, kind, mask, codes
        )
    elif column.layout == LAYOUT_FIXED:
        for i in range(rows):
            codes[i] = hash_bytes(<const uint8_t*> data + (first + i) * column.width, column.width)
    elif column.layout == LAYOUT_FLOAT:
        for i in range(rows):
            if column.width == 8:
                codes[i] = hash_double((<const double*> data)[first + i])
            elif kind == KIND_DOUBLE:
                codes[i] = hash_double((<const float*> data)[first + i])
            else:
                codes[i] = hash_float((<const float*> data)[first + i])
    elif column.layout == LAYOUT_BITS:
        for i in range(rows):
            codes[i] = hash_bool(arrow_is_valid(<const uint8_t*> data, first + i))
    elif column.layout == LAYOUT_FLAGS:
        for i in range(rows):
            codes[i] = hash_bool((<const uint8_t*> data)[first + i])
    elif column.layout == LAYOUT_DAYS:
        for i in range(rows):
            codes[i] = hash_epoch_day((<const int32_t*> data)[first + i])
    elif column.layout == LAYOUT_EPOCH:
        hash_times(<const int64_t*> data + first, rows, column.detail, codes)
    elif column.layout == LAYOUT_DECIMAL:
        for i in range(rows):
            memcpy(words, <const uint8_t*> data + (first + i) * column.width, column.width)
            codes[i] = hash_decimal(words, column.width // 4, <int32_t> column.detail)
    elif column.layout == LAYOUT_STRUCT:
        return hash_struct(schema, array, start, rows, mask, codes, bad)
    if broken >= 0:
        bad[0] = broken
        return HASH_BAD_TEXT
    return HASH_OK
