"""The lock between the thread of a legacy source and the mails of its task.

Invariants:
  L1  ``_owner`` is the thread that holds ``_lock``, or None; only that thread changes it and
      ``_depth``.
  L2  ``_gate`` is closed from when the mailbox thread wants the lock until it gives it back.  Other
      threads pass the gate before they take the lock, so a mail waits for one hold of each other
      thread at most, however quickly a source's loop takes the lock again.  A bare lock is not
      fair: the loop would keep mails out for seconds.
  L3  A thread that holds the lock passes neither gate nor ``before_entry`` again.
  L4  ``on_error`` has returned before the lock is free.  So the next that takes it, a checkpoint
      for instance, knows that the hold before ended in the middle of its work: it may have emitted
      a record and never come to the state that belongs to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["CheckpointLock"]


class CheckpointLock:
    """A re-entrant lock, for ``with``; mails go first.

    ``on_error(error)`` is called when an error leaves a hold, by the thread that held.

    ``before_entry()`` is called by other threads than the mailbox thread before they take it: there
    a source waits for room, without the lock, so back pressure does not keep checkpoints out.
    """

    def __init__(
        self,
        before_entry: Callable[[], object],
        on_error: Callable[[BaseException], object],
    ) -> None:
        self._before_entry = before_entry
        self._on_error = on_error
        self._lock = threading.Lock()
        self._gate = threading.Event()
        self._gate.set()
        self._owner: int | None = None
        self._depth = 0
        self._mailbox_thread: int | None = None

    def adopt(self) -> None:
        """Make the calling thread the one that goes first."""
        self._mailbox_thread = threading.get_ident()

    def is_held(self) -> bool:
        """Whether the calling thread holds the lock."""
        return self._owner == threading.get_ident()

    def __enter__(self) -> CheckpointLock:
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            return self
        if me == self._mailbox_thread:
            self._gate.clear()
            try:
                self._lock.acquire()
            except BaseException:  # Ctrl-C
                self._gate.set()
                raise
        else:
            self._before_entry()
            if not self._gate.is_set():
                self._gate.wait()
            self._lock.acquire()
        self._owner = me
        self._depth = 1
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        try:
            if error is not None:
                self._on_error(error)
        finally:
            self._owner = None
            self._lock.release()
            if threading.get_ident() == self._mailbox_thread:
                self._gate.set()
