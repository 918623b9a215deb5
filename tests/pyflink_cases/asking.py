"""Asynchronous functions: a look-up, one with a way out when it is late, a strategy of retries."""

import asyncio

from flinkish.common import Row
from flinkish.datastream.async_retry_predicates import empty_result_predicate
from flinkish.datastream.functions import AsyncFunction, AsyncRetryStrategy, RuntimeContext


class AsyncLookup(AsyncFunction):
    """Adds what a table says; the table is slow for every tenth key."""

    def open(self, runtime_context: RuntimeContext):
        self.table = {key: f"name of {key}" for key in range(100)}

    async def async_invoke(self, value: Row) -> list[Row]:
        await asyncio.sleep(0.01 if value[0] % 10 == 0 else 0)
        return [Row(value[0], self.table[value[0]])]

    def close(self):
        self.table.clear()


class LateLookup(AsyncFunction):
    """Never done in time."""

    async def async_invoke(self, value: Row) -> list[Row]:
        await asyncio.sleep(60)
        return [value]

    def timeout(self, value: Row) -> list[Row]:
        return [Row(value[0], "unknown")]


class EmptyAtFirst(AsyncFunction):
    """Finds nothing before the third attempt."""

    def open(self, runtime_context: RuntimeContext):
        self.attempts: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[int]:
        self.attempts[value] = self.attempts.get(value, 0) + 1
        return [value] if self.attempts[value] == 3 else []


RETRIES = AsyncRetryStrategy.exponential_backoff(
    max_attempts=5,
    initial_delay=100,
    max_retry_delay=1000,
    multiplier=1.5,
    result_predicate=empty_result_predicate,
    exception_predicate=None,
)
