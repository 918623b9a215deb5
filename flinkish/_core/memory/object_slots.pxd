# A Python list as a table of objects by index, so that C memory holds integers only and the
# garbage collector still sees every object.  An index without an object holds None.
#
# These may be called under a lock that Python code must not find taken: none raises, makes an
# object of the garbage collector, or gives up a reference to anything but None, so no Python
# code can run.  The list must be reachable by nobody else, and the caller have the GIL (or its
# thread state).

from cpython.ref cimport Py_INCREF, PyObject
from libc.errno cimport ENOMEM

cdef extern from "Python.h":
    int _append "PyList_Append"(PyObject* items, PyObject* value) noexcept
    int _set_slice "PyList_SetSlice"(
        PyObject* items, Py_ssize_t low, Py_ssize_t high, PyObject* other) noexcept
    PyObject* _get "PyList_GET_ITEM"(PyObject* items, Py_ssize_t i) noexcept
    void _set "PyList_SET_ITEM"(PyObject* items, Py_ssize_t i, PyObject* value) noexcept
    Py_ssize_t _size "PyList_GET_SIZE"(PyObject* items) noexcept
    void _decref "Py_DECREF"(PyObject* value) noexcept
    void _forget_error "PyErr_Clear"() noexcept


cdef inline size_t objects_room(PyObject* items) noexcept:
    return <size_t>_size(items)


cdef inline int objects_fit(PyObject* items, size_t index) noexcept:
    """Give an index, and those below, a place: 0 or -ENOMEM."""
    while <size_t>_size(items) <= index:
        if _append(items, <PyObject*>None) != 0:
            _forget_error()
            return -ENOMEM
    return 0


cdef inline void objects_put(PyObject* items, size_t index, object value) noexcept:
    """Put an object where none is."""
    Py_INCREF(value)
    _decref(_get(items, <Py_ssize_t>index))
    _set(items, <Py_ssize_t>index, <PyObject*>value)


cdef inline PyObject* objects_take(PyObject* items, size_t index) noexcept:
    """Take an object out, with the reference to it."""
    cdef PyObject* value = _get(items, <Py_ssize_t>index)
    Py_INCREF(None)
    _set(items, <Py_ssize_t>index, <PyObject*>None)
    return value


cdef inline bint objects_hold(PyObject* items, size_t index) noexcept:
    return _get(items, <Py_ssize_t>index) != <PyObject*>None


cdef inline void objects_clear(PyObject* items) noexcept:
    """Give the memory back of a list without objects."""
    _set_slice(items, 0, _size(items), NULL)
