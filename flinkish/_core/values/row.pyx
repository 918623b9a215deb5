# cython: freethreading_compatible=True
"""Rows: what user functions are called with and may return."""

from enum import Enum
from sys import intern

cimport cython
from cpython.number cimport PyNumber_AsSsize_t
from cpython.object cimport PyObject, PyObject_GenericGetAttr
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR

cdef extern from "Python.h":
    int PyUnicode_CHECK_INTERNED(object text) noexcept
    bint PyObject_IS_GC(object thing) noexcept
    bint PyObject_GC_IsTracked(object thing) noexcept
    void PyObject_GC_Track(void* thing) noexcept


class RowKind(Enum):
    """The kind of a row in a changelog: it is new, it is gone, or it replaces another."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self):
        return ("+I", "-U", "+U", "-D")[self.value]


cdef tuple KINDS = tuple(RowKind)


class FieldNameError(KeyError, ValueError):
    """``row[name]`` with a name that the row does not have.

    PyFlink raises a ``ValueError`` for it, mappings a ``KeyError``: this is both.
    """

    def __str__(self):
        return str(self.args[0]) if self.args else ""


cdef Py_ssize_t row_find(tuple names, object name) noexcept:
    # Names of rows are interned, and so is every name written in source code: compare
    # pointers first.  An interned name that is not found so is not there at all.
    cdef Py_ssize_t i
    cdef Py_ssize_t size = PyTuple_GET_SIZE(names)
    for i in range(size):
        if PyTuple_GET_ITEM(names, i) == <PyObject*>name:
            return i
    if PyUnicode_CHECK_INTERNED(name):
        return -1
    for i in range(size):
        if <str>PyTuple_GET_ITEM(names, i) == <str>name:
            return i
    return -1


cdef inline bint is_dunder(object name) noexcept:
    """Names like ``__class__`` belong to Python, also when a field is called so."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(name)
    if size < 5 or PyUnicode_READ_CHAR(name, 0) != c"_":
        return False
    return (
        PyUnicode_READ_CHAR(name, 1) == c"_"
        and PyUnicode_READ_CHAR(name, size - 1) == c"_"
        and PyUnicode_READ_CHAR(name, size - 2) == c"_"
    )


cdef tuple row_names(object names):
    cdef list interned = []
    if isinstance(names, str):
        raise TypeError(f"field names must be a list or tuple of str, not the str {names!r}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a field name must be a str, not {name!r}")
        interned.append(intern(str(name)))
    if len(set(interned)) != len(interned):
        double = sorted({name for name in interned if interned.count(name) > 1})
        raise ValueError(f"field names must differ, but {', '.join(double)} occur more than once")
    return tuple(interned)


cdef Row row_of(tuple names, object values):
    cdef Row row
    cdef Py_ssize_t size
    if type(values) is tuple:
        size = len(<tuple>values)
    elif type(values) is list:
        size = len(<list>values)
    else:
        raise TypeError(f"the values of a row must be a list or a tuple, not {values!r}")
    if names is not None and PyTuple_GET_SIZE(names) != size:
        raise ValueError(f"{size} values do not fit the {len(names)} names {', '.join(names)}")
    row = Row.__new__(Row)
    row._names = names
    row._values = values
    return row


def rows_of(object names, object values):
    """A list of rows with the same names, one for each list or tuple in ``values``.

    ``names`` is a sequence of str, or None for rows without names.  The containers are kept,
    not copied.  ValueError when lengths differ, TypeError for other containers.
    """
    cdef tuple shared = None if names is None else row_names(names)
    return [row_of(shared, fields) for fields in values]


def restore_row(tuple names, tuple values, int kind):
    """Unpickle: undo ``Row.__reduce__``.  ValueError for a kind that no row has."""
    if not 0 <= kind < len(KINDS):
        raise ValueError(f"a row was pickled with the kind {kind}, but there are {len(KINDS)}")
    cdef Row row = row_of(None if names is None else row_names(names), values)
    row._kind = kind
    return row


cdef inline object value_at(Row row, Py_ssize_t position):
    # Bounds are checked: the owner of a list handed to `row_of` might have cut it.
    with cython.boundscheck(True):
        if type(row._values) is list:
            return (<list>row._values)[position]
        return (<tuple>row._values)[position]


cdef inline void watch(Row row, object value) noexcept:
    """Let the collector know a row of scalars again: with this value it may be in a cycle."""
    if PyObject_IS_GC(value) and not PyObject_GC_IsTracked(row):
        PyObject_GC_Track(<void*>row)


cdef int put_at(Row row, Py_ssize_t position, object value) except -1:
    watch(row, value)
    if type(row._values) is not list:
        row._values = list(row._values)
    with cython.boundscheck(True):
        (<list>row._values)[position] = value
    return 0


cdef str unknown(Row row, object name):
    if row._names is None:
        return f"no field {name!r}: this row has {len(row._values)} positions and no names"
    return f"no field {name!r}: this row has {', '.join(row._names)}"


cdef Py_ssize_t position_of(Row row, object name) except -1:
    cdef Py_ssize_t found = -1
    if row._names is not None and isinstance(name, str):
        found = row_find(row._names, name)
    if found < 0:
        raise FieldNameError(unknown(row, name))
    return found


cdef Py_ssize_t index_of(Row row, object item) except -1:
    cdef Py_ssize_t size = len(row._values)
    cdef Py_ssize_t given = PyNumber_AsSsize_t(item, IndexError)
    cdef Py_ssize_t found = given + size if given < 0 else given
    if not 0 <= found < size:
        raise IndexError(f"position {given} of a row with {size} fields")
    return found


cdef int assign_kind(Row row, object kind) except -1:
    if not isinstance(kind, RowKind):
        raise TypeError(f"the kind of a row must be a RowKind, not {kind!r}")
    row._kind = kind.value
    return 0


cdef dict dict_of(Row row, bint recursive):
    if row._names is None:
        raise TypeError("a Row without names cannot be a dict: call set_field_names first")
    values = [nested(value) for value in row._values] if recursive else row._values
    return dict(zip(row._names, values))


cdef object nested(object value):
    """``as_dict`` of rows wherever they sit in lists and dicts."""
    if isinstance(value, Row):
        return dict_of(<Row>value, True)
    if isinstance(value, list):
        return [nested(item) for item in value]
    if isinstance(value, dict):
        return {key: nested(item) for key, item in value.items()}
    return value


@cython.final
@cython.freelist(256)
cdef class Row:
    """Row(*args, **kwargs)\n--\n\nThe values of one record: by position, by name, or as attributes.

    ``Row(1, "a")`` has positions only; ``Row(id=1, name="a")`` has names too, in the order
    given.  A row of names makes rows: ``Person = Row("name", "age"); Person("Ann", 41)``.

    Fields come before methods: a field called ``as_dict`` hides the method.  Names like
    ``__class__`` always mean Python's attribute; use ``row["__class__"]`` for such a field.
    Values may be changed, names and their number may not.

    Equality is PyFlink's: same names (in any order), equal values, same kind; a row with
    names never equals one without.  Equal rows have equal hashes.
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("a Row takes values or name=value pairs, not both")
        if kwargs:
            self._names = tuple([intern(str(name)) for name in kwargs])
            self._values = list(kwargs.values())
        else:
            self._names = None
            self._values = list(args)
        self._kind = 0

    def __cinit__(self):
        self._values = ()

    # ---- fields -----------------------------------------------------------------------------

    def __getattribute__(self, name):
        cdef Py_ssize_t position
        if self._names is not None:
            position = row_find(self._names, name)
            if position >= 0 and not is_dunder(name):
                return value_at(self, position)
        try:
            return PyObject_GenericGetAttr(self, name)
        except AttributeError:
            if is_dunder(name):
                raise
            raise AttributeError(unknown(self, name)) from None

    def __setattr__(self, name, value):
        cdef Py_ssize_t position = -1
        if self._names is not None:
            position = row_find(self._names, name)
        if position < 0 or is_dunder(name):
            raise AttributeError(unknown(self, name))
        put_at(self, position, value)

    def __getitem__(self, item):
        if isinstance(item, str):
            return value_at(self, position_of(self, item))
        if isinstance(item, slice):
            return list(self._values[item])
        return self._values[index_of(self, item)]

    def __setitem__(self, item, value):
        if isinstance(item, str):
            put_at(self, position_of(self, item), value)
        elif isinstance(item, slice):
            changed = list(self._values)
            changed[item] = value
            if len(changed) != len(self._values):
                raise ValueError(
                    f"a slice of a row may not change its length from {len(self._values)} "
                    f"to {len(changed)}"
                )
            for held in changed:
                watch(self, held)
            self._values = changed
        else:
            put_at(self, index_of(self, item), value)

    def __contains__(self, item):
        """Whether a name is one of the row's names; without names, whether a value is in it."""
        return item in (self._values if self._names is None else self._names)

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    # ---- names ------------------------------------------------------------------------------

    def get_field_names(self):
        """The names in their order, as a tuple; None for a row without names."""
        return self._names

    def set_field_names(self, field_names):
        """Name the fields.  ValueError unless there is one name a value, all different."""
        cdef tuple names = row_names(field_names)
        if len(names) != len(self._values):
            raise ValueError(
                f"{len(names)} names ({', '.join(names)}) for a row with "
                f"{len(self._values)} values: give one name a value"
            )
        self._names = names

    def get_fields_by_names(self, names):
        """The values of ``names``, in that order, as a list.

        As in PyFlink, a row without names gives all its values.  FieldNameError names what is
        missing.
        """
        if self._names is None:
            return list(self._values)
        return [value_at(self, position_of(self, name)) for name in names]

    def as_dict(self, recursive=False):
        """Names to values; ``recursive`` also turns rows inside values, lists and dicts.

        TypeError for a row without names.
        """
        return dict_of(self, recursive)

    def __call__(self, *values):
        """A new row whose names are this row's values; shorter calls name a prefix."""
        if len(values) > len(self._values):
            raise ValueError(
                f"{len(values)} values for the {len(self._values)} names of {self!r}: {values!r}"
            )
        cdef Row row = row_of(row_names(self._values[:len(values)]), list(values))
        row._kind = self._kind
        return row

    # ---- kind -------------------------------------------------------------------------------

    @staticmethod
    def of_kind(row_kind, *args, **kwargs):
        """A row of the given kind."""
        row = Row(*args, **kwargs)
        assign_kind(<Row>row, row_kind)
        return row

    def get_row_kind(self):
        """The row's RowKind, INSERT unless it was set."""
        return KINDS[self._kind]

    def set_row_kind(self, row_kind):
        """Change the kind.  TypeError unless it is a RowKind."""
        assign_kind(self, row_kind)

    # ---- value semantics --------------------------------------------------------------------

    def __eq__(self, other):
        cdef Row that
        if type(other) is not Row:
            return NotImplemented
        that = <Row>other
        if self._kind != that._kind or len(self._values) != len(that._values):
            return False
        if self._names is None or that._names is None:
            return self._names is that._names and list(self._values) == list(that._values)
        if self._names is that._names or self._names == that._names:
            return list(self._values) == list(that._values)
        return set(self._names) == set(that._names) and all(
            [value_at(that, row_find(that._names, name)) == value_at(self, i)
             for i, name in enumerate(self._names)]
        )

    def __hash__(self):
        if self._names is None:
            return hash(tuple(self._values))
        ordered = [value_at(self, row_find(self._names, name)) for name in sorted(self._names)]
        return hash(tuple(ordered))

    def __reduce__(self):
        return restore_row, (self._names, tuple(self._values), self._kind)

    def __repr__(self):
        if self._names is None:
            return f"<Row({', '.join([repr(value) for value in self._values])})>"
        pairs = [f"{name}={value!r}" for name, value in zip(self._names, self._values)]
        return f"Row({', '.join(pairs)})"
