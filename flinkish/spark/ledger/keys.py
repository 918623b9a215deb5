"""Names for rows and functions that stay the same from run to run."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any

import pyarrow as pa

from flinkish.common.row import Row

__all__ = ["KEY_BYTES", "fingerprint", "function_version", "row_key"]

KEY_BYTES = 16


def row_key(row: Row) -> bytes:
    """A hash of a row: equal for equal values of fields of equal names, in whatever order.

    It does not depend on the process.  Whoever writes results down for it may find them in years.
    Which types the columns have is the business of the `fingerprint`.
    """
    return hashlib.blake2b(_canonical(row).encode(), digest_size=KEY_BYTES).digest()


def fingerprint(function: str, version: str, settings: Mapping[str, Any], schema: pa.Schema) -> str:
    """A name for results that may stand in for each other: same function, settings and columns."""
    about = [function, version, sorted(settings.items()), str(schema.remove_metadata())]
    text = json.dumps(about, default=repr, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).hexdigest()


def function_version(function: Callable[..., Any]) -> str:
    """A hash of what a function or the class of an object says: its source, else its bytecode.

    What it calls elsewhere is not in it: whoever changes that, or the model behind a service,
    says so in the settings.
    """
    subject: Any = getattr(function, "func", function)  # a functools.partial
    if not inspect.isroutine(subject) and not inspect.isclass(subject):
        subject = type(subject)
    try:
        text = inspect.getsource(subject).encode()
    except (OSError, TypeError):  # from a console, or built at run time
        text = b"".join(_code(subject))
    named = f"{subject.__module__}.{subject.__qualname__}".encode()
    return hashlib.blake2b(named + b"\0" + text, digest_size=KEY_BYTES).hexdigest()


def _code(subject: Any) -> Iterable[bytes]:
    """The bytecode of a function, or of the methods of a class, and the constants in it."""
    if inspect.isclass(subject):
        for name, member in sorted(vars(subject).items()):
            if inspect.isfunction(member):
                yield name.encode()
                yield from _code(member)
        return
    todo = [getattr(subject, "__code__", None)]
    for code in todo:
        if isinstance(code, CodeType):
            yield code.co_code + repr(code.co_names).encode()
            yield repr([one for one in code.co_consts if not isinstance(one, CodeType)]).encode()
            todo.extend(one for one in code.co_consts if isinstance(one, CodeType))


def _canonical(value: Any) -> str:
    """A text for a value; what has names is in their order."""
    if isinstance(value, Row):
        names = value.get_field_names()
        value = value.as_dict() if names else list(value)
    if isinstance(value, dict):
        items = sorted((repr(name), _canonical(inner)) for name, inner in value.items())
        return f"{{{','.join(':'.join(item) for item in items)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_canonical, value))}]"
    return repr(value)
