"""Which function it is: a hash of all of its own that its results may depend on.

What is in it:
  I1  Code, by what it does (see `bytecode`); defaults; closures; what `functools.partial` holds.
  I2  Objects, by their class and by the state that pickling them would take.
  I3  Classes: bases, methods, attributes, annotations.
  I4  What code names: globals, attributes of modules, modules that it imports inside of itself.
      All of it again by I1 to I3 if it is the user's own (`Library`), and else by its name.
Equal things have equal hashes in every process with one minor version of Python; what has no
value to compare is refused.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from flinkish.common.errors import SerializationError
from flinkish.spark.results.bytecode import code_digest, digest_of, names_of

__all__ = ["function_version", "value_version"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
_INSTALLED = {"site-packages", "dist-packages"}
_LIBRARIES = {*sys.stdlib_module_names, "flinkish", "pyspark", "py4j"}
_SEEN_ATTRIBUTES = {"__annotations__", "__match_args__"}  # of those that Python itself names


def function_version(function: Callable[..., Any], *also: Any) -> str:
    """A hash of what the results of a function depend on, as far as it can be seen.

    ``also`` are values that count besides.  SerializationError names what cannot be compared.
    """
    subject: Any = function
    while isinstance(subject, (functools.partial, MethodType)):
        subject = subject.func if isinstance(subject, functools.partial) else subject.__self__
    named = subject if hasattr(subject, "__qualname__") else type(subject)
    walk = _Walk(getattr(named, "__module__", ""))
    return walk.version(str(named.__qualname__), function, *also)


def value_version(value: Any, what: str) -> str:
    """A hash of a value; SerializationError names what cannot be compared."""
    return _Walk("").version(what, value)


class _Walk:
    """Through all that a function may use, each thing once."""

    def __init__(self, module: str) -> None:
        self._top = module.partition(".")[0]
        self._known: dict[int, tuple[Any, bytes]] = {}  # with the object, so that ids stay its own
        self._open: dict[int, int] = {}  # how deep lies what contains what is looked at
        self._path: list[str] = []

    def version(self, what: str, *values: Any) -> str:
        """Of all the values; ``what`` is the first of them, for messages."""
        self._path.append(what)
        try:
            return digest_of(*map(self.digest, values)).hex()
        except RecursionError as error:
            raise self._refusal(values[0], error) from error

    def digest(self, value: Any) -> bytes:
        """Of anything."""
        if type(value) in _PLAIN:
            return digest_of(type(value).__name__, repr(value))
        name = id(value)
        if name in self._known:
            return self._known[name][1]
        if name in self._open:
            return digest_of("around", str(len(self._open) - self._open[name]))
        self._open[name] = len(self._open)
        try:
            found = digest_of(*self._parts(value))
        finally:
            del self._open[name]
        self._known[name] = value, found
        return found

    def _parts(self, value: Any) -> Iterator[bytes | str]:
        kind = type(value)
        if kind in (list, tuple):
            yield kind.__name__
            for index, item in enumerate(value):
                yield self._at(f"[{index}]", item)
        elif kind is dict:
            yield "dict"
            for key, item in value.items():
                yield self._at(" (a key)", key)
                yield self._at(f"[{key!r}]", item)
        elif kind in (set, frozenset):
            yield kind.__name__
            yield from sorted(self._alone(item) for item in value)
        elif isinstance(value, CodeType):
            yield code_digest(value, lambda constant: self._at(" (a constant)", constant))
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, MethodType):
            yield "method"
            yield self.digest(value.__func__)
            yield self._at(".__self__", value.__self__)
        elif isinstance(value, ModuleType):
            yield from ("module", value.__name__)
        elif isinstance(value, type):
            yield from self._class(value)
        elif isinstance(value, functools.partial):
            yield from ("partial", self.digest(kind), self._at(".func", value.func))
            yield self._at(".args", value.args)
            yield from self._named(value.keywords, "(%s=)")
            yield from self._named(vars(value), ".%s")
        elif isinstance(value, (staticmethod, classmethod)):
            yield from (kind.__name__, self.digest(value.__func__))
        elif isinstance(value, property):
            yield "property"
            for part in (value.fget, value.fset, value.fdel):
                yield self.digest(part)
        elif isinstance(value, functools.cached_property):
            yield from ("cached_property", self.digest(value.func))
        elif isinstance(value, enum.Enum):
            yield from ("member", self.digest(kind), value.name)
        elif isinstance(value, CellType):
            yield "cell"
            if value != CellType():  # which is empty
                yield self.digest(value.cell_contents)
        else:
            yield from self._object(value)

    def _at(self, where: str, value: Any) -> bytes:
        self._path.append(where)
        found = self.digest(value)
        self._path.pop()
        return found

    def _alone(self, item: Any) -> bytes:
        """Of something in a set, whose order may not tell: as if it were the first."""
        if type(item) in _PLAIN:
            return self.digest(item)
        before = dict(self._known)
        found = self._at(" (an item)", item)
        self._known = before
        return found

    def _named(self, values: Mapping[str, Any], form: str) -> Iterator[bytes | str]:
        for name in sorted(values):
            yield name
            yield self._at(form % name, values[name])

    # --- functions, and what they name

    def _function(self, function: FunctionType) -> Iterator[bytes | str]:
        module = str(function.__globals__.get("__name__", ""))
        library = self._of_library(module)
        if library and _found(module, function.__qualname__) is function:
            yield from ("function", module, function.__qualname__)
            return
        code = function.__code__
        yield from ("function", self.digest(code))
        yield self._at(" (defaults)", function.__defaults__)
        yield from self._named(function.__kwdefaults__ or {}, " (the default of %s)")
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        yield from self._named(dict(cells), " (closure over %s)")
        yield from self._named(vars(function), ".%s")
        if not library:
            yield from self._globals(function)

    def _globals(self, function: FunctionType) -> Iterator[bytes | str]:
        used, names, imported = names_of(function.__code__)
        space = function.__globals__
        for name in sorted(used & space.keys()):
            value = space[name]
            yield name
            if isinstance(value, ModuleType):
                yield from self._module(value, names, set())
            else:
                yield self._at(f" (global {name})", value)
        for level, name in sorted(imported):
            yield name
            with self._within(f" (import {name})"):
                module = self._imported(level, name, space.get("__package__"))
                if module is not None:
                    yield from self._module(module, names, set())

    def _module(self, module: ModuleType, names: set[str], seen: set[str]) -> Iterator[bytes | str]:
        """The things that code may take from a module: all whose names the code mentions."""
        yield module.__name__
        if self._of_library(module.__name__) or module.__name__ in seen:
            return
        seen.add(module.__name__)
        for name in sorted(names & vars(module).keys()):
            value = vars(module)[name]
            yield name
            if isinstance(value, ModuleType):
                yield from self._module(value, names, seen)
            else:
                yield self._at(f" ({module.__name__}.{name})", value)

    def _imported(self, level: int, name: str, package: Any) -> ModuleType | None:
        """A module that code imports when it runs; None for libraries and where there is none."""
        try:
            whole = importlib.util.resolve_name("." * level + name, package)
            if self._of_library(whole, imported=False):
                return None
            spec = importlib.util.find_spec(whole)
            if spec is None or _installed(spec.origin, whole, self._top):
                return None
            return importlib.import_module(whole)
        except ModuleNotFoundError as error:
            if error.name is not None and whole.startswith(error.name):
                return None
            raise self._refusal(name, error) from error
        except Exception as error:
            raise self._refusal(name, error) from error

    # --- classes and objects

    def _class(self, cls: type) -> Iterator[bytes | str]:
        yield from ("class", cls.__qualname__)
        if self._of_library(cls.__module__):
            yield cls.__module__
            return
        for base in (type(cls), *cls.__bases__):
            yield self.digest(base)
        if issubclass(cls, enum.Enum):
            for member in cls.__members__.items():
                yield self._at(f".{member[0]}", (member[0], member[1].value))
        for name, value in sorted(vars(cls).items()):
            if _is_of_class(cls, name, value):
                yield name
                yield self._at(f".{name}", value)

    def _object(self, value: Any) -> Iterator[bytes | str]:
        """Of what pickle would take of an object, so of what a worker would get of it."""
        yield from ("object", self.digest(type(value)))
        if isinstance(value, PurePath):  # which holds, or not, how it was asked for before
            yield str(value)
            return
        reduces = copyreg.dispatch_table.get(type(value))
        try:
            reduced: Any = value.__reduce_ex__(4) if reduces is None else reduces(value)
        except Exception as error:
            raise self._refusal(value, error) from error
        if isinstance(reduced, str):
            yield from (str(getattr(value, "__module__", "")), reduced)
            yield self.digest(getattr(value, "__wrapped__", None))
            return
        makes, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        yield self.digest("" if makes in _MAKERS else makes)
        yield self._at(" (what it is made of)", arguments)
        for part in state if type(state) is tuple and len(state) == 2 else (state,):
            if type(part) is dict and all(type(name) is str for name in part):
                yield from self._named(part, ".%s")
            else:
                yield self._at(" (its state)", part)
        yield self._at("", list(items or ()))
        for key, item in pairs or ():
            yield self._at(" (a key)", key)
            yield self._at(f"[{key!r}]", item)

    # --- whose

    def _of_library(self, module: str, imported: bool = True) -> bool:
        """Whether a module is nobody's own: Python's, Spark's, ours, or installed.

        What is installed with the function itself, under one top-level name, is its own.
        """
        top = module.partition(".")[0]
        if top in _LIBRARIES:
            return True
        if not imported:
            return False
        return _installed(getattr(sys.modules.get(module), "__file__", None), module, self._top)

    @contextmanager
    def _within(self, where: str) -> Iterator[None]:
        self._path.append(where)
        yield
        self._path.pop()

    def _refusal(self, value: Any, error: Exception) -> SerializationError:
        path = "".join(self._path)
        return SerializationError(
            f"a ledger cannot tell which function its results are of: {path}, of type "
            f"{type(value).__name__}, cannot be compared with what it was at an earlier run "
            f"({error}). Name the function yourself, with ledger_version='1' or any other text, "
            "and give another text whenever its results would be others",
            path=path,
        )


_MAKERS = (copyreg.__newobj__, copyreg.__newobj_ex__)  # type: ignore[attr-defined]


def _installed(file: str | None, module: str, own: str) -> bool:
    if file is None or module.partition(".")[0] == own:
        return False
    return bool(_INSTALLED.intersection(PurePath(file).parts))


def _found(module: str, name: str) -> Any:
    """The object of a name in a module; None if there is none."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _is_of_class(cls: type, name: str, value: Any) -> bool:
    """Whether an attribute says what a class does, and not what Python notes about it."""
    if isinstance(value, (GetSetDescriptorType, MemberDescriptorType)) or name == "_abc_impl":
        return False
    routine = isinstance(value, (FunctionType, staticmethod, classmethod, property))
    if issubclass(cls, enum.Enum):  # its members are in already
        return routine and name not in cls.__members__
    dunder = name.startswith("__") and name.endswith("__")
    return (
        routine or not dunder or name in _SEEN_ATTRIBUTES or isinstance(value, BuiltinFunctionType)
    )
