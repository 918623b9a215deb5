"""Batches cut by key group, and frames for state bytes."""

import hashlib
import struct
import zlib
from typing import NamedTuple

import numpy
from flinkish._core.values.arrow import pyarrow

from cpython.buffer cimport (
    PyBUF_CONTIG_RO,
    PyBUF_FORMAT,
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

# ---------------------------------------------------------------- rows by group


cdef int64_t count_groups(const Group* groups, int64_t count, int64_t n_groups,
                          int64_t* offsets) noexcept nogil:
    cdef int64_t row, group, size
    cdef int64_t start = 0
    memset(offsets, 0, (n_groups + 1) * sizeof(int64_t))
    for row in range(count):
        group = <int64_t>groups[row]
        if 0 <= group < n_groups:
            offsets[group] += 1
        elif group != -1:
            return row
    for group in range(n_groups + 1):
        size = offsets[group]
        offsets[group] = start
        start += size
    return -1


cdef void order_rows(const Group* groups, int64_t count, int64_t n_groups, const int64_t* offsets,
                     int64_t* cursors, uint32_t* order) noexcept nogil:
    cdef int64_t row, group
    memcpy(cursors, offsets, n_groups * sizeof(int64_t))
    for row in range(count):
        group = <int64_t>groups[row]
        if group >= 0:
            order[cursors[group]] = <uint32_t>row
            cursors[group] += 1


cdef object _order(const Group* groups, int64_t count, int64_t n_groups, int64_t* offsets):
    """The row numbers by group; the work is done without the GIL."""
    cdef Py_buffer view
    cdef int64_t* cursors
    cdef int64_t bad_row
    with nogil:
        bad_row = count_groups(groups, count, n_groups, offsets)
    if bad_row >= 0:
        raise ValueError(f"row {bad_row} has group {groups[bad_row]}; groups must be from 0 to"
                         f" {n_groups - 1}, or -1 for a row without one")
    order = numpy.empty(offsets[n_groups], dtype=numpy.uint32)
    cursors = <int64_t*>malloc((n_groups + 1) * sizeof(int64_t))
    if cursors == NULL:
        raise MemoryError()
    try:
        PyObject_GetBuffer(order, &view, PyBUF_WRITABLE)
        with nogil:
            order_rows(groups, count, n_groups, offsets, cursors, <uint32_t*>view.buf)
        PyBuffer_Release(&view)
    finally:
        free(cursors)
    return order


def group_rows(groups: object, number_of_groups: int) -> tuple:
    """Row numbers sorted by group: `(order, offsets, skipped)`.

    `groups` is a contiguous buffer of 8 to 64-bit integers, one a row.  `order` (uint32, what
    Arrow takes fastest) holds the rows of group g, ascending, from `offsets[g]` to
    `offsets[g + 1]` (int64).  A row of group -1 (a null key) is in none: `skipped` counts them.

    ValueError for any other group outside 0 ... number_of_groups - 1, naming the row;
    TypeError for another kind of buffer.
    """
    cdef Py_buffer view, target
    cdef int64_t n_groups = number_of_groups
    cdef int64_t count
    cdef bytes form
    cdef int64_t* offsets_at
    if not 1 <= n_groups <= 1 << 24:
        raise ValueError(f"the number of groups must be from 1 to {1 << 24}, found {n_groups}")
    offsets = numpy.empty(n_groups + 1, dtype=numpy.int64)
    PyObject_GetBuffer(groups, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT)
    try:
        count = view.len // view.itemsize
        if view.ndim != 1 or count >= 1 << 32:
            raise ValueError(f"groups must be one number a row and less than 2**32 rows, found"
                             f" {count} numbers in {view.ndim} dimensions")
        form = b"B" if view.format == NULL else <bytes>view.format
        PyObject_GetBuffer(offsets, &target, PyBUF_WRITABLE)
        offsets_at = <int64_t*>target.buf
        try:
            if form == b"i":
                order = _order(<const int32_t*>view.buf, count, n_groups, offsets_at)
            elif form == b"H":
                order = _order(<const uint16_t*>view.buf, count, n_groups, offsets_at)
            elif form == b"h":
                order = _order(<const int16_t*>view.buf, count, n_groups, offsets_at)
            elif form == b"B":
                order = _order(<const uint8_t*>view.buf, count, n_groups, offsets_at)
            elif form == b"I":
                order = _order(<const uint32_t*>view.buf, count, n_groups, offsets_at)
            elif form in (b"l", b"q") and view.itemsize == 8:
                order = _order(<const int64_t*>view.buf, count, n_groups, offsets_at)
            else:
                raise TypeError("groups must be uint8, int16, uint16, int32, uint32 or int64,"
                                f" found a buffer of format {form.decode()!r}")
        finally:
            PyBuffer_Release(&target)
    finally:
        PyBuffer_Release(&view)
    return order, offsets, count - len(order)


# ---------------------------------------------------------------- payloads


class CorruptPayload(ValueError):
    """Bytes that are no record batch of the schema that they should have."""


# The schemas that were asked for last, with their hashes: a task has a few, and asks for each
# payload.  Mostly it is the same object, or another one for the same schema of Arrow's.
cdef list _hashes = []
cdef int MOST_HASHES = 16


cdef bytes _hash_of(object schema):
    """8 bytes for the names and types of a schema, whatever may be null."""
    cdef tuple known
    for known in _hashes:
        if known[0] is schema or schema.equals(known[0]):
            return known[1]
    text = "\n".join([f"{field.name} {field.type}".replace(" not null", "") for field in schema])
    digest = hashlib.blake2b(text.encode(), digest_size=HASH_SIZE).digest()
    _hashes.insert(0, (schema, digest))
    del _hashes[MOST_HASHES:]
    return digest


cdef str _columns(object schema):
    return ", ".join([f"{field.name} {field.type}" for field in schema])


cdef bytes _last_bytes(object payload):
    """The last bytes of a payload, where its hash is; fewer if it has no more."""
    cdef Py_buffer view
    cdef Py_ssize_t size
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        size = min(view.len, <Py_ssize_t>HASH_SIZE)
        return PyBytes_FromStringAndSize((<const char*>view.buf) + (view.len - size), size)
    finally:
        PyBuffer_Release(&view)


def pack_payload(batch: object) -> bytes:
    """A batch as one payload: an Arrow IPC record-batch message, then 8 bytes for its schema.

    The message itself has no schema; it is some 300 bytes besides the data.  Bodies are not
    compressed: Spark's shuffle does that.  ValueError for a dictionary-encoded column.
    """
    _refuse_dictionaries(batch.schema)
    return b"".join((batch.serialize(), _hash_of(batch.schema)))


cdef int _refuse_dictionaries(object schema) except -1:
    for field in schema:
        if pyarrow.types.is_dictionary(field.type):
            raise ValueError(f"column {field.name!r} is dictionary-encoded, which a payload without"
                             f" schema cannot carry; cast it to {field.type.value_type}")
    return 0


def pack_groups(batch: object, groups: object, number_of_groups: int) -> list:
    """Cut a batch into `(group, payload, rows)`, one for each group that has rows, ascending.

    `batch` is a `pyarrow.RecordBatch` or `Table`; `groups` as for `group_rows`; rows of group
    -1 go nowhere, so the rows returned may be fewer than the batch's.  Payloads are those of
    `pack_payload`, which `unpack_payload` reads.

    ValueError for a dictionary-encoded column, or groups that do not fit.
    """
    if isinstance(batch, pyarrow.Table):
        batches = batch.combine_chunks().to_batches()
        if len(batches) > 1:
            raise ValueError("the table's text does not fit one batch (2 GiB); pack smaller ones")
        batch = batches[0] if batches else pyarrow.RecordBatch.from_pylist([], batch.schema)
    _refuse_dictionaries(batch.schema)
    digest = _hash_of(batch.schema)
    order, offsets, skipped = group_rows(groups, number_of_groups)
    if len(order) + skipped != batch.num_rows:
        raise ValueError(f"found {len(order) + skipped} groups for {batch.num_rows} rows; give one"
                         " group a row")
    sorted_batch = batch.take(pyarrow.array(order))
    payloads = []
    ends = offsets.tolist()
    for group in range(number_of_groups):
        rows = ends[group + 1] - ends[group]
        if rows:
            part = sorted_batch.slice(ends[group], rows)
            payloads.append((group, b"".join((part.serialize(), digest)), rows))
    return payloads


def unpack_payload(payload: object, schema: object) -> object:
    """The `pyarrow.RecordBatch` of a payload; its columns lie in the payload's memory.

    The payload says by which schema it was packed, which must be this one, but for what may be
    null: else a text of 64-bit offsets, read with those of 32 bits, would be an empty one.
    Everything in it is checked (some 4 ns a row for text, nothing for numbers), so that bad
    bytes are a CorruptPayload here and not a crash later.
    """
    cdef bytes wanted = _hash_of(schema)
    cdef bytes found = _last_bytes(payload)
    if found != wanted:
        raise CorruptPayload(
            f"{memoryview(payload).nbytes} bytes were not packed by the schema ({_columns(schema)}),"
            f" of the hash {wanted.hex()}: they end with {found.hex() or 'nothing'}; cast the"
            " columns to it before they are packed")
    try:
        batch = pyarrow.ipc.read_record_batch(pyarrow.py_buffer(payload), schema)
        batch.validate(full=True)
    except (pyarrow.ArrowException, EOFError, OSError, ValueError) as error:
        raise CorruptPayload(
            f"{memoryview(payload).nbytes} bytes are no record batch of ({_columns(schema)}): {error};"
            " pack and unpack with one schema and one version of the library") from None
    return batch


# ---------------------------------------------------------------- frames

MAGIC = b"FLKS"
cdef object HEADER = struct.Struct("<4sHHHHIQ")
cdef object CHECKSUMS = struct.Struct("<II")
# Shorter contents gain less than the 30 us that a zstd context costs.
cdef Py_ssize_t SHORT = 512


class FrameHeader(NamedTuple):
    """The header of a frame; `size` in bytes before compression."""

    kind: int
    version: int
    key_group: int
    size: int
    compressed: bool


class NewerFrame(ValueError):
    """State bytes that are whole, in a form that only a later flinkish reads.

    `what` is the part that is newer ("version" of the contents, "layout" or "flags" of the
    frame), `found` its number and `newest` the highest that is known.  `contents` are the contents
    where only they are newer, else None; callers may look in them for the name of the writer.
    """

    def __init__(
        self, what: str, found: int, newest: int, contents: memoryview | None = None
    ) -> None:
        super().__init__(what, found, newest, contents)
        self.what = what
        self.found = found
        self.newest = newest
        self.contents = contents

    def __str__(self) -> str:
        return (f"state bytes have the {self.what} {self.found}, and this version of flinkish reads"
                f" up to {self.newest}: they are whole, and a later version wrote them; use that"
                " one")


class CorruptFrame(ValueError):
    """State bytes that are damaged, or not those that were asked for.

    `reason` names the first thing wrong ("size", "magic", "header checksum", "layout", "kind",
    "key group", "body checksum", "body"), `found` and `needed` its values as text; the message
    repeats the frame's whole header.
    """

    def __init__(self, reason: str, found: str, needed: str, frame: str) -> None:
        super().__init__(reason, found, needed, frame)
        self.reason = reason
        self.found = found
        self.needed = needed
        self.frame = frame

    def __str__(self) -> str:
        return (f"state bytes refused, {self.reason}: found {self.found}, needed {self.needed};"
                f" {self.frame}. The bytes are damaged or belong to other state: check that the"
                " checkpoint is this operator's, or go back to an older one")


def seal(
    kind: int, version: int, key_group: int, payload: object, *, compress: bool = True
) -> bytes:
    """State bytes with a header that `unseal` checks.

    `kind` (uint16) and `version` (uint16) are the caller's: what the contents are and how they
    are written.  With `compress`, contents that shrink are stored as zstd, level 1.
    ValueError for a number that does not fit its field.
    """
    return b"".join(seal_parts(kind, version, key_group, payload, compress=compress))


def seal_parts(
    kind: int, version: int, key_group: int, payload: object, *, compress: bool = True
) -> tuple[bytes, memoryview]:
    """The parts of `seal`: the header, and the contents as they are stored, not copied."""
    body = memoryview(payload).cast("B")
    cdef Py_ssize_t size = len(body)
    flags = 0
    if compress and size >= SHORT:
        squeezed = pyarrow.Codec("zstd", compression_level=1).compress(pyarrow.py_buffer(body))
        if squeezed.size < size:
            body = memoryview(squeezed.slice())  # the buffer itself says how long it once was
            flags = FLAG_ZSTD
    try:
        header = HEADER.pack(MAGIC, LAYOUT, kind, version, flags, key_group, size)
    except struct.error as error:
        raise ValueError(f"a frame cannot carry kind {kind!r}, version {version!r}, key group"
                         f" {key_group!r}: {error}") from None
    return header + CHECKSUMS.pack(zlib.crc32(header), zlib.crc32(body)), body


cdef str _frame_text(object view):
    magic, layout, kind, version, flags, key_group, size = HEADER.unpack_from(view)
    header_sum, body_sum = CHECKSUMS.unpack_from(view, HEADER.size)
    return (f"the frame of {len(view)} bytes has magic {magic!r}, layout {layout}, kind {kind},"
            f" version {version}, flags {flags}, key group {key_group}, size {size}, header checksum"
            f" {header_sum:#010x} (computed {zlib.crc32(view[:HEADER.size]):#010x}), body checksum"
            f" {body_sum:#010x} (computed {zlib.crc32(view[HEADER_SIZE:]):#010x})")


cdef object _open_header(object view):
    """The FrameHeader of a frame with a good header."""
    if len(view) < HEADER_SIZE:
        raise CorruptFrame("size", f"{len(view)} bytes", f"at least {HEADER_SIZE}",
                           f"the bytes are {bytes(view).hex() or 'none'}")
    magic, layout, kind, version, flags, key_group, size = HEADER.unpack_from(view)
    header_sum = CHECKSUMS.unpack_from(view, HEADER.size)[0]
    computed = zlib.crc32(view[:HEADER.size])
    if magic != MAGIC:
        raise CorruptFrame("magic", repr(magic), repr(MAGIC), _frame_text(view))
    if header_sum != computed:
        raise CorruptFrame("header checksum", f"{header_sum:#010x}", f"{computed:#010x}",
                           _frame_text(view))
    if layout > LAYOUT:
        raise NewerFrame("layout", layout, LAYOUT)
    if layout != LAYOUT:
        raise CorruptFrame("layout", str(layout), str(LAYOUT), _frame_text(view))
    if flags & ~FLAG_ZSTD:
        raise NewerFrame("flags", flags, FLAG_ZSTD)
    return FrameHeader(kind, version, key_group, size, bool(flags & FLAG_ZSTD))


def frame_header(blob: object) -> object:
    """The `FrameHeader` of a frame whose body is not looked at; CorruptFrame, NewerFrame."""
    return _open_header(memoryview(blob).cast("B"))


def unseal(blob: object, kind: int, key_group: int, *, version: object = None) -> memoryview:
    """The contents that were sealed, as a read-only view, maybe into `blob`.

    `version` is the newest that the caller reads.  CorruptFrame unless every byte is as `seal`
    wrote it, and kind and key group are these; NewerFrame for a good frame with a later version.
    """
    view = memoryview(blob).toreadonly().cast("B")
    header = _open_header(view)
    if header.kind != kind:
        raise CorruptFrame("kind", str(header.kind), str(kind), _frame_text(view))
    if header.key_group != key_group:
        raise CorruptFrame("key group", str(header.key_group), str(key_group), _frame_text(view))
    body = view[HEADER_SIZE:]
    body_sum = CHECKSUMS.unpack_from(view, HEADER.size)[1]
    computed = zlib.crc32(body)
    if computed != body_sum:
        raise CorruptFrame("body checksum", f"{body_sum:#010x}",
                           f"{computed:#010x} as computed over {len(body)} bytes",
                           _frame_text(view))
    if header.compressed:
        try:
            body = memoryview(pyarrow.Codec("zstd").decompress(
                pyarrow.py_buffer(body), header.size, asbytes=True))
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise CorruptFrame("body", f"{len(body)} bytes that zstd refuses ({error})",
                               f"{header.size} bytes compressed", _frame_text(view)) from None
    if len(body) != header.size:
        raise CorruptFrame("body", f"{len(body)} bytes", f"{header.size} bytes",
                           _frame_text(view))
    if version is not None and header.version > version:
        raise NewerFrame("version", header.version, version, body)
    return body
