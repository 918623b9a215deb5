"""Names for rows and functions that stay the same from run to run."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["KEY_BYTES", "Keys", "fingerprint", "function_version", "row_keys"]

KEY_BYTES = 16

Keys = npt.NDArray[np.uint8]
"""Keys of rows, of the shape (rows, KEY_BYTES)."""

_NULL, _THERE = b"\0", b"\1"


def row_keys(batch: pa.RecordBatch) -> Keys:
    """A hash of each row: equal for equal values in columns of equal names and types.

    It depends neither on the order of columns nor on how rows are cut into batches, nor on the
    process.  Whoever writes results down for it may find them in years.
    """
    names = sorted(batch.schema.names)
    columns = [_parts(batch.column(name)) for name in names]
    about = [(name, str(_plain(batch.schema.field(name).type))) for name in names]
    salted = hashlib.blake2b(repr(about).encode(), digest_size=KEY_BYTES)
    digests = []
    for row in zip(*columns, strict=True) if columns else repeat((), batch.num_rows):
        key = salted.copy()
        key.update(b"".join(row))
        digests.append(key.digest())
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, KEY_BYTES)


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
    return hashlib.blake2b(named + _NULL + text, digest_size=KEY_BYTES).hexdigest()


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


# --- values as bytes


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values, however they are kept."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind


def _parts(column: pa.Array) -> Iterable[bytes]:
    """Bytes for each value, none the beginning of another's of the same column."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    parts: Iterable[bytes]
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.uint8()), pa.uint8()
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        parts = _fixed(column)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        parts = map(_sized, column.cast(pa.large_binary()).to_pylist())
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        parts = map(_sized, column.to_pylist())
    else:
        parts = (_sized(_canonical(value).encode()) for value in column.to_pylist())
    return parts


def _fixed(column: pa.Array) -> list[bytes]:
    """Values of a fixed width, as they are in memory; they are read on machines of one kind."""
    width, rows = column.type.bit_width // 8, len(column)
    marked = np.ones((rows, width + 1), np.uint8)
    if rows:
        data = np.frombuffer(column.buffers()[1], np.uint8)
        begin = column.offset * width
        marked[:, 1:] = data[begin : begin + rows * width].reshape(rows, width)
    if column.null_count:
        marked[np.asarray(pc.is_null(column))] = 0
    whole = marked.tobytes()
    return [whole[at : at + width + 1] for at in range(0, len(whole), width + 1)]


def _sized(value: bytes | None) -> bytes:
    return _NULL if value is None else b"\1%d:%b" % (len(value), value)


def _canonical(value: Any) -> str:
    """A text for a nested value; fields of structs in the order of their names."""
    if isinstance(value, dict):
        inner = ",".join(f"{name!r}:{_canonical(value[name])}" for name in sorted(value))
        return f"{{{inner}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_canonical, value))}]"
    return repr(value)
