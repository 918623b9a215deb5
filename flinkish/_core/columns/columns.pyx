"""Records that functions return, as a batch of Arrow columns."""

import datetime
import zoneinfo

import numpy
from flinkish._core.values.arrow import pyarrow

from cpython.object cimport PyObject
from flinkish._core.values.row cimport Row, row_names
from libc.stdint cimport int64_t

include "arrow_builders.pyx"

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object mapping, object key) except? NULL


class RecordMismatch(ValueError):
    """A record does not fit the schema.

    `row_index` counts from 0, `row` is its repr (at most 200 characters), `column` the name or
    path (``"a.b"``) of the column, None when the record's own shape is wrong; `found` and
    `needed` are texts.
    """

    def __init__(
        self, row_index: int, row: str, column: str | None, found: str, needed: str
    ) -> None:
        super().__init__(row_index, row, column, found, needed)
        self.row_index = row_index
        self.row = row
        self.column = column
        self.found = found
        self.needed = needed

    def __str__(self) -> str:
        where = "" if self.column is None else f"column {self.column!r}: "
        return (f"{where}needed {self.needed}, found {self.found}, in record {self.row_index}:"
                f" {self.row}")


# ---------------------------------------------------------------- records to lists of values


cdef int _append_by_name(list columns, tuple names, str path, Py_ssize_t index, dict given,
                         Py_ssize_t size) except -1:
    """Append the fields of a record that names its `size` fields, which are all of the schema's."""
    cdef Py_ssize_t i
    cdef PyObject* value
    for i in range(len(names)):
        value = PyDict_GetItemWithError(given, names[i])
        if value == NULL:
            break
        (<list>columns[i]).append(<object>value)
    else:
        if size == len(names):
            return 0
    unknown = [repr(field) for field in given if field not in names]
    absent = [name for name in names if name not in given]
    if absent and not unknown:
        # Not taken for None: a field that was forgotten would be lost in silence.
        raise Refusal(index, path + absent[0],
                      f"no such field among {', '.join(map(str, given)) or 'none'}",
                      "a value, or None for null")
    raise Refusal(index, path[:len(path) - 1] or None,
                  f"unknown field {', '.join(unknown)}" if unknown else "a field twice",
                  f"the fields {', '.join(names)}")


cdef int _append_in_order(list columns, tuple names, str path, Py_ssize_t index,
                          object values) except -1:
    # What a record holds is counted when it is taken: its own word, `len`, may be another.
    cdef tuple fields = tuple(values)
    cdef Py_ssize_t i
    if len(fields) != len(names):
        raise Refusal(index, path[:len(path) - 1] or None,
                      f"{len(fields)} value{'' if len(fields) == 1 else 's'}",
                      f"{len(names)}: {', '.join(names)}")
    for i in range(len(names)):
        (<list>columns[i]).append(fields[i])
    return 0



cdef list spread_records(list records, tuple names, str path, object lone):
    cdef list columns = [[] for _ in names]
    cdef Py_ssize_t index
    cdef tuple fields
    cdef object record
    for index in range(len(records)):
        record = records[index]
        if type(record) is tuple:
            _append_in_order(columns, names, path, index, record)
        elif lone is not None and _is_lone(record, names, lone):
            (<list>columns[0]).append(record)
        elif type(record) is Row:
            fields = (<Row>record)._names
            if fields is None or fields is names or fields == names:
                _append_in_order(columns, names, path, index, (<Row>record)._values)
            else:
                _append_by_name(columns, names, path, index,
                                dict(zip(fields, (<Row>record)._values)), len(fields))
        elif isinstance(record, dict):
            _append_by_name(columns, names, path, index,
                            record if type(record) is dict else dict(record), len(record))
        elif isinstance(record, tuple) and getattr(record, "__fields__", None) is not None:
            if tuple(record.__fields__) == names:
                _append_in_order(columns, names, path, index, record)
            else:
                _append_by_name(columns, names, path, index,
                                dict(zip(record.__fields__, record)), len(record))
        elif isinstance(record, (tuple, list)):
            _append_in_order(columns, names, path, index, record)
        elif record is None and path:
            for column in columns:           # a struct that is None: so are its fields
                (<list>column).append(None)
        else:
            raise Refusal(index, path[:len(path) - 1] or None, shown(record),
                          f"a tuple, list, dict or Row of {', '.join(names)}")
    return columns


cdef bint _is_lone(object record, tuple names, object kind) except -1:
    """Whether a record of a one-column schema is the value itself, not a record around it."""
    types = pyarrow.types
    if isinstance(record, tuple) and not hasattr(record, "__fields__"):
        return False
    if isinstance(record, list):
        return types.is_nested(kind) and not types.is_struct(kind) and not types.is_map(kind)
    if isinstance(record, dict):
        return types.is_nested(kind) and tuple(record) != names
    if isinstance(record, Row):
        return types.is_struct(kind) and (<Row>record)._names != names
    if isinstance(record, tuple):
        return types.is_struct(kind) and tuple(record.__fields__) != names
    return True


# ---------------------------------------------------------------- lists of values to arrays


cdef object _struct(Target target, list values, list parents):
    cdef Py_ssize_t index
    cdef bint some_null = False
    cdef list fields = list(target.type)
    cdef tuple names = row_names([field.name for field in fields])
    for index in range(len(values)):
        if values[index] is None:
            target.check_null(index, parents)
            some_null = True
    columns = spread_records(values, names, f"{target.column}.", None)
    children = [
        build_column(target_inside(target, field, field.name), column, values)
        for field, column in zip(fields, columns)
    ]
    mask = pyarrow.array([value is None for value in values], pyarrow.bool_()) if (
        some_null) else None
    return pyarrow.StructArray.from_arrays(children, fields=fields, mask=mask)


cdef object _offsets(Target target, list values, list parents, object accepted, str needed):
    """Offsets of the values' parts; None where a value is None."""
    cdef list offsets = []
    cdef Py_ssize_t index
    cdef int64_t total = 0
    for index in range(len(values)):
        if values[index] is None:
            target.check_null(index, parents)
            offsets.append(None)
            continue
        if not isinstance(values[index], accepted):
            target.refuse(index, values[index], needed)
        offsets.append(total)
        total += len(values[index])
    offsets.append(total)
    return offsets


cdef object _part(Target target, object field, str name, list parts, list offsets):
    """Build what lies inside lists or maps; a refusal there is one of the value around it."""
    try:
        return build_column(target_inside(target, field, name), parts, None)
    except Refusal as refusal:
        around = [index for index, offset in enumerate(offsets)
                  if offset is not None and offset <= refusal.index]
        raise Refusal(max(around), refusal.column, refusal.found, refusal.needed) from None


cdef object _list(Target target, list values, list parents, object kind, object offset_type):
    offsets = _offsets(target, values, parents, (list, tuple, numpy.ndarray), "a list")
    parts = [part for value in values if value is not None for part in value]
    return kind.from_arrays(
        pyarrow.array(offsets, offset_type),
        _part(target, target.type.value_field, "item", parts, offsets),
        type=target.type,
    )


cdef object _map(Target target, list values, list parents):
    offsets = _offsets(target, values, parents, dict, "a dict")
    keys = [key for value in values if value is not None for key in value]
    items = [item for value in values if value is not None for item in value.values()]
    return pyarrow.MapArray.from_arrays(
        pyarrow.array(offsets, pyarrow.int32()),
        _part(target, target.type.key_field, "key", keys, offsets),
        _part(target, target.type.item_field, "value", items, offsets),
        type=target.type,
    )


cdef object build_column(Target target, list values, list parents):
    types = pyarrow.types
    if not types.is_nested(target.type):
        return build_array(target, values, parents)
    if types.is_struct(target.type):
        return _struct(target, values, parents)
    if types.is_list(target.type):
        return _list(target, values, parents, pyarrow.ListArray, pyarrow.int32())
    if types.is_large_list(target.type):
        return _list(target, values, parents, pyarrow.LargeListArray, pyarrow.int64())
    if types.is_map(target.type):
        return _map(target, values, parents)
    return build_array(target, values, parents)


cdef object _zone(object time_zone):
    """The tzinfo of a name, None for UTC."""
    if time_zone is None or time_zone in ("UTC", "Etc/UTC", "Z"):
        return None
    if isinstance(time_zone, datetime.tzinfo):
        return None if time_zone is datetime.timezone.utc else time_zone
    try:
        return zoneinfo.ZoneInfo(time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"unknown time zone {time_zone!r}: {error}; give an IANA name such as"
                         " 'Europe/Berlin', or install tzdata") from None


def columns_from_rows(rows: object, schema: object, *, time_zone: object = None) -> object:
    """A `pyarrow.RecordBatch` of `schema` with one row a record.

    A record is a tuple or list in the schema's order, or names its fields: a dict, a `Row` with
    names, a pyspark `Row` (a tuple with ``__fields__``).  A record that names its fields names all
    of the schema's; None stands for null.  With one column a record may be the bare value; a list is the value
    where the column is a list, a dict where it is a map or struct (unless it has just the
    column's name), a `Row` where it is a struct.

    Times: an aware `datetime` is an instant; a naive one is read in `time_zone` (an IANA name or
    tzinfo; UTC by default; of a time that a zone skips or repeats, `fold` decides); an int is
    milliseconds since the epoch.  A column without zone takes naive datetimes as they are, and
    no aware ones.  What the column's unit cannot hold exactly is refused.

    Numbers: an int column takes what has ``__index__`` and fits, a float column also ints; a
    bool is no number and a number no bool.

    Raises `RecordMismatch` for the first value that does not fit, `ValueError` for a schema
    without columns or with a name twice, an unknown zone, or text past 32-bit offsets.
    """
    cdef list records = rows if type(rows) is list else list(rows)
    cdef tuple names = row_names(schema.names)
    cdef list fields = list(schema)
    zone = _zone(time_zone)
    if not names:
        raise ValueError("the schema has no columns; a batch of records needs at least one")
    try:
        columns = spread_records(records, names, "", fields[0].type if len(fields) == 1 else None)
        arrays = [
            build_column(Target(field.name, field.type, field.nullable, zone), column, None)
            for field, column in zip(fields, columns)
        ]
    except Refusal as refusal:
        text = repr(records[refusal.index])
        raise RecordMismatch(
            refusal.index, text if len(text) <= 200 else text[:197] + "...", refusal.column,
            refusal.found, refusal.needed,
        ) from None
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
