"""Functions under limits and with a ledger; importable by Spark's workers."""

import asyncio
import time
from pathlib import Path
from typing import Any


async def timed(row: Any) -> list[Any]:
    """When the call began and ended, on the clock that processes of a machine share."""
    began = time.monotonic_ns()
    await asyncio.sleep(0.02)
    return [(row.n, began, time.monotonic_ns())]


def timed_in_thread(row: Any) -> list[Any]:
    began = time.monotonic_ns()
    time.sleep(0.02)
    return [(row.n, began, time.monotonic_ns())]


class Noting:
    """Leaves a file for each call."""

    def __init__(self, folder: str, broken: bool = False) -> None:
        self.folder = folder
        self.broken = broken

    async def __call__(self, row: Any) -> list[Any]:
        Path(self.folder, f"{row.n}-{time.monotonic_ns()}").touch()
        if self.broken and row.n % 2:
            raise ConnectionError("down")
        return [(row.n, f"text {row.n}", None)] * (row.n % 3)
