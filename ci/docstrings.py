"""The docstrings of the API reference: a Griffe extension that mkdocs.yml names.

Griffe reads sources and stubs and imports nothing; the docstrings of a compiled module are in
neither, so they are taken from the installed wheel.  Of a room's own docstring the reference has
the first paragraph: the rest is for maintainers of the room.
"""

import importlib
import inspect
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Works on all of flinkish once it has been read."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Fill in the stubs of the floor, and shorten the docstrings of rooms."""
        if pkg.path != "flinkish":
            return
        compile_room(pkg["_core"])
        for room in pkg.modules.values():
            if room.docstring is not None:
                room.docstring.value = room.docstring.value.split("\n\n")[0]


def compile_room(room: griffe.Module) -> None:
    """Fill in the stubs of a room of the floor, and of the rooms in it."""
    for module in room.modules.values():
        fill(module, importlib.import_module(module.path))
        compile_room(module)


def fill(stub: griffe.Object, compiled: object) -> None:
    """Give the members of a module or class their docstrings, and the members of those theirs."""
    for name, member in stub.members.items():
        found = inspect.getattr_static(compiled, name, None)
        if member.is_alias or found is None:
            continue
        if member.docstring is None and (text := docstring(found)):
            member.docstring = griffe.Docstring(text, parent=member)
        if member.is_class:
            fill(member, found)


def docstring(found: Any) -> str:
    """The docstring of an object that was written for it."""
    # A slot wrapper has Python's own text, a plain value that of its class.
    written = inspect.isclass(found) or inspect.isroutine(found) or inspect.isdatadescriptor(found)
    if not written or type(found) is type(object.__init__):
        return ""
    return inspect.cleandoc(found.__doc__ or "")
