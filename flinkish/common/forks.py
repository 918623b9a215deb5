"""Guards against a fork: an object with threads has none of them in a forked child.

An object that would take work there and never do it asks ``call_in_children``, and refuses.  Its
locks may be held for ever in the child, by threads that are not there, so it makes new ones.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["AFTER_FORK", "call_in_children"]

AFTER_FORK = (
    "was used before a fork, in the parent process, and its threads are not here: make a new one "
    "in this process"
)


class _Heir(Protocol):
    def _forked(self) -> None: ...


_heirs: WeakSet[_Heir] = WeakSet()


def call_in_children(heir: _Heir) -> None:
    """Have ``heir._forked()`` called in every forked child, before anything else runs there."""
    _heirs.add(heir)


def _after_fork() -> None:
    for heir in list(_heirs):
        heir._forked()


os.register_at_fork(after_in_child=_after_fork)
