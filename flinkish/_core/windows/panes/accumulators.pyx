"""Accumulators of built-in aggregates; described in ``windows/panes/accumulators.pxd``."""

cimport cython
from libc.string cimport memcpy, memset

KINDS = {"count": STEP_COUNT, "int": STEP_INT, "float": STEP_FLOAT, "extreme": STEP_EXTREME,
         "pick": STEP_PICK}
cdef uint64_t SIGN = <uint64_t>1 << 63

cdef extern from "math.h" nogil:
    bint isfinite(double x) noexcept
    bint isnan(double x) noexcept


cdef inline double as_double(uint64_t word) noexcept nogil:
    cdef double value
    memcpy(&value, &word, 8)
    return value


cdef inline uint64_t code_of(uint64_t word, bint is_float, bint lowest) noexcept nogil:
    """A code that rises with the value; nan is the greatest, as in Spark and Java."""
    cdef uint64_t code
    if not is_float:
        code = word ^ SIGN
    elif isnan(as_double(word)):
        code = ~(<uint64_t>0)
    else:
        code = ~word if word & SIGN else word | SIGN
    return ~code if lowest else code


# --- one value into its place; `place` is 8-byte aligned ----------------------------------------

@cython.overflowcheck(False)
cdef inline void add_int(uint64_t* place, uint64_t low, uint64_t high) noexcept nogil:
    cdef uint64_t sum = place[0] + low
    place[1] += high + (sum < low)
    place[0] = sum


cdef inline void add_float(double* place, double value, double error) noexcept nogil:
    cdef double high = place[0]
    cdef double sum = high + value
    cdef double part = sum - high
    place[0] = sum
    # The error of the sum, exactly (Knuth).  An infinity or nan has none.
    if isfinite(sum):
        place[1] += error + ((high - (sum - part)) + (value - part))
    else:
        place[1] = 0


cdef inline void keep_greatest(uint64_t* place, uint64_t code) noexcept nogil:
    if code > place[0]:
        place[0] = code


cdef inline void pick(uint64_t* place, uint64_t code, uint64_t word) noexcept nogil:
    if code > place[0]:
        place[0] = code
        place[1] = word


cdef inline uint64_t high_of(uint64_t word) noexcept nogil:
    """The upper half of an int64 in 128 bits."""
    return <uint64_t>((<int64_t>word) >> 63)


cdef inline void take_word(const Step* step, char* place, uint64_t word, uint64_t arrival) noexcept nogil:
    if step.kind == STEP_COUNT:
        (<int64_t*>place)[0] += 1
    elif step.kind == STEP_INT:
        add_int(<uint64_t*>place, word, high_of(word))
    elif step.kind == STEP_FLOAT:
        add_float(<double*>place, as_double(word), 0)
    elif step.kind == STEP_EXTREME:
        keep_greatest(<uint64_t*>place, code_of(word, step.is_float, step.lowest))
    else:
        pick(<uint64_t*>place, ~arrival if step.lowest else arrival, word)


cdef void record_add(const Layout* layout, char* record, const WordColumn* columns, int64_t row,
                     uint64_t arrival) noexcept nogil:
    cdef const Step* step
    cdef uint32_t at
    (<int64_t*>record)[0] += 1
    for at in range(layout.count):
        step = &layout.steps[at]
        if word_is_valid(&columns[step.column], row):
            take_word(step, record + step.offset, columns[step.column].words[row], arrival)


# --- many rows, column by column ----------------------------------------------------------------

cdef void step_add(const Step* step, uint32_t stride, char* places, const uint32_t* groups,
                   const WordColumn* column, int64_t row, int64_t count,
                   uint64_t arrival) noexcept nogil:
    """As `take_word` for each row.  The loops that matter stand alone, without its branches."""
    cdef const uint64_t* words = column.words + row
    cdef bint is_float = step.is_float, lowest = step.lowest
    cdef int64_t i
    if column.valid != NULL:
        for i in range(count):
            if word_is_valid(column, row + i):
                take_word(step, places + <size_t>groups[i] * stride, words[i], arrival + i)
    elif step.kind == STEP_COUNT:
        for i in range(count):
            (<int64_t*>(places + <size_t>groups[i] * stride))[0] += 1
    elif step.kind == STEP_INT:
        for i in range(count):
            add_int(<uint64_t*>(places + <size_t>groups[i] * stride), words[i], high_of(words[i]))
    elif step.kind == STEP_FLOAT:
        for i in range(count):
            add_float(<double*>(places + <size_t>groups[i] * stride), as_double(words[i]), 0)
    elif step.kind == STEP_EXTREME:
        for i in range(count):
            keep_greatest(<uint64_t*>(places + <size_t>groups[i] * stride),
                          code_of(words[i], is_float, lowest))
    else:
        for i in range(count):
            pick(<uint64_t*>(places + <size_t>groups[i] * stride),
                 ~(arrival + i) if lowest else arrival + i, words[i])


cdef void records_add(const Layout* layout, char* records, const uint32_t* groups,
                      const WordColumn* columns, int64_t row, int64_t count,
                      uint64_t arrival) noexcept nogil:
    cdef const Step* step
    cdef uint32_t at
    cdef int64_t i
    for i in range(count):
        (<int64_t*>(records + <size_t>groups[i] * layout.stride))[0] += 1
    for at in range(layout.count):
        step = &layout.steps[at]
        step_add(step, layout.stride, records + step.offset, groups, &columns[step.column], row,
                 count, arrival)


# --- records with each other --------------------------------------------------------------------

cdef void record_merge(const Layout* layout, char* into, const char* other) noexcept nogil:
    cdef const Step* step
    cdef char* place
    cdef const uint64_t* word
    cdef const double* parts
    cdef uint32_t at
    (<int64_t*>into)[0] += (<const int64_t*>other)[0]
    for at in range(layout.count):
        step = &layout.steps[at]
        place = into + step.offset
        word = <const uint64_t*>(other + step.offset)
        if step.kind == STEP_COUNT:
            (<int64_t*>place)[0] += <int64_t>word[0]
        elif step.kind == STEP_INT:
            add_int(<uint64_t*>place, word[0], word[1])
        elif step.kind == STEP_FLOAT:
            parts = <const double*>(other + step.offset)
            add_float(<double*>place, parts[0], parts[1])
        elif step.kind == STEP_EXTREME:
            keep_greatest(<uint64_t*>place, word[0])
        else:
            pick(<uint64_t*>place, word[0], word[1])


@cython.overflowcheck(False)
cdef void record_shift(const Layout* layout, char* record, uint64_t by) noexcept nogil:
    cdef const Step* step
    cdef uint64_t* place
    cdef uint32_t at
    for at in range(layout.count):
        step = &layout.steps[at]
        place = <uint64_t*>(record + step.offset)
        if step.kind == STEP_PICK and place[0] != 0:
            place[0] = place[0] - by if step.lowest else place[0] + by


cdef uint64_t record_last(const Layout* layout, const char* record) noexcept nogil:
    cdef const Step* step
    cdef uint64_t code, last = 0
    cdef uint32_t at
    for at in range(layout.count):
        step = &layout.steps[at]
        code = (<const uint64_t*>(record + step.offset))[0]
        if step.kind == STEP_PICK and code != 0:
            last = max(last, ~code if step.lowest else code)
    return last


# --- for Python ---------------------------------------------------------------------------------

cdef class AccumulatorLayout:
    """The layout of the records of one operator.

    ``steps`` are tuples (kind, column, is_float, lowest): a key of KINDS, the number of the
    column, what its words are, and whether the least or first is wanted.  `offsets` are the
    places of the steps in a record, `stride` its bytes.
    """

    def __init__(self, steps):
        cdef Step* step
        cdef Py_ssize_t at
        self.steps = tuple(steps)
        if len(self.steps) > MOST_STEPS:
            raise ValueError(
                f"{len(self.steps)} accumulators are more than {MOST_STEPS}; use two operators"
            )
        memset(&self.layout, 0, sizeof(self.layout))
        self.layout.stride = 8
        for at in range(len(self.steps)):
            kind, column, is_float, lowest = self.steps[at]
            if not 0 <= column < MOST_STEPS:
                raise ValueError(f"there is no column {column}; columns are 0 to {MOST_STEPS - 1}")
            step = &self.layout.steps[at]
            step.kind = KINDS[kind]
            step.column = column
            step.is_float = is_float
            step.lowest = lowest
            step.offset = self.layout.stride
            self.layout.stride += 8 if step.kind in (STEP_COUNT, STEP_EXTREME) else 16
            self.layout.columns = max(self.layout.columns, step.column + 1)
        self.layout.count = <uint32_t>len(self.steps)

    @property
    def stride(self):
        """Bytes of a record."""
        return self.layout.stride

    @property
    def offsets(self):
        """Where the place of each step begins in a record."""
        return tuple(self.layout.steps[at].offset for at in range(self.layout.count))


cdef class WordColumns:
    """Columns of a batch of ``rows`` rows.

    ``columns`` are tuples (words, valid, bit): a uint64 array; the uint8 array of an Arrow
    validity bitmap or None; and the bit of the bitmap at which the first row's is.
    """

    def __init__(self, Py_ssize_t rows, list columns not None):
        cdef const uint64_t[::1] words
        cdef const uint8_t[::1] valid
        cdef Py_ssize_t at
        if len(columns) > MOST_STEPS:
            raise ValueError(f"{len(columns)} columns are more than {MOST_STEPS}")
        memset(self.columns, 0, sizeof(self.columns))
        self.rows = rows
        self.owners = []
        for at in range(len(columns)):
            words, valid, bit = columns[at]
            if words.shape[0] != rows:
                raise ValueError(f"column {at} has {words.shape[0]} words for {rows} rows")
            if rows == 0:
                continue
            self.columns[at].words = &words[0]
            if valid is not None:
                if bit < 0 or valid.shape[0] * 8 < bit + rows:
                    raise ValueError(
                        f"column {at} has {valid.shape[0] * 8} bits of validity from bit {bit} on "
                        f"for {rows} rows"
                    )
                self.columns[at].valid = &valid[0]
                self.columns[at].bit = bit
            self.owners.append((words, valid))
