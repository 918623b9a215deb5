"""Every public name says what it is, where editors look for that.

The public names are those of `__all__` in the packages of flinkish, and the public members of the
classes among them, inherited ones of flinkish included.  Of a compiled class editors read the stub,
so that has what the class says itself.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import flinkish
from tests.checkout import of_each

INSTALLED = Path(flinkish.__file__).parent
PACKAGES = [
    ".".join(["flinkish", *path.parent.relative_to(INSTALLED).parts])
    for path in sorted(INSTALLED.rglob("__init__.py"))
    if not any(part.startswith("_") for part in path.parent.relative_to(INSTALLED).parts)
]
SHORTEST = 3  # words
POINTERS = ("As declared", "As in ", "See ", "Kafka:", "Flink:", "(Kafka:", "(Flink:")


def public(package: str) -> dict[str, Any]:
    module = importlib.import_module(package)
    named = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return {
        name: value
        for name, value in named.items()
        if isinstance(value, type) or inspect.isroutine(value)
    }


def members(kind: type) -> Iterator[tuple[type, str, Any]]:
    """The public methods and properties of a class, with the class of flinkish that has each."""
    for base in kind.__mro__:
        if base.__module__.startswith("flinkish"):
            for name, value in vars(base).items():
                described = isinstance(value, (property, classmethod, staticmethod))
                described = described or inspect.isroutine(value)
                described = described or inspect.isgetsetdescriptor(value)
                if described and not name.startswith("_"):
                    yield base, name, value


def fault(text: str | None) -> str | None:
    words = (text or "").split()
    if len(words) < SHORTEST:
        return f"has no docstring of a sentence: {text!r}"
    if text is not None and text.startswith(POINTERS):
        return f"points elsewhere instead of saying what it does: {words[0]} {words[1]} ..."
    return None


@cache
def stub(module: str) -> ast.Module:
    parts = module.split(".")[1:]
    return ast.parse(INSTALLED.joinpath(*parts).with_suffix(".pyi").read_text())


def stub_class(kind: type) -> ast.ClassDef:
    found = [
        node
        for node in stub(kind.__module__).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    return found[0]


def stub_text(kind: type, name: str) -> str | None:
    """The docstring of a member; that of an attribute is the string after it."""
    body = stub_class(kind).body
    texts = [
        ast.get_docstring(node)
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    for node, following in pairwise(body):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    texts.append(inspect.cleandoc(text))
    return next(filter(None, texts), None)


def own_text(name: str, value: Any) -> str | None:
    """What a compiled member says, without the signature that Cython puts before it."""
    text = inspect.getdoc(value)
    if text is not None and text.split("\n", 1)[0].startswith(f"{name}("):
        text = text.partition("\n\n")[2]
    return text


def is_compiled(kind: type) -> bool:
    return kind.__module__.startswith("flinkish._core")


@of_each(PACKAGES)
def test_public_names_say_what_they_are(package: str) -> None:
    faults = []
    for name, value in public(package).items():
        if not isinstance(value, type):
            faults.append((name, fault(inspect.getdoc(value))))
            continue
        faults.append((name, fault(value.__doc__)))
        for base, member, _ in members(value):
            where = f"{base.__module__}.{base.__qualname__}.{member}"
            if is_compiled(base):
                text = stub_text(base, member)
            else:
                text = inspect.getdoc(getattr(base, member))
            faults.append((where, fault(text)))
    wrong = sorted({f"{where} {why}" for where, why in faults if why is not None})
    assert not wrong, "\n".join(wrong)


def test_stubs_say_what_the_compiled_classes_say() -> None:
    wrong = set()
    for package in PACKAGES:
        for value in public(package).values():
            if not isinstance(value, type):
                continue
            for kind in filter(is_compiled, value.__mro__):
                stated = ast.get_docstring(stub_class(kind))
                if " ".join((stated or "").split()) != " ".join((kind.__doc__ or "").split()):
                    wrong.add(f"{kind.__module__}.{kind.__name__}")
            for base, name, found in members(value):
                if is_compiled(base) and inspect.isroutine(found):
                    text = own_text(name, getattr(base, name)) or ""
                    if " ".join((stub_text(base, name) or "").split()) != " ".join(text.split()):
                        wrong.add(f"{base.__module__}.{base.__name__}.{name}")
    assert not wrong, f"stub and class say different things: {', '.join(sorted(wrong))}"
