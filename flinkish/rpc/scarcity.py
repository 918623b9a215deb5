"""Messages for a process that lacks descriptors or threads, with the remedy."""

from __future__ import annotations

import errno

__all__ = ["lacking"]

_WHOSE = {errno.EMFILE: "process", errno.ENFILE: "host"}


def lacking(error: OSError | RuntimeError) -> str:
    """Why a socket, or a thread, could not be had."""
    whose = _WHOSE.get(error.errno or 0) if isinstance(error, OSError) else None
    if whose is None:
        return str(error)
    return (
        f"this {whose} has no free file descriptor ({error}): raise its limit (ulimit -n), or "
        "close what is not needed"
    )
