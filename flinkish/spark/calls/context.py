"""The questions that a function may ask about its present call."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any

from flinkish.common.errors import IllegalStateError

__all__ = ["KeyOf", "current_row", "idempotency_key", "key_maker"]

KeyOf = Callable[[Any], str]

# The row of the call, and what makes its key: most functions ask for one only when they must.
current_row: ContextVar[tuple[Any, KeyOf]] = ContextVar("flinkish_current_row")

_BYTES = 16


def idempotency_key() -> str:
    """A name for the call that this runs in, for services that answer a call they know once.

    It is the same for every attempt, also after a task or a job was started again, and another
    one for other rows and other operators.  IllegalStateError outside of calls of
    ``async_map(..., idempotency_key=...)``.
    """
    found = current_row.get(None)
    if found is None:
        raise IllegalStateError(
            "there is no idempotency key here: ask for it inside of a function that was given to "
            "async_map(..., idempotency_key='id'), naming the columns that tell rows apart"
        )
    row, key_of = found
    return key_of(row)


def key_maker(name: str, columns: tuple[str, ...]) -> KeyOf:
    """The maker of keys of these columns for the operator of this name."""

    def key_of(row: Any) -> str:
        values = [row[column] for column in columns]
        return blake2b(repr((name, values)).encode(), digest_size=_BYTES).hexdigest()

    return key_of
