"""For the API reference: docstrings of compiled modules, whose stubs have none.

A Griffe extension that mkdocs.yml names.  Griffe reads sources and stubs and imports nothing; the
docstrings of a compiled module are in neither.  This takes them from the installed wheel.
"""

import importlib
import inspect
from typing import Any

import griffe


class CompiledDocstrings(griffe.Extension):
    """Give each object of a stub the docstring of the compiled object that it stands for."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Fill in the stubs of the floor once all of flinkish has been read."""
        if pkg.path == "flinkish":
            for module in pkg["_core"].modules.values():
                fill(module, importlib.import_module(module.path))


def fill(stub: griffe.Object, compiled: object) -> None:
    """Give the members of a module or class their docstrings, and the members of those theirs."""
    for name, member in stub.members.items():
        found = inspect.getattr_static(compiled, name, None)
        if member.is_alias or found is None:
            continue
        if member.docstring is None and (text := docstring(name, found)):
            member.docstring = griffe.Docstring(text, parent=member)
        if member.is_class:
            fill(member, found)


def docstring(name: str, found: Any) -> str:
    """The docstring of an object without the signature that Cython writes before it."""
    # A slot wrapper has Python's own text, a plain value that of its class.
    written = inspect.isclass(found) or inspect.isroutine(found) or inspect.isdatadescriptor(found)
    if not written or type(found) is type(object.__init__):
        return ""
    lines = inspect.cleandoc(found.__doc__ or "").splitlines()
    if lines and lines[0].startswith(f"{name}("):
        lines = lines[1:]
    return "\n".join(lines).strip()
