"""Notes on errors: where in the stream a user's function failed.

Python 3.11 and later keep notes in ``__notes__`` and print them below the error.  Python 3.10
knows neither: here it gets the list, and what leaves the process as text gets it in the message.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

__all__ = ["add_note", "dated", "shortened", "spell_out_notes"]

PRINTS_NOTES = sys.version_info >= (3, 11)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def add_note(error: BaseException, note: str) -> None:
    """Append ``note`` to the error's ``__notes__``."""
    if hasattr(error, "add_note"):
        error.add_note(note)
        return
    with suppress(AttributeError):  # a class that says where its attributes go
        error.__notes__ = [*getattr(error, "__notes__", ()), note]


def spell_out_notes(error: BaseException) -> None:
    """Put the notes after the message, where tracebacks do not print them.

    Errors that make their text from other things than ``args`` (``OSError`` with an errno) keep
    the text they have.
    """
    notes = getattr(error, "__notes__", ())
    if notes and not PRINTS_NOTES:
        message, *others = error.args or ("",)
        error.args = ("\n".join([str(message), *notes]), *others)


def shortened(value: Any, limit: int = 200) -> str:
    """``repr(value)`` for a message: cut to ``limit`` characters, and whatever it raises."""
    try:
        text = repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def dated(timestamp: int | None) -> str:
    """A timestamp (ms) for a message: ``"1000 (1970-01-01 00:00:01+00:00)"``.

    The number alone where no date is: before the year 1, after 9999, or for None.
    """
    if timestamp is None:
        return "None"
    try:
        return f"{timestamp} ({_EPOCH + timedelta(milliseconds=timestamp)})"
    except OverflowError:
        return str(timestamp)
