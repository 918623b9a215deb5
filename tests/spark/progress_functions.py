"""Calls that wait for a file, so that a test may look while they are under way."""

import asyncio
import time
from pathlib import Path
from typing import Any

from flinkish.functions import AsyncFunction
from tests.waiting import PATIENCE


class Priced(AsyncFunction[Any, Any]):
    """Answers the first numbers at once, the others when the file is there; each costs 2 cents."""

    def __init__(self, gate: Path, at_once: int) -> None:
        self.gate, self.at_once = str(gate), at_once

    def open(self, runtime_context: Any) -> None:
        self.cost = runtime_context.get_metrics_group().counter("cents")

    async def async_invoke(self, value: Any) -> list[Any]:
        until = time.monotonic() + PATIENCE
        while value.n >= self.at_once and not Path(self.gate).exists():
            assert time.monotonic() < until, "nobody opened the gate"
            await asyncio.sleep(0.01)
        self.cost.inc(2)
        if value.n == 1:
            raise ValueError("one is none")
        return [(value.n, value.n)]


class FailsOnce(AsyncFunction[Any, Any]):
    """The first attempt of a task fails at its last row."""

    def open(self, runtime_context: Any) -> None:
        self.attempt = runtime_context.get_attempt_number()

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        if self.attempt == 0 and value.n == 99:
            raise OSError("the first attempt")
        return [(value.n, value.n)]
