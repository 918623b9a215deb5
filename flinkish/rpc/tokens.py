"""Fencing tokens: two are the same if they are of one class and equal, here and far away."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import SerializationError
from flinkish.rpc.wire import encode_any

__all__ = ["encode_token", "same_token"]


def encode_token(token: Any) -> bytes:
    """The bytes that another process compares.

    They tell 1, True and 1.0 apart, and a UUID and its text.  SerializationError for one that
    cannot travel.
    """
    try:
        return encode_any(token)
    except Exception as error:
        raise SerializationError(
            f"the fencing token {token!r} cannot travel: {error}. Use a number, text, UUID or a "
            "tuple of such"
        ) from error


def same_token(one: Any, other: Any) -> bool:
    """Whether a call with the one may come to the endpoint of the other."""
    if one is other:
        return True
    try:
        return encode_token(one) == encode_token(other)
    except SerializationError:  # of this process only
        return type(one) is type(other) and bool(one == other)
