"""Completing operations on a thread that is made when it is first needed."""

from __future__ import annotations

import threading
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

from flinkish._core.purgatory import delayed

__all__ = ["CompletesLater"]


class CompletesLater:
    """A purgatory's thread for completions that must not run where they are found out."""

    def __init__(self, name: str) -> None:
        self._completer_name = f"completer-{name}"
        self._completer: ThreadPoolExecutor | None = None
        self._completer_lock = threading.Lock()
        self._completer_stopped = False

    def complete_later(self, operation: delayed.DelayedOperation) -> None:
        """Force `operation` on the completer's thread; here, once that was stopped."""
        with self._completer_lock:
            stopped = self._completer_stopped
            if not stopped:
                if self._completer is None:
                    self._completer = ThreadPoolExecutor(1, self._completer_name)
                try:
                    self._completer.submit(self._complete, operation)
                except RuntimeError:  # the program ends: no thread takes anything any more
                    stopped = True
        if stopped:
            self._complete(operation)

    def _complete(self, operation: delayed.DelayedOperation) -> None:
        try:
            operation.force_complete()
        except Exception as error:
            self._report(operation, error)

    @abstractmethod
    def _report(
        self, operation: delayed.DelayedOperation, error: BaseException
    ) -> BaseException | None:
        """Count and log what a completion raised."""

    def _forget_completer(self) -> None:
        """In a forked child: its thread is not here."""
        self._completer, self._completer_lock = None, threading.Lock()

    def _stop_completer(self) -> None:
        """Run what was handed over, then end the thread."""
        with self._completer_lock:
            self._completer_stopped = True
            completer = self._completer
        if completer is not None:
            own = threading.current_thread().name.startswith(f"{self._completer_name}_")
            completer.shutdown(wait=not own)
