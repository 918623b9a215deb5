"""Errors on their way to another process."""

from __future__ import annotations

import builtins
import concurrent.futures
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from flinkish.common import errors
from flinkish.common.errors import (
    ConnectionLostError,
    RecipientUnreachableError,
    RemoteError,
    RpcError,
)
from flinkish.common.notes import add_note
from flinkish.rpc.wire import decode_plain, encode_plain

__all__ = ["INDESCRIBABLE", "PeerLostError", "encode_error", "remote_error", "said"]

_LONGEST = 16_384  # characters of a message, or of a traceback
_BRIEF = 500
_FRAMES = 100  # of a traceback, the last ones
_CHAIN = 50  # errors whose tracebacks are told together
_ATTRIBUTES = 100

# What every exception has, whatever its class says.
_own = vars(BaseException)
_get_args = _own["args"].__get__
_get_dict = _own["__dict__"].__get__
_get_cause = _own["__cause__"].__get__
_get_context = _own["__context__"].__get__
_get_traceback = _own["__traceback__"].__get__
_name_of = vars(type)["__name__"].__get__
_Group: Any = getattr(builtins, "BaseExceptionGroup", ())  # from Python 3.11 on
_get_members: Any = vars(_Group)["exceptions"].__get__ if _Group else None


class PeerLostError(RecipientUnreachableError, ConnectionLostError):
    """The connection to the other process was lost while, or before, it was asked."""


class _Failure(msgspec.Struct, array_like=True):
    """The parts of an error that travel: its class, its text, where it was raised."""

    type_name: str
    message: str
    args: Any
    attributes: dict[str, Any]
    traceback: str


_decoder = msgspec.msgpack.Decoder(_Failure)

# An error that nothing more can be said of.
INDESCRIBABLE: bytes = encode_plain(
    _Failure("builtins.RuntimeError", "an error that cannot be described", None, {}, "")
)


def encode_error(error: BaseException, brief: bool = False) -> bytes:
    """An error as bytes; ``brief`` after those were too long to be sent.

    Invariant: this never fails.  An error is user code in many places: its class, its text, its
    ``__dict__``, its arguments, and those of all errors that it is chained to.  Each of them is
    asked on its own and bounded on its own, and one that raises leaves out itself alone.  What
    belongs to every exception (``args``, ``__dict__``, ``__cause__``) is read by ``BaseException``
    itself, so that no property of a subclass is called.
    """
    try:
        encoded = _encode(error, brief)
        if len(encoded) > 4 * _LONGEST and not brief:
            encoded = _encode(error, brief=True)
        return encoded
    except BaseException:  # no memory, or no stack, is left
        return INDESCRIBABLE


def _encode(error: BaseException, brief: bool) -> bytes:
    kind = type(error)
    limit = _BRIEF if brief else _LONGEST
    if issubclass(kind, RemoteError):  # passed on: say what it was at its source
        passed: Any = error
        name = _text(lambda: passed.type_name, _BRIEF)
        text = _text(lambda: passed.message, limit)
        where = _text(lambda: passed.remote_traceback, limit)
    else:
        name = _text(lambda: f"{kind.__module__}.{kind.__qualname__}", _BRIEF)
        text = _text(lambda: error, limit)
        where = _traceback(error, limit)
    failure = _Failure(
        name,
        text,
        None if brief else _arguments(error),
        {} if brief else _attributes(error),
        where,
    )
    encoded: bytes = encode_plain(failure)
    return encoded


def said(error: BaseException | None) -> str:
    """The text of an error for that of another one; its ``__str__`` may do what it likes."""
    return _text(lambda: error, _LONGEST)


def _text(make: Callable[[], object], limit: int) -> str:
    """The text of what ``make`` returns, or why there is none."""
    try:
        text = str.__str__(str(make()))  # not that of a subclass
    except BaseException as broken:
        text = f"<its text cannot be made: {_name_of(type(broken))}>"
    return _sendable(_cut(text, limit))


def _sendable(text: str) -> str:
    """UTF-8 knows no lone surrogates, which stand in file names for other bytes: escape them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]}\n...\n{text[-limit // 2 :]}"


def _traceback(error: BaseException, limit: int) -> str:
    frames = _get_traceback(error)
    if frames is None:
        return ""
    if _is_short_chain(error):
        try:
            lines = traceback.format_exception(type(error), error, frames, limit=-_FRAMES)
            return _sendable(_cut("".join(lines), limit))
        except BaseException:  # of the error, of one it is chained to, or of a loader of sources
            pass
    return _text(lambda: _frames_only(frames), limit)


def _frames_only(frames: Any) -> str:
    """Where it was raised, without asking the error or reading sources."""
    last: deque[tuple[Any, int]] = deque(traceback.walk_tb(frames), _FRAMES)
    return "".join(
        f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}\n'
        for frame, line in last
    )


def _is_short_chain(error: BaseException) -> bool:
    """Whether formatting looks at few errors only: causes, contexts, members of groups."""
    seen: set[int] = set()
    ahead = [error]
    while ahead:
        some = ahead.pop()
        if id(some) in seen:
            continue
        seen.add(id(some))
        members = _get_members(some) if _Group and issubclass(type(some), _Group) else ()
        if len(seen) + len(members) > _CHAIN:
            return False
        ahead += [e for e in (_get_cause(some), _get_context(some), *members) if e is not None]
    return True


def _arguments(error: BaseException) -> list[Any] | None:
    """All of ``args`` or, when one does not travel as it is, none."""
    arguments = [*_get_args(error)]
    try:
        if _is_small(arguments):
            decode_plain(encode_plain(arguments))
            return arguments
    except BaseException:  # of an argument; cannot be encoded, has no end, has a codec that raises
        pass
    return None


def _is_small(arguments: list[Any]) -> bool:
    """Whether these, and what lists and dicts among them hold, are little; a cycle is not."""
    ahead, left = [*arguments], _LONGEST
    while ahead:
        value = ahead.pop()
        kind = type(value)
        left -= len(value) if kind in (str, bytes, list, tuple, set, frozenset, dict) else 1
        if left < 0:
            return False
        if kind is dict:
            ahead += value.values()
        elif kind in (list, tuple, set, frozenset):
            ahead += value
    return True


def _attributes(error: BaseException) -> dict[str, Any]:
    """Public attributes with simple values; others are left out."""
    found: dict[str, Any] = {}
    for key, value in islice([*dict.items(_get_dict(error))], _ATTRIBUTES):
        if type(key) is str and not key.startswith("_"):
            with suppress(BaseException):
                found[_sendable(key)] = _simple(value)
    return found


def _simple(value: Any) -> str | int | float | bool | None:
    """A value of one of these classes, not of a subclass; ValueError for all others."""
    kind = type(value)
    if value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if issubclass(kind, str) and len(text := str.__str__(value)) <= _LONGEST:
        return _sendable(text)
    if issubclass(kind, int) and -(1 << 63) <= (number := int.__int__(value)) < 1 << 64:
        return number
    if issubclass(kind, float):
        return float.__float__(value)
    raise ValueError("no simple value, or one that is too large")


# --- at the asker


_known: dict[str, type[Exception]] = {
    f"{kind.__module__}.{kind.__qualname__}": kind
    for kind in [
        *vars(builtins).values(),
        *(getattr(errors, name) for name in errors.__all__),
        *(concurrent.futures.CancelledError, concurrent.futures.TimeoutError),
    ]
    if isinstance(kind, type) and issubclass(kind, Exception)
}
_made: dict[type[Exception], type[RemoteError]] = {}


def _class_for(name: str) -> type[RemoteError]:
    """A RemoteError that is also of the class of this name, if that is a known one."""
    kind = _known.get(name)
    if kind is None or issubclass(kind, RemoteError):
        return RemoteError
    if kind not in _made:
        try:
            _made[kind] = type(f"Remote{kind.__name__}", (RemoteError, kind), {})
        except TypeError:  # Python cannot combine them
            _made[kind] = RemoteError
    return _made[kind]


def remote_error(payload: bytes, method: str) -> Exception:
    """The error of a call, from the bytes of the other side (Flink: PekkoInvocationHandler).

    Whatever these say, there is an error: what is not understood of them is left out.
    """
    try:
        failure = _decoder.decode(payload)
    except Exception as error:
        return RpcError(f"[{method}] failed, and its error cannot be read: {error}")
    made = _make(failure)
    if isinstance(failure.args, list):
        made.args = tuple(failure.args)
    for name, value in failure.attributes.items():
        if _may_be_set(type(made), name):
            with suppress(Exception):  # the class has other ideas of its value
                setattr(made, name, value)
    if failure.traceback:
        add_note(made, f"In the other process:\n{failure.traceback}")
    return made


def _may_be_set(kind: type, name: str) -> bool:
    """Data only: nothing that Python itself looks at, no method, not what is the asker's to say."""
    if not name.isidentifier() or name.startswith("_"):
        return False
    if name in ("args", "type_name", "message", "remote_traceback"):
        return False
    return not callable(getattr(kind, name, None))


def _make(failure: _Failure) -> RemoteError:
    facts = {"type_name": failure.type_name, "remote_traceback": failure.traceback}
    try:
        return _class_for(failure.type_name)(failure.message, **facts)
    except Exception:  # a class that wants other arguments
        return RemoteError(failure.message, **facts)
