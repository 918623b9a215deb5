"""Where other threads are."""

from __future__ import annotations

import sys
import traceback

__all__ = ["stack_of"]


def stack_of(thread: int | None) -> str:
    """The stack of the thread with this ident, as tracebacks show it; empty if none runs."""
    frame = None if thread is None else sys._current_frames().get(thread)
    return "" if frame is None else "".join(traceback.format_stack(frame))
