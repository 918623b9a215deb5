"""Functions that the tests call asynchronously on Spark; importable, as a user's are."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from flinkish.functions import AsyncBatchFunction, AsyncFunction
from flinkish.spark import idempotency_key


class Unavailable(Exception):
    """What a service says when it has too much to do."""


async def square(row: Any) -> list[Any]:
    await asyncio.sleep(0.001)
    return [(row.n, row.n * row.n)]


def square_in_thread(row: Any) -> list[Any]:
    time.sleep(0.001)
    return [(row.n, row.n * row.n)]


async def three_times(row: Any) -> list[Any]:
    return [(row.n, row.n)] * (row.n % 3)


async def slow_at_first(row: Any) -> list[Any]:
    """The lower the number the later the answer."""
    await asyncio.sleep(0.05 if row.n == 0 else 0.001)
    return [(row.n, 0)]


async def picky(row: Any) -> Any:
    """Several ways in which a call can go wrong."""
    await asyncio.sleep(0)
    if row.n == 3:
        raise ValueError("three is too much")
    if row.n == 5:
        return [(row.n, "five")]
    if row.n == 7:
        return row.n
    if row.n == 9:
        await asyncio.sleep(3600)
    return [(row.n, row.n * row.n)]


class Flaky:
    """Each number answers at its attempt number ``attempts``."""

    def __init__(self, attempts: int) -> None:
        self.attempts = attempts
        self.seen: dict[int, int] = {}

    async def __call__(self, row: Any) -> list[Any]:
        await asyncio.sleep(0)
        self.seen[row.n] = self.seen.get(row.n, 0) + 1
        if self.seen[row.n] < self.attempts:
            raise Unavailable(f"attempt {self.seen[row.n]} of {row.n}")
        return [(row.n, self.seen[row.n])]


class Client(AsyncFunction):
    """Opens and closes something on the loop, and writes down what it did."""

    def __init__(self, log: str) -> None:
        self.log = log

    async def open(self, runtime_context: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self.say("open")

    async def async_invoke(self, value: Any) -> list[Any]:
        assert asyncio.get_running_loop() is self.loop
        await asyncio.sleep(0)
        return [(value.n, 1)]

    async def close(self) -> None:
        self.say("close")

    def say(self, word: str) -> None:
        with Path(self.log).open("a") as log:
            log.write(f"{word} {os.getpid()}\n")


async def hangs(row: Any) -> list[Any]:
    await asyncio.sleep(3600)
    return []


async def dies_at(row: Any) -> list[Any]:
    """Kills its process at 70, unless the file that ``row`` names is there, which it makes."""
    await asyncio.sleep(0.001)
    if row.n == 70 and not os.path.exists(row.file):
        open(row.file, "x").close()
        os.kill(os.getpid(), 9)
    return [(row.n, os.getpid())]


async def keyed(row: Any) -> list[Any]:
    await asyncio.sleep(0)
    return [(row.n, idempotency_key())]


def keyed_in_thread(row: Any) -> list[Any]:
    return [(row.n, idempotency_key())]


class Squares(AsyncBatchFunction):
    async def async_invoke_batch(self, values: list[Any]) -> list[Any]:
        await asyncio.sleep(0.001)
        return [(value.n, value.n * value.n) for value in values]


class Assembly(AsyncFunction):
    """Answers once there are so many calls at once; every answer is how many were at most."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def open(self, runtime_context: Any) -> None:
        self.complete = asyncio.Event()
        self.here = self.most = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self.here += 1
        self.most = max(self.most, self.here)
        if self.here == self.count:
            self.complete.set()
        await self.complete.wait()
        await asyncio.sleep(0.001)
        self.here -= 1
        return [(value.n, self.most)]
