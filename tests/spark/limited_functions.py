"""Functions under limits and with a ledger; importable by Spark's workers."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

from flinkish.functions import AsyncFunction, RuntimeContext


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


def ask(row: Any, model: str) -> list[Any]:
    return [(row.n, model, None)]


def sets(row: Any) -> list[Any]:
    return [(row.n, {row.n, "x"})]


_lock = threading.Lock()


def locked(row: Any) -> list[Any]:
    with _lock:
        return [(row.n, "", None)]


class Asking(AsyncFunction):
    def __init__(self, model: str) -> None:
        self.model = model

    async def async_invoke(self, value: Any) -> list[Any]:
        return [(value.n, self.model, None)]


class Told(AsyncFunction):
    """Is told its model by the job."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.model = runtime_context.get_job_parameter("model", "")

    async def async_invoke(self, value: Any) -> list[Any]:
        return [(value.n, self.model, None)]
