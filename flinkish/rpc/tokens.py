"""Fencing tokens: two are the same if they are equal and of one class, in any process."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import SerializationError
from flinkish.rpc.wire import encode_any

__all__ = ["encode_token", "same_token"]


def encode_token(token: Any) -> bytes:
    """The bytes that another process compares.

    They differ for 1, True and 1.0, and for a UUID and its text.  SerializationError for a token
    that cannot be sent.
    """
    try:
        return encode_any(token)
    except Exception as error:
        raise SerializationError(
            f"the fencing token {token!r} cannot travel: {error}. Use a number, text, UUID or a "
            "tuple of such"
        ) from error


def same_token(one: Any, other: Any) -> bool:
    """Whether an endpoint with one token accepts a call with the other."""
    if one is other:
        return True
    try:
        return encode_token(one) == encode_token(other)
    except SerializationError:  # of this process only
        return type(one) is type(other) and bool(one == other)
