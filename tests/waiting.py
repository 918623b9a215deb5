"""Waiting for what other threads and processes do."""

import time
from collections.abc import Callable

PATIENCE = 60.0  # seconds; what is waited for takes far less, wherever the machine is not busy


def until(true: Callable[[], object], what: str = "", seconds: float = PATIENCE) -> None:
    """Return as soon as ``true()`` is; no test depends on how soon.

    It fails after so many seconds, and says what did not happen.
    """
    deadline = time.monotonic() + seconds
    pause = 0.001
    while not true():
        assert time.monotonic() < deadline, f"it did not happen in {seconds:g} s: {what or true}"
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)  # what takes long may be dear to look at
