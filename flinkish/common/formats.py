"""Versions of stored forms: each names the flinkish that wrote it; a later one is refused by name.

Every form of stored bytes has a version of its own.  A version is raised when older readers would
misread the bytes; this version reads all that are older than its own.  Contents that are JSON are
an object in every version, with the writer's version of flinkish in the field WRITER.
"""

from __future__ import annotations

import json

from flinkish import __version__
from flinkish._core.values.codec import NewerFrame
from flinkish.common.errors import IncompatibleStateError

__all__ = ["WRITER", "newer_format", "writer"]

WRITER = "flinkish"


def writer() -> dict[str, str]:
    """The field that says which flinkish wrote an object."""
    return {WRITER: __version__}


def newer_format(
    error: NewerFrame, what: str, written_by: str | None = None
) -> IncompatibleStateError:
    """The error for bytes of a later flinkish.

    ``what`` names them, ``written_by`` their writer where something else than they themselves
    tells it.
    """
    found = written_by or _written_by(error) or "a later version"
    return IncompatibleStateError(
        f"{what} was written by flinkish {found} in the {_FORMS[error.what]} {error.found}; this "
        f"is flinkish {__version__}, which reads up to {error.newest}. Nothing is damaged: run the "
        f"program with flinkish {found}, or upgrade to a later one",
        setting="format",
        was=error.found,
        now=error.newest,
    )


_FORMS = {"version": "format", "layout": "frame layout", "flags": "frame flags"}


def _written_by(error: NewerFrame) -> str | None:
    try:
        found = json.loads(bytes(error.contents or b"null"))
    except ValueError:
        return None
    named = found.get(WRITER) if isinstance(found, dict) else None
    return named if isinstance(named, str) else None
