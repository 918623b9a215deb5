"""Errors on their way to another process."""

from __future__ import annotations

import builtins
import concurrent.futures
import traceback
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

__all__ = ["PeerLostError", "encode_error", "remote_error"]

_LONGEST = 16_384  # characters of a message, or of a traceback
_BRIEF = 500


class PeerLostError(RecipientUnreachableError, ConnectionLostError):
    """The connection to the other process was lost while, or before, it was asked."""


class _Failure(msgspec.Struct, array_like=True):
    """What travels of an error: its class, what it says, where it was raised."""

    type_name: str
    message: str
    args: Any
    attributes: dict[str, Any]
    traceback: str


_decoder = msgspec.msgpack.Decoder(_Failure)


def _plain(value: Any, fallback: Any) -> Any:
    """``value`` if it travels as it is."""
    try:
        return decode_plain(encode_plain(value))
    except Exception:
        return fallback


def encode_error(error: BaseException, brief: bool = False) -> bytes:
    """An error as bytes; ``brief`` for when that was too long to be sent."""
    kind = type(error)
    if isinstance(error, RemoteError):  # passed on: say what it was at its source
        name, where = error.type_name, error.remote_traceback
    else:
        name = f"{kind.__module__}.{kind.__qualname__}"
        where = "" if error.__traceback__ is None else "".join(traceback.format_exception(error))
    try:
        message = str(error)
    except Exception as broken:
        message = f"<its text cannot be made: {type(broken).__name__}>"
    limit = _BRIEF if brief else _LONGEST
    attributes = {
        key: value
        for key, value in vars(error).items()
        if not key.startswith("_") and isinstance(value, (str, int, float, bool, type(None)))
    }
    failure = _Failure(
        name[:_BRIEF],
        _cut(message, limit),
        None if brief else _plain([*error.args], None),
        {} if brief else attributes,
        _cut(where, limit),
    )
    encoded: bytes = encode_plain(failure)
    if len(encoded) > 4 * _LONGEST and not brief:
        return encode_error(error, brief=True)
    return encoded


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]}\n...\n{text[-limit // 2 :]}"


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
    """The error of a call, from the bytes of the other side (Flink: E.16)."""
    try:
        failure = _decoder.decode(payload)
    except Exception as error:
        return RpcError(f"[{method}] failed, and its error cannot be read: {error}")
    made = _make(failure)
    if isinstance(failure.args, list):
        made.args = tuple(failure.args)
    for name, value in failure.attributes.items():
        if name not in ("type_name", "message", "remote_traceback"):
            setattr(made, name, value)
    if failure.traceback:
        add_note(made, f"In the other process:\n{failure.traceback}")
    return made


def _make(failure: _Failure) -> RemoteError:
    facts = {"type_name": failure.type_name, "remote_traceback": failure.traceback}
    try:
        return _class_for(failure.type_name)(failure.message, **facts)
    except Exception:  # a class that wants other arguments
        return RemoteError(failure.message, **facts)
