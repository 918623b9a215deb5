"""The fields of users' functions: reads from their code which fields a function may change.

In Flink a function object lives as long as its task.  On Spark a task of a stream lives for one
micro-batch, so an operator asks here which of its functions have fields that must outlive the task.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

__all__ = ["changed_in_place", "closing_names", "fields_of", "is_plain", "may_change", "users_own"]

_NOT_USERS = {*sys.stdlib_module_names, "flinkish", "pyspark"} - {"__main__"}
_BEFORE = {"__init__", "__new__", "__post_init__", "__getstate__", "__setstate__", "open"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type, ModuleType, Enum)
_CONTAINERS = {
    *("list", "dict", "set", "bytearray", "deque", "defaultdict", "Counter", "OrderedDict"),
}
_CHANGES = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"),
    *("popleft", "remove", "setdefault", "sort", "subtract", "update"),
}
_STORES = {"STORE_ATTR", "DELETE_ATTR", "STORE_DEREF", "STORE_GLOBAL"}


def users_own(function: Any) -> list[Any]:
    """The users' objects that a function or a definition of flinkish wraps."""
    found: list[Any] = []
    seen: set[int] = set()

    def visit(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, (list, tuple)):
            parts: Any = value
        elif isinstance(value, functools.partial):
            parts = [value.func]
        elif isinstance(value, MethodType):
            parts = [value.__self__]
        elif isinstance(value, FunctionType):
            if _top(value.__module__) != "flinkish":
                found.append(value)
            return
        elif _top(type(value).__module__) == "flinkish":
            parts = list(getattr(value, "__dict__", {}).values())
        else:
            if not isinstance(value, type) and _top(type(value).__module__) not in _NOT_USERS:
                found.append(value)
            return
        for part in parts:
            visit(part)

    visit(function)
    return found


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, or what a plain function closes over, by name."""
    if isinstance(value, FunctionType):
        names = value.__code__.co_freevars
        cells = zip(names, value.__closure__ or (), strict=True)
        return {name: cell.cell_contents for name, cell in cells if _is_set(cell)}
    slots = (name for cls in type(value).__mro__ for name in _slots(cls))
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return found | getattr(value, "__dict__", {})


def is_plain(value: Any) -> bool:
    """Whether a value cannot change."""
    if isinstance(value, (tuple, frozenset)):
        return all(is_plain(one) for one in value)
    return isinstance(value, _PLAIN)


def may_change(function: Any) -> bool:
    """Whether a call of a user's function may change its fields."""
    for value in users_own(function):
        if not all(is_plain(one) for one in fields_of(value).values()):
            return True
        for name, code in _codes(value):
            if name != "__init__" and any(True for _ in _stored(code)):
                return True
    return False


def closing_names(value: Any) -> frozenset[str]:
    """The names that ``close`` and the methods that it calls use."""
    codes: dict[str, list[CodeType]] = {}
    for name, code in _codes(value):
        codes.setdefault(name, []).append(code)
    found: set[str] = set()
    waiting = ["close"]
    while waiting:
        for code in codes.pop(waiting.pop(), []):
            names = set(_names(code))
            waiting += names & codes.keys()
            found |= names
    return frozenset(found)


def changed_in_place(function: Any) -> dict[str, str]:
    """The fields that methods of a user's function set between ``open`` and ``close``.

    Maps each field to the method that sets it, such as ``Counted.map``.  Only changes that the code
    shows: a value stored in an attribute, or a change of a built-in container.
    """
    found: dict[str, str] = {}
    for value in users_own(function):
        if isinstance(value, FunctionType):
            for opname, name in _stored(value.__code__):
                if opname in ("STORE_DEREF", "STORE_GLOBAL") and _is_outer(value, opname, name):
                    found.setdefault(name, value.__name__)
            continue
        containers = {n for n, one in fields_of(value).items() if type(one).__name__ in _CONTAINERS}
        for cls in _classes(value):
            for name, method in vars(cls).items():
                if name in {*_BEFORE, "close"} or not isinstance(method, FunctionType):
                    continue
                for field in _changes(method, containers | _made_by_open(cls)):
                    found.setdefault(field, f"{type(value).__name__}.{name}")
    return found


def _changes(method: FunctionType, containers: set[str]) -> Iterator[str]:
    """The fields of ``self`` that a method sets, or whose container it changes."""
    tree = _parsed(method)
    if tree is None:  # there is no source file, as for code typed at a prompt
        yield from (name for opname, name in _stored(method.__code__) if opname == "STORE_ATTR")
        return
    own = method.__code__.co_varnames[0] if method.__code__.co_argcount else "self"
    for node in ast.walk(tree):
        stored = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        if stored and (name := _field(own, node)):
            yield name
        inside: ast.AST | None = None
        if stored and isinstance(node, ast.Subscript):
            inside = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inside = node.func.value if node.func.attr in _CHANGES else None
        if inside is not None and (name := _field(own, inside)) in containers:
            yield name


def _made_by_open(cls: type) -> set[str]:
    """The fields in which ``open`` stores built-in containers."""
    method = vars(cls).get("open")
    tree = _parsed(method) if isinstance(method, FunctionType) else None
    found = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            made: Any = node.value
            called = getattr(made, "func", None)
            name = getattr(called, "id", getattr(called, "attr", None))
            if isinstance(made, (ast.List, ast.Dict, ast.Set)) or name in _CONTAINERS:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {one.attr for one in targets if isinstance(one, ast.Attribute)}
    return found


def _parsed(method: FunctionType) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError):
        return None


def _field(own: str, node: ast.AST) -> str:
    """The field's name if a node is a field of ``self``, else an empty text."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == own else ""
    return ""


def _is_outer(function: FunctionType, opname: str, name: str) -> bool:
    return opname == "STORE_GLOBAL" or name in function.__code__.co_freevars


def _classes(value: Any) -> list[type]:
    return [cls for cls in type(value).__mro__ if _top(cls.__module__) not in _NOT_USERS]


def _codes(value: Any) -> Iterator[tuple[str, CodeType]]:
    """The methods of an object that users wrote, by name; or the function itself."""
    if isinstance(value, FunctionType):
        yield value.__name__, value.__code__
        return
    for cls in _classes(value):
        for name, member in vars(cls).items():
            inner = inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
            if isinstance(inner, FunctionType):
                yield name, inner.__code__


def _stored(code: CodeType) -> Iterator[tuple[str, str]]:
    """Stores to attributes, outer variables and globals: the operation and the name."""
    for one in _nested(code):
        if "setattr" in one.co_names or "__dict__" in one.co_names:
            yield "STORE_ATTR", "__dict__"
        outer = {*one.co_freevars}
        for step in dis.get_instructions(one):
            if step.opname in _STORES and (step.opname != "STORE_DEREF" or step.argval in outer):
                yield step.opname, step.argval


def _names(code: CodeType) -> Iterator[str]:
    for one in _nested(code):
        yield from one.co_names


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _nested(one)


def _slots(cls: type) -> list[str]:
    found = vars(cls).get("__slots__", ())
    names = [found] if isinstance(found, str) else list(found)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _is_set(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty one raises
    except ValueError:
        return False
    return True


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]
