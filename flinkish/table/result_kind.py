"""PyFlink's kinds of results."""

from __future__ import annotations

from enum import Enum

__all__ = ["ResultKind"]


class ResultKind(Enum):
    """Whether a statement has rows to show."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
