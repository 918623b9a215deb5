"""Limits around the calls of a task."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from flinkish.functions import RuntimeContext
from flinkish.operators.async_loop import EventLoopThread, event_loop
from flinkish.spark.limits.endpoint import LimitAddress, connect
from flinkish.spark.limits.limiter import Limiter, LocalGateway
from flinkish.spark.limits.messages import PermitGateway
from flinkish.spark.limits.permits import PermitLedger
from flinkish.spark.limits.rate import Concurrency, Rate

__all__ = ["JobLimits", "LimitLayer"]


@dataclass(frozen=True)
class JobLimits:
    """Limits of one scope, as they travel to workers; without an address, each has its own."""

    rate: Rate | None
    concurrency: Concurrency | None
    address: LimitAddress | None = None

    def gateway(self) -> PermitGateway:
        """Who grants the permits."""
        if self.address is None:
            return LocalGateway(PermitLedger(self.rate, self.concurrency))
        return connect(self.address)


class LimitLayer:
    """A `CallLayer`."""

    def __init__(self, limits: JobLimits) -> None:
        self._limits = limits
        self._limiter: Limiter
        self._loop: EventLoopThread | None = None

    def open(self, context: RuntimeContext, on_free: Callable[[], object]) -> None:
        """Begin to lease permits from the driver."""
        gateway = self._limits.gateway()
        loop = event_loop(_nobody)
        task = f"{context.get_index_of_this_subtask()}.{context.get_attempt_number()}"
        self._limiter = Limiter(
            gateway,
            f"{task}-{secrets.token_hex(8)}",  # a name that no other attempt ever has
            rate=self._limits.rate,
            concurrency=self._limits.concurrency,
            loop=loop.loop,
            on_free=on_free,
        )
        self._loop = loop

    def num_waiting(self) -> int:
        """How many calls wait for a permit."""
        return self._limiter.num_waiting()

    def num_saved(self) -> int:
        """Results that were kept: a limit keeps none."""
        return 0

    async def call(self, function: Callable[[Any], Awaitable[Any]], row: Any) -> Any:
        """Call the function after a permit was given."""
        return await self._limiter.call(function, row)

    def call_blocking(self, function: Callable[[Any], Any], row: Any) -> Any:
        """Call the function after a permit was given; the thread waits for that."""
        return self._limiter.call_blocking(function, row)

    def close(self) -> None:
        """Give the lease back and end its thread."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            loop.run(_closed(self._limiter))
        finally:
            loop.release(_nobody)


async def _closed(limiter: Limiter) -> None:
    limiter.close()


def _nobody(frame: FrameType) -> str | None:
    """No call of a user is ours."""
    return None
